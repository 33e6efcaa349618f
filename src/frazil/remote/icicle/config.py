"""``icicle://``: reads the URL of a pool, and what cannot go with it."""

from collections.abc import Mapping
from dataclasses import replace

from frazil.errors import ConfigError
from frazil.generator.generator import Duration, refuse_given
from frazil.inputs.duration import duration_text, duration_us
from frazil.inputs.masking import masked
from frazil.inputs.url import Options, whole
from frazil.redis_link.access import Access
from frazil.redis_link.url import access_of, shown, split_url
from frazil.remote.icicle.calls import IcicleConfig
from frazil.remote.icicle.server import LAST_SHARD, MOST_IDS, MOST_LEAD_US
from frazil.schemes.scheme import PRESETS, Scheme, scheme

__all__ = ["configure_icicle"]

TIMEOUT_US = 1_000_000


def configure_icicle(
    url: str,
    scheme_: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    sequence_start: int | str = 0,
    block: int | None = None,
) -> IcicleConfig:
    """Check what ``open`` was told. Contacts nothing. Raises ConfigError."""
    name = masked(url)
    refuse_given(
        "icicle: takes no {}=; the servers hold the shard and count the sequence",
        fields=bool(fields),
        sequence_start=sequence_start != 0,
        block=block is not None,
    )
    chosen = scheme(scheme_)
    if str(chosen.layout) != PRESETS["icicle"].layout or chosen.shuffle is not None:
        raise ConfigError(
            f"icicle: issues the scheme 'icicle', {PRESETS['icicle'].layout!r}, and not "
            f"{str(chosen.layout)!r}; use that scheme, or a registry like redis: for this one",
            url=name,
        )
    if not namespace or len(namespace) > 200 or not namespace.isprintable() or "}" in namespace:
        raise ConfigError(
            f"namespace {namespace!r}: 1 to 200 printable characters, none of them }}"
        )
    lead_us = duration_us(lead, name="lead")
    if lead_us > MOST_LEAD_US:
        raise ConfigError(
            f"lead={duration_text(lead_us)} is more than the servers allow, "
            f"{duration_text(MOST_LEAD_US)}",
            value=lead_us,
            limit=MOST_LEAD_US,
        )
    options = Options(url)
    accesses = _accesses(url, options)
    shards = _shards(options, len(accesses))
    prefetch = options.number("prefetch", MOST_IDS)  # what one call can ask
    options.finish()
    timeout_us = duration_us(timeout, name="timeout")
    return IcicleConfig(
        url, name, namespace, chosen, accesses, shards, lead_us, timeout_us, prefetch
    )


def _accesses(url: str, options: Options) -> tuple[Access, ...]:
    """How to reach each server of the pool; with ?cluster=1 all hosts are one."""
    whole = access_of(url, options, TIMEOUT_US)
    if whole.cluster:
        return (whole,)
    parts = split_url(url)
    return tuple(replace(whole, name=shown(parts, host), places=(host,)) for host in whole.places)


def _shards(options: Options, servers: int) -> tuple[int, ...]:
    text = options.text("shards")
    if text is None:
        return ()
    shards = []
    for word in text.split(","):
        shard = whole(word, LAST_SHARD)
        if shard is None:
            raise ConfigError(f"?shards={text}: write numbers from 0 to {LAST_SHARD}, like 0,1,2")
        shards.append(shard)
    if len(shards) != servers or len(set(shards)) < servers:
        raise ConfigError(
            f"?shards={text}: {servers} servers need as many shards, each another one"
        )
    return tuple(shards)
