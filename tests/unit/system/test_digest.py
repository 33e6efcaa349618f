"""A digest is SHA-256, whichever module has it."""

import sys
from hashlib import sha256

import pytest

from frazil.system import digest as module


@pytest.mark.parametrize("without", [(), ("_sha2",), ("_sha2", "_sha256")])
def test_each_module_has_the_same_hash(monkeypatch, without):
    for name in without:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(module, "_HASH", module._sha256())
    text = f"time:41 node:10, not in the cache {without}"
    assert module.digest(text) == sha256(text.encode()).hexdigest()[:16]
