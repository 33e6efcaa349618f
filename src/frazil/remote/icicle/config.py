"""The URL of a pool, and the options that it allows."""

from dataclasses import replace

from frazil.errors import ConfigError
from frazil.generator.request import KEEP_US, Request
from frazil.inputs.duration import duration_text
from frazil.inputs.url import Options, Url, whole
from frazil.redis_link.access import Access, access_of, shown
from frazil.remote.icicle.calls import IcicleConfig
from frazil.remote.icicle.server import LAST_SHARD, MOST_IDS, MOST_LEAD_US
from frazil.schemes.presets import PRESETS

TIMEOUT_US = 1_000_000


def configure_icicle(request: Request) -> IcicleConfig:
    """Return the configuration for a request. Contacts nothing. Raises ConfigError."""
    url, scheme, namespace = request.url, request.scheme, request.namespace
    request.refuse(
        "icicle: takes no {}=; leave it out, because the servers choose these values",
        sequence_start=request.scattered,
        block=request.block is not None,
        keep=request.keep_us != KEEP_US,
    )
    if str(scheme.layout) != PRESETS["icicle"].layout or scheme.shuffle is not None:
        raise ConfigError(
            f"icicle: issues the scheme 'icicle', {PRESETS['icicle'].layout!r}, and not "
            f"{str(scheme.layout)!r}; use that scheme, or a registry like redis: for this one",
            url=str(url),
        )
    if not namespace or len(namespace) > 200 or not namespace.isprintable() or "}" in namespace:
        raise ConfigError(
            f"namespace {namespace!r} is invalid; use 1 to 200 printable characters without }}"
        )
    if request.lead_us > MOST_LEAD_US:
        raise ConfigError(
            f"lead={duration_text(request.lead_us)} is more than the servers allow, "
            f"{duration_text(MOST_LEAD_US)}",
            value=request.lead_us,
            limit=MOST_LEAD_US,
        )
    options = url.options()
    accesses = _accesses(url, options)
    shards = _shards(options, len(accesses))
    prefetch = options.number("prefetch", MOST_IDS)  # the most of one call
    options.finish()
    return IcicleConfig(request, accesses, shards, prefetch)


def _accesses(url: Url, options: Options) -> tuple[Access, ...]:
    """Return the access to each server; with ?cluster=1 all hosts are one."""
    whole = access_of(url, options, TIMEOUT_US)
    if whole.cluster:
        return (whole,)
    return tuple(replace(whole, name=shown(url, host), places=(host,)) for host in whole.places)


def _shards(options: Options, servers: int) -> tuple[int, ...]:
    text = options.text("shards")
    if text is None:
        return ()
    words = text.split(",")
    shards = tuple(shard for word in words if (shard := whole(word, LAST_SHARD)) is not None)
    if len(shards) < len(words):
        raise ConfigError(f"?shards={text}: write numbers from 0 to {LAST_SHARD}, like 0,1,2")
    if len(shards) != servers or len(set(shards)) < servers:
        raise ConfigError(f"?shards={text}: {servers} servers need {servers} different shards")
    return shards
