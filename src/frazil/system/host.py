"""Whether this host is a machine, or a container or cloud function.

The default registry is a file on this host, so it works for one host only. A container or a cloud
function has its own file system: no other one sees a file there, and ten of them would all start
with node number 0. So the default needs a machine, and a program in a container must name its
registry by a URL.

An environment variable identifies such a place for certain. Other signs are weaker, because each
also occurs elsewhere: a file (virtual machines made from an image), an overlay as the root (live
systems), kernel namespaces (sandboxed services), the name of a control group. Two of them together
count. A system container with its own init, like LXC, counts as a machine.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from frazil.errors import ConfigError

_VARIABLES = (
    "KUBERNETES_SERVICE_HOST",
    "container",  # systemd's convention, kept by Podman too
    "ECS_CONTAINER_METADATA_URI_V4",
    "AWS_LAMBDA_FUNCTION_NAME",
    "K_SERVICE",  # Knative, Cloud Run
    "CLOUD_RUN_JOB",
    "FUNCTION_TARGET",  # Cloud Functions
    "FUNCTIONS_WORKER_RUNTIME",  # Azure
    "CONTAINER_APP_NAME",  # Azure
    "WEBSITE_INSTANCE_ID",  # Azure
    "FLY_MACHINE_ID",
    "NOMAD_ALLOC_ID",
    "DYNO",  # Heroku
    "VERCEL",
)
_FILES = (".dockerenv", "run/.containerenv")
_ROOTS = {"9p", "aufs", "fuse.fuse-overlayfs", "overlay", "overlayfs", "virtiofs"}
_MOUNTS = "/proc/self/mountinfo"
_GROUPS = re.compile(r"docker[-/]|kubepods|containerd|crio-|libpod|/ecs/|/garden/")
# What the kernel numbers its first namespaces: include/uapi/linux/nsfs.h.
_FIRST = {"pid": 0xEFFFFFFC, "uts": 0xEFFFFFFE, "ipc": 0xEFFFFFFF, "cgroup": 0xEFFFFFFB}


def default_url() -> str:
    """The registry if no URL is given: that of FRAZIL_URL, else the file of this host.

    Raises ConfigError in a container without FRAZIL_URL.
    """
    if url := os.environ.get("FRAZIL_URL"):
        return url
    sign = container_sign(os.environ)
    if sign:
        raise ConfigError(
            f"this is a container, or one of many like it ({sign}): the default registry would be "
            "a file that the others do not see, and all would make the same IDs. Set FRAZIL_URL "
            "(or url=) to one that they share, like redis://redis:6379/0 or "
            "postgresql://db/app, or to static:env:NAME with another number in each; if only this "
            "one makes IDs, set FRAZIL_URL=sqlite:",
            sign=sign,
        )
    return "sqlite:"


def container_sign(environ: Mapping[str, str], root: Path = Path("/")) -> str | None:
    """The sign that this is a container or a cloud function; None on a machine."""
    for name in _VARIABLES:
        if environ.get(name):
            return f"{name} is set"
    signs = _signs(root)
    return " and ".join(signs) if len(signs) > 1 else None


def _signs(root: Path) -> list[str]:
    own = root / "proc" / "self"
    signs = [f"/{name} is there" for name in _FILES if (root / name).exists()][:1]
    kind = filesystem_of(Path("/"), str(own / "mountinfo"))
    if kind in _ROOTS:
        signs.append(f"the root file system is of type {kind}")
    for name, first in _FIRST.items():
        try:
            found = (own / "ns" / name).readlink()
        except OSError:
            continue
        if str(found) != f"{name}:[{first}]":
            signs.append(f"its {name} namespace is not the machine's")
            break
    try:
        groups = (own / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        groups = ""
    if named := _GROUPS.search(groups):
        signs.append(f"its control group is named {named[0].strip('-/')}")
    return signs


def filesystem_of(path: Path, mountinfo: str = "") -> str | None:
    """The type of the file system of ``path``, like ``ext4``; None if the kernel lists none.

    Links are followed. It is that of the longest mount point above the path, and of equal ones the
    last, which covers the others.
    """
    real = os.path.realpath(path)
    best, kind = -1, None
    for point, found in mounts(mountinfo):
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), found
    return kind


def mounts(mountinfo: str = "") -> list[tuple[str, str]]:
    """Each mount point with the type of its file system."""
    try:
        text = Path(mountinfo or _MOUNTS).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4]
        plain = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
        found.append((plain, after.split(" ")[0]))
    return found
