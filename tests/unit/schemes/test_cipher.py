"""FF1 against NIST's samples, and many numbers at once against one by one."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ffx import FF1

from frazil.schemes.cipher import NumberCipher

SAMPLES = json.loads((Path(__file__).parents[2] / "vectors" / "ff1.json").read_text())["samples"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample["sample"]))
def test_samples_of_nist(sample: dict[str, Any]) -> None:
    """The library that frazil uses computes the nine published samples of FF1."""
    ff1 = FF1(bytes.fromhex(sample["key"]), radix=sample["radix"])
    tweak = bytes.fromhex(sample["tweak"])
    assert ff1.encrypt(sample["plaintext"], tweak=tweak) == sample["ciphertext"]
    assert ff1.decrypt(sample["ciphertext"], tweak=tweak) == sample["plaintext"]


def test_there_are_nine_samples() -> None:
    assert [sample["sample"] for sample in SAMPLES] == list(range(1, 10))
    assert sorted(len(sample["key"]) * 4 for sample in SAMPLES) == [128] * 3 + [192] * 3 + [256] * 3


@pytest.mark.long
def test_a_whole_domain_is_a_permutation() -> None:
    cipher = NumberCipher(bytes(16), 20, b"")
    images = cipher.each(np.arange(1 << 20, dtype=np.uint64), decrypt=False)
    assert len(np.unique(images)) == 1 << 20
    assert int(images.max()) == (1 << 20) - 1


def test_threads_share_a_cipher() -> None:
    cipher = NumberCipher(bytes(16), 64, b"order_")
    numbers = np.arange(20_000, dtype=np.uint64)
    expected = cipher.each(numbers, decrypt=False)
    wrong: list[object] = []
    ended = []

    def work(part: int) -> None:
        if not (cipher.each(numbers, decrypt=False) == expected).all():
            wrong.append("array")
        wrong.extend(n for n in range(part, 800, 4) if cipher.encrypt(n) != expected[n])
        ended.append(part)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, sorted(ended)) == ([], [0, 1, 2, 3])
