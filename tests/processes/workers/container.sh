#!/bin/sh
# container.sh IMAGE FOLDER... -- COMMAND: runs a command as a container would. Its root is an
# overlay on this machine's, its processes and its host name are its own, and what it writes goes
# with it. IMAGE is an empty directory for it; the other folders are seen in it as they are here.
# Run it with: unshare --mount --pid --uts --ipc --fork
set -e
image=$1
shift
mount -t tmpfs tmpfs "$image"
mkdir "$image/upper" "$image/work" "$image/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$image/upper,workdir=$image/work" "$image/root"
mount -t proc proc "$image/root/proc"
mkdir -p "$image/root/dev"
mount --rbind /dev "$image/root/dev"
while [ "$1" != -- ]; do
    mkdir -p "$image/root$1"
    mount --bind "$1" "$image/root$1"
    shift
done
shift
mkdir "$image/root/old"
cd "$image/root"
pivot_root . old
umount -l /old
cd /
exec "$@"
