"""Tokens that are missing, wrong, expired, or without the permission."""

import pytest

from frazil.service import tokens
from frazil.service.tokens import Guard, Token, hash_of, is_hash, new_token


def token(secret, *, name="t", namespaces=("a",), scopes=("issue",), expires_us=None):
    digest = bytes.fromhex(hash_of(secret).removeprefix("sha256:"))
    return Token(name, digest, frozenset(namespaces), frozenset(scopes), expires_us)


def test_new_tokens_differ_and_fit_their_hash():
    one, other = new_token(), new_token()
    assert one != other
    assert one.startswith("frazil_")
    assert len(one) == len("frazil_") + 43
    assert is_hash(hash_of(one))
    assert not is_hash(one)
    assert Guard((token(one),)).refusal(one.encode(), "issue", "a") is None


@pytest.mark.parametrize(
    ("secret", "scope", "namespace", "refusal"),
    [
        (b"one", "issue", "a", None),
        (b"two", "issue", "a", None),
        (b"any", "inspect", "whatever", None),
        (b"", "issue", "a", "missing"),
        (b"one ", "issue", "a", "wrong"),
        (b"\xff" * 99999, "issue", "a", "wrong"),
        (b"one", "admin", None, "scope"),
        (b"one", "issue", "*", "namespace"),
        (b"old", "issue", "a", "expired"),
        (b"new", "issue", "a", None),
    ],
)
def test_refusals(monkeypatch, secret, scope, namespace, refusal):
    monkeypatch.setattr(tokens, "wall_us", lambda: 1000)
    guard = Guard(
        (
            token("one"),
            token("two"),
            token("any", namespaces=("*",), scopes=("inspect",)),
            token("old", expires_us=1000),
            token("new", expires_us=1001),
        )
    )
    found = guard.refusal(secret, scope, namespace)
    assert (found and found.reason) == refusal
