"""Tokens: which callers may do what.

A token is ``frazil_`` followed by 32 random bytes. It is generated here and shown once; the
configuration holds its SHA-256 hash. Slow hashes protect passwords that people choose. A random
token has 2**256 possible values, so a fast hash is safe, costs a microsecond per request, and gives
attackers no expensive operation to trigger.

The hash of the received token is looked up in a dictionary. A caller cannot choose a hash, so the
time of a refusal tells nothing about a token. To rotate a token, add the new one, move the callers,
and remove the old one.

Without tokens every caller is allowed. That is the default on loopback only; elsewhere the option
--without-tokens is required (see ``Settings.check``).
"""

import mmap
import os
import re
import secrets
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_UN, lockf
from hashlib import sha256
from math import ceil, inf, isinf
from struct import Struct
from typing import IO, Any, Literal, NamedTuple
from weakref import finalize

from frazil.system.clock import boot_ns, moment_text, wall_us

_MINUTE_NS = 60 * 10**9
_FORM = Struct("=16sdq")  # the token, its level in IDs, and when that was computed, by boot_ns
_PLACES = 4_096
_TRIED_MOST = 256
_NOBODY = bytes(16)
_SLICES = 1_000  # of a quota
_SLICE_NS = 100_000_000


class Buckets:
    """The quotas: a token bucket for each token, by digest; a new one is full.

    A bucket holds at most one minute's quota and fills evenly. So a token gets at most its quota at
    once and on average, and after a pause at most twice its quota in one minute: a full bucket, and
    what flows in. A counter that restarts each minute would allow the same twice at once.

    If each worker had its share of a quota, a caller with one connection would use only that share.
    So the buckets lie in shared memory that is created before the workers are forked, and a file
    lock guards each change. The operating system releases the lock if a worker dies, which it would
    not do for a lock in memory. A worker that dies in the middle of a change can leave one of the
    two numbers wrong, which costs at most one minute's quota of one token.

    A lock for each ID would cost as much as the ID. So a process takes a thousandth of a quota,
    uses it for a tenth of a second, and returns the rest. Meanwhile a token can get so many IDs
    more, once for each worker. A quota below a thousand is exact.

    The place of a bucket follows from the hash of its token, so the settings may change while the
    service runs.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PLACES * _FORM.size)
        self._lock = _file_in_memory()
        finalize(self, self._lock.close)
        self._slices: dict[bytes, tuple[int, int]] = {}  # what is left of it, and until when

    def wait_s(self, digest: bytes, most: int, n: int) -> float:
        """Take ``n`` from a bucket of ``most`` and return 0.0, or how long it takes to refill.

        A negative ``n`` is given back. Returns inf if the bucket never holds that many.
        """
        if n > most:
            return inf
        held, until_ns = self._slices.get(digest, (0, 0))
        if 0 < n <= held and boot_ns() < until_ns:
            self._slices[digest] = held - n, until_ns
            return 0.0
        return max(-self._add(digest, most, -n, most // _SLICES), 0.0) / most * 60

    def left(self, digest: bytes, most: int) -> int:
        """How many IDs a bucket of ``most`` holds now."""
        return int(self._add(digest, most, 0, 0))

    def _add(self, digest: bytes, most: int, n: int, ahead: int) -> float:
        """Return the slice, add ``n``, and take the next slice, of up to ``ahead``, if that works.

        Returns the level after the first two. A negative one is not stored.
        """
        back, _ = self._slices.pop(digest, (0, 0))
        lockf(self._lock, LOCK_EX)
        try:
            now_ns = boot_ns()
            place = self._place(digest)
            owner, level, looked_ns = _FORM.unpack_from(self._memory, place)
            if owner != digest[:16]:
                level, looked_ns = most, now_ns
            level = min(level + back + most * max(now_ns - looked_ns, 0) / _MINUTE_NS, most)
            after: float = level + n
            kept = level if after < 0 else min(after, most)
            taken = 0 if after < 0 else min(ahead, int(kept))
            _FORM.pack_into(self._memory, place, digest[:16], kept - taken, now_ns)
        finally:
            lockf(self._lock, LOCK_UN)
        if taken:
            self._slices[digest] = taken, now_ns + _SLICE_NS
        return after

    def _place(self, digest: bytes) -> int:
        """Return where the bucket of a token is, or will be; of too many, one loses its own."""
        first = int.from_bytes(digest[16:24], "big")
        for at in range(first, first + _TRIED_MOST):
            place = at % _PLACES * _FORM.size
            if self._memory[place : place + 16] in {digest[:16], _NOBODY}:
                return place
        return first % _PLACES * _FORM.size


def _file_in_memory() -> IO[bytes]:
    """Return a file that needs no directory, which a read-only container may not have."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("frazil-quotas"), "r+b")
    return tempfile.TemporaryFile()


Scope = Literal["issue", "inspect", "admin"]
SCOPES: tuple[Scope, ...] = ("issue", "inspect", "admin")
"""What a token may allow. ``admin`` covers the state of the service: metrics, claims, readiness."""

ANYWHERE = "*"  # in place of a namespace: all namespaces

