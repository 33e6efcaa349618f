"""Which file systems are taken for this host's alone, by what the kernel lists as mounted."""

import pytest

from frazil.errors import ConfigError
from frazil.registries import connect
from frazil.registries.sqlite.files import LOCAL_FILESYSTEMS
from frazil.system import host
from frazil.system.host import filesystem_of
from tests.tools.verbs import ONE_RECORD, grant

SHARED = {
    *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "cvfs", "fuse", "fuse.beegfs"),
    *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.grpcfuse"),
    *("fuse.juicefs", "fuse.mfs", "fuse.rclone", "fuse.s3fs", "fuse.seaweedfs", "fuse.sshfs"),
    *("fuse.vmhgfs-fuse", "gfs2", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "orangefs"),
    *("prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vxfs", "what-comes-tomorrow"),
}


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """``mounted(point, kind)``: as if that were mounted there; answers the directory."""
    table = tmp_path / "mountinfo"
    table.write_text("25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n")
    monkeypatch.setattr(host, "_MOUNTS", str(table))

    def mount(name, kind):
        point = tmp_path / name
        shown = str(point).replace("\\", "\\134").replace(" ", "\\040").replace("\n", "\\012")
        with table.open("a", encoding="utf-8") as file:
            file.write(f"90 25 0:52 / {shown} rw shared:9 - {kind} somewhere:/x rw,hard\n")
        return point

    return mount


def asked(path, options=""):
    grant(connect(f"sqlite://{path}{options}", "x", ONE_RECORD))


def test_the_longest_mount_point_counts_and_of_equal_ones_the_last(mounted):
    share = mounted("share", "cifs")
    mounted("share/local", "tmpfs")
    covered = mounted("covered", "autofs")
    mounted("covered", "xfs")
    assert filesystem_of(share / "x") == "cifs"
    assert filesystem_of(share / "local" / "x" / "y") == "tmpfs"
    assert filesystem_of(share.with_name("sharex")) == "ext4"
    assert filesystem_of(covered / "x") == "xfs"


@pytest.mark.parametrize("kind", sorted(SHARED))
def test_an_unknown_file_system_is_refused(mounted, kind):
    path = mounted("home", kind) / "state" / "claims.db"
    with pytest.raises(ConfigError, match=rf"type {kind},.*\?local=yes") as caught:
        asked(path)
    assert str(path) in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize("kind", sorted(LOCAL_FILESYSTEMS))
def test_a_local_file_system_is_accepted(mounted, kind):
    folder = mounted("home", kind)
    folder.mkdir()
    asked(folder / "claims.db")


def test_a_person_says_that_it_is_local(mounted):
    path = mounted("home", "fuse.gocryptfs") / "claims.db"
    path.parent.mkdir()
    asked(path, "?local=yes")
    with pytest.raises(ConfigError, match="gocryptfs"):
        asked(path, "?local=no")
    with pytest.raises(ConfigError, match="yes or no"):
        asked(path, "?local=1")
    grant(connect(f"static:7?state={path}.7&local=yes", "x", ONE_RECORD))
    with pytest.raises(ConfigError, match="gocryptfs"):
        grant(connect(f"static:7?state={path}.7", "x", ONE_RECORD))


def test_a_link_to_a_file_elsewhere(mounted, tmp_path):
    share = mounted("share", "nfs4")
    share.mkdir()
    link = tmp_path / "claims.db"
    link.symlink_to(share / "claims.db")
    with pytest.raises(ConfigError, match="nfs4"):
        asked(link)


def test_the_doctor_reports_it(mounted):
    path = mounted("home", "virtiofs") / "claims.db"

    def verdict(options):
        facts = connect(f"sqlite://{path}{options}", "x", ONE_RECORD).examine().facts
        return next(each for each in facts if each.about == "file system")

    assert verdict("")[1:3] == ("bad", "virtiofs")
    assert verdict("?local=yes")[1:3] == ("note", "virtiofs")
