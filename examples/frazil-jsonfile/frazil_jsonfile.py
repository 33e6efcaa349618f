"""``jsonfile:///path``: claims in a JSON file of this host, one file per namespace."""

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.registries.base import RECORD_COLUMNS, RecordRegistry, terms_of
from frazil.system.process import ProcessIdentity

__all__ = ["JsonFileRegistry", "connect"]


def connect(url, namespace, scheme):
    """The registry of a URL. Options: ``?horizon=``."""
    options = url.options()
    horizon_us = options.duration_us("horizon", 1_000_000)
    options.finish()  # raises ConfigError for an option that was not read
    return JsonFileRegistry(Path(unquote(url.path)), namespace, scheme, horizon_us)


class JsonFileRegistry(RecordRegistry):
    """A registry in a folder."""

    def __init__(self, folder, namespace, scheme, horizon_us=1_000_000):
        folder = folder.absolute()
        super().__init__(f"jsonfile://{folder}", namespace, terms_of(scheme, horizon_us))
        self._path = folder / f"{namespace.encode().hex()}.json"

    @contextmanager
    def step(self):
        """The record, locked for this process and all others, and saved when the block ends."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        process = ProcessIdentity()
        with self._path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                record = self._read()
                yield record, "one file"  # the incarnation; an error here changes nothing
                if process.intact():
                    self._write(record)
            finally:
                if process.intact():  # else a signal handler forked here: it is its parent's step
                    fcntl.flock(lock, fcntl.LOCK_UN)

    def _read(self):
        try:
            kept = json.loads(self._path.read_text())
        except FileNotFoundError:
            return Record(PackedSlots())
        return Record(PackedSlots(bytes.fromhex(kept.pop("slots"))), **kept)

    def _write(self, record):
        kept = {name: getattr(record, name) for name in RECORD_COLUMNS}
        new = self._path.with_suffix(".new")
        with new.open("w") as file:
            json.dump(kept | {"slots": record.slots.pack().hex()}, file)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._path)