Reason = Literal["missing", "wrong", "expired", "scope", "namespace"]

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 512  # characters of a token that are hashed


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its name for the logs, hash, permissions, and expiry."""

    name: str
    digest: bytes
    namespaces: frozenset[str]
    scopes: frozenset[Scope]
    expires_us: int | None = None
    ids_per_minute: int | None = None


class Refusal(NamedTuple):
    """Why a token does not allow a request, and what a known token allows.

    Only the caller who sent the token learns this. needed: the scope or the namespace that it
    lacks. has: its scopes or namespaces, sorted.
    """

    reason: Reason
    needed: str = ""
    has: tuple[str, ...] = ()


class OverQuota(Exception):
    """A token exceeded its quota. most: IDs per minute. wait_s: when the request would succeed."""

    def __init__(self, most: int, wait_s: float) -> None:
        what = f"the quota of this token is {most} IDs a minute"
        step = "request fewer at once" if isinf(wait_s) else f"retry in {ceil(wait_s)} s"
        super().__init__(f"{what}; {step}")
        self.most = most
        self.wait_s = wait_s


@dataclass(slots=True)
class Charge:
    """used: how many of the charged IDs were issued, whether they reach the caller or not."""

    used: int = 0


class Guard:
    """Allows or refuses requests. Without tokens every request is allowed.

    is_open: whether no token is required. trusting: whether that is so because only this host can
    connect. buckets: shared by processes that count together.
    """

    def __init__(
        self,
        tokens: tuple[Token, ...] = (),
        buckets: Buckets | None = None,
        *,
        without_tokens: bool = False,
    ) -> None:
        self._buckets = buckets or Buckets()
        self.replace(tokens, without_tokens=without_tokens)

    def replace(self, tokens: tuple[Token, ...], *, without_tokens: bool) -> None:
        """Use other tokens. A token that stays keeps what is left of its quota."""
        self.tokens = {token.digest: token for token in tokens}
        self._sent: dict[bytes, Token] = {}
        self.is_open = not tokens
        self.trusting = not (tokens or without_tokens)

    def refusal(self, secret: bytes, scope: Scope | None, namespace: str | None) -> Refusal | None:
        """Return why a request is refused, or None if it is allowed.

        secret: the token as received. scope: None accepts any token. namespace: None for requests
        that belong to no namespace.
        """
        if not self.tokens:
            return None
        if not secret:
            return Refusal("missing")
        token = self._find(secret)
        if token is None:
            return Refusal("wrong")
        if token.expires_us is not None and wall_us() >= token.expires_us:
            return Refusal("expired")
        if scope is not None and scope not in token.scopes:
            return Refusal("scope", scope, tuple(one for one in SCOPES if one in token.scopes))
        if namespace is not None and not token.namespaces & {namespace, ANYWHERE}:
            return Refusal("namespace", namespace, tuple(sorted(token.namespaces)))
        return None

    def passes(self, secret: bytes, namespace: str, n: int) -> bool:
        """Return whether a request for ``n`` IDs is allowed; then its token is charged for them."""
        if self.refusal(secret, "issue", namespace) is not None:
            return False
        try:
            self.take(secret, n)
        except OverQuota:
            return False
        return True

    def take(self, secret: bytes, n: int) -> None:
        """Charge an allowed token for ``n`` IDs; a negative one gives back. Raises OverQuota."""
        token = self._find(secret) if self.tokens else None  # it would hash each secret
        if token is not None and token.ids_per_minute is not None:
            wait_s = self._buckets.wait_s(token.digest, token.ids_per_minute, n)
            if wait_s:
                raise OverQuota(token.ids_per_minute, wait_s)

    def _find(self, secret: bytes) -> Token | None:
        """Return the token that a caller sent; one that is known is not hashed again."""
        token = self._sent.get(secret)
        if token is None:
            token = self.tokens.get(sha256(secret[:_LONGEST]).digest())
            if token is not None:
                self._sent[secret] = token
        return token

    @contextmanager
    def charge(self, secret: bytes, n: int) -> Iterator[Charge]:
        """Charge an allowed token for ``n`` IDs, and return the unused ones. Raises OverQuota."""
        self.take(secret, n)
        charge = Charge()
        try:
            yield charge
        finally:
            if charge.used < n:
                self.take(secret, charge.used - n)

    def listed(self, namespaces: Collection[str]) -> list[dict[str, Any]]:
        """The tokens for some of these namespaces, without anything secret; left: of the quota."""
        found = []
        for token in self.tokens.values():
            names = token.namespaces & {ANYWHERE, *namespaces}
            if names:
                most, expires_us = token.ids_per_minute, token.expires_us
                left_us = None if expires_us is None else expires_us - wall_us()
                found.append(
                    {
                        "name": token.name,
                        "token_namespaces": sorted(names),
                        "scopes": [scope for scope in SCOPES if scope in token.scopes],
                        "expires": None if expires_us is None else moment_text(expires_us),
                        "expires_in_s": None if left_us is None else left_us / 1e6,
                        "ids_per_minute": most,
                        "left": None if most is None else self._buckets.left(token.digest, most),
                    }
                )
        return found


def new_token() -> str:
    """Return a new random token."""
    return f"frazil_{secrets.token_urlsafe(32)}"


def hash_of(token: str) -> str:
    """Return the hash of a token, as a configuration holds it."""
    return f"sha256:{sha256(token.encode()).hexdigest()}"


def is_hash(text: str) -> bool:
    """Return whether a text is a hash as ``hash_of`` writes it."""
    return _HASH.fullmatch(text) is not None
