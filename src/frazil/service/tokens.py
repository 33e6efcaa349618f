"""Tokens: who may ask for what.

A token is 32 random bytes behind the word ``frazil_``, made here and shown once; a configuration
holds only its SHA-256. A slow hash is for secrets that people choose. Nobody can try 2**256 values,
so a fast one keeps a stolen configuration as useless, and costs each request a microsecond instead
of a tenth of a second that an attacker could have us spend.

The digest of what was sent is compared with every digest there is, each in constant time and
without stopping at the first that fits, so the time of a refusal says nothing. Several tokens may
hold the same rights at once: add the new one, move the callers, remove the old one.

A guard without tokens lets everybody in. That is for loopback, and the only other way to have it is
to say so in as many words (see ``server``).
"""

import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Literal, Self

from frazil.service.quota import Buckets
from frazil.system.clock import wall_us

__all__ = [
    "ANYWHERE",
    "SCOPES",
    "Bill",
    "Guard",
    "OverQuota",
    "Refusal",
    "Scope",
    "Token",
    "buckets_of",
    "hash_of",
    "is_hash",
    "new_token",
]

Scope = Literal["issue", "inspect", "admin"]
SCOPES: tuple[Scope, ...] = ("issue", "inspect", "admin")
"""What a token may be for. ``admin`` is the view of the whole service: metrics, what is unready."""

ANYWHERE = "*"
"""Instead of a namespace: all of them."""

Refusal = Literal["missing", "wrong", "expired", "forbidden"]

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 512  # characters of a token that are looked at


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its name for the logs, its hash, and what it may do where, and until when."""

    name: str
    digest: bytes
    namespaces: frozenset[str]
    scopes: frozenset[Scope]
    expires_us: int | None = None
    ids_per_minute: int | None = None


class OverQuota(Exception):
    """A token has had its IDs: how many it may have a minute, and in how long it may have these."""

    def __init__(self, most: int, wait_s: float) -> None:
        super().__init__(f"this token may have {most} IDs a minute here")
        self.most = most
        self.wait_s = wait_s


class Bill:
    """IDs that a token was charged for. Those that were not made by the end of it are given back.

    made: how many there are so far. An ID that was made counts, whether it arrives or not.
    """

    __slots__ = ("_at", "_buckets", "_n", "made")

    def __init__(self, buckets: Buckets | None, at: int, n: int) -> None:
        self._buckets = buckets
        self._at = at
        self._n = n
        self.made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._buckets is not None and self.made < self._n:
            self._buckets.give_back(self._at, self._n - self.made)


class Guard:
    """Decides on requests. Without tokens everything is allowed.

    is_open: whether nobody is asked for a token. metered: whether some token has a quota.
    buckets: of the same tokens, made by ``buckets_of``, where several processes have such a guard
    and count together.
    """

    def __init__(self, tokens: tuple[Token, ...] = (), buckets: Buckets | None = None) -> None:
        self.tokens = tokens
        self.is_open = not tokens
        self._buckets = buckets_of(tokens) if buckets is None else buckets
        self._places = {token.digest: at for at, token in enumerate(_metered(tokens))}
        self.metered = bool(self._places)

    def refusal(
        self, secret: bytes | None, scope: Scope | None, namespace: str | None
    ) -> Refusal | None:
        """Why a request is refused; None if it is allowed.

        secret: the token as it was sent. scope: None asks for any token. namespace: None for what
        belongs to no namespace.
        """
        if not self.tokens:
            return None
        if not secret:
            return "missing"
        token = self._known(secret)
        if token is None:
            return "wrong"
        if token.expires_us is not None and wall_us() >= token.expires_us:
            return "expired"
        if scope is not None and scope not in token.scopes:
            return "forbidden"
        if namespace is not None and not token.namespaces & {namespace, ANYWHERE}:
            return "forbidden"
        return None

    def bill(self, secret: bytes | None, n: int) -> "Bill":
        """Charge a token that was let in for ``n`` IDs; raises OverQuota.

        ``with guard.bill(secret, n) as bill``: what is not ``made`` in the block is given back.
        """
        at = self._places.get(_digest(secret)) if self.metered and secret else None
        if at is None:
            return Bill(None, 0, 0)
        wait_s = self._buckets.wait_s(at, n)
        if wait_s:
            raise OverQuota(self._buckets.mosts[at], wait_s)
        return Bill(self._buckets, at, n)

    def _known(self, secret: bytes) -> Token | None:
        digest = _digest(secret)
        found = None
        for token in self.tokens:
            if compare_digest(token.digest, digest):
                found = token
        return found


def buckets_of(tokens: tuple[Token, ...]) -> Buckets:
    """A full bucket for each token that has a quota."""
    return Buckets([token.ids_per_minute or 0 for token in _metered(tokens)])


def _metered(tokens: tuple[Token, ...]) -> list[Token]:
    return [token for token in tokens if token.ids_per_minute is not None]


def _digest(secret: bytes) -> bytes:
    return sha256(secret[:_LONGEST]).digest()


def new_token() -> str:
    """A fresh token."""
    return f"frazil_{secrets.token_urlsafe(32)}"


def hash_of(token: str) -> str:
    """A token as a configuration holds it."""
    return f"sha256:{sha256(token.encode()).hexdigest()}"


def is_hash(text: str) -> bool:
    """Whether a text is a token's hash, as ``hash_of`` writes it."""
    return _HASH.fullmatch(text) is not None
