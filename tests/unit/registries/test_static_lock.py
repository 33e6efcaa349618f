"""A static number's lock, whose file is deleted."""

from frazil.registries import static


def test_a_file_that_was_deleted_holds_nothing(tmp_path, monkeypatch):
    """The next process would create and lock another file, so both would own the number."""
    monkeypatch.setenv("FRAZIL_LOCKS", str(tmp_path))
    opened = static._opened
    deleted = []

    def deleted_once(path):
        fd = opened(path)
        if not deleted:
            deleted.append(path)
            path.unlink()
        return fd

    monkeypatch.setattr(static, "_opened", deleted_once)
    held = static.take("number 7", "me", what="node number 7", how="in a test")
    assert deleted
    assert held.stands()
    held.leave()
