"""``frazil stamp`` with a key: the column is keyed text, of ordered numbers."""

from frazil.schemes.scheme import scheme

KEY = "2b7e151628aed2a6abf7158809cf4f3c"


def test_stamp_writes_keyed_text(call, monkeypatch, tmp_path):
    monkeypatch.setenv("ORDER_KEY", KEY)
    (tmp_path / "in.csv").write_text("name\n" + "a\n" * 100)
    out = tmp_path / "out.csv"
    key = ("--prefix", "order_", "--key", "env:ORDER_KEY")
    assert (
        call("stamp", str(tmp_path / "in.csv"), "-o", str(out), "--url", "memory:", *key).exit_code
        == 0
    )
    ids = [line.split(",")[0] for line in out.read_text().splitlines()[1:]]
    s = scheme(prefix="order_", key="env:ORDER_KEY")
    numbers = [s.read(text) for text in ids]
    assert len(numbers) == 100
    assert numbers == sorted(set(numbers))
    assert ids != sorted(ids)
