"""The service: one place to ask for IDs, from any language.

A library gives IDs to programs of its own language. A team with five of them wants an address: a
door that speaks HTTP for people and services, and one that speaks Redis's protocol for programs
that have a client for it already. Behind both is the same generator that a program would hold, with
claims of its own, so members that ask here and members that hold their own generator share a
namespace and never meet.

    settings   what is served: namespaces, addresses, tokens; read from TOML
    issuer     one namespace's generator, with what the doors ask of it
    app        the HTTP door: raw ASGI where IDs are asked for, Starlette for the rest
    console    what a browser shows at /, made of the answers of routes and views
    server     the process: sockets, logs, signals, an orderly end

The service issues no ID that its generator did not, so all that docs/explain/why-unique.md says
holds. What it adds is an answer that may be lost on the way: its ID is spent.
"""

from frazil.service.settings import Settings, read_settings

__all__ = ["Settings", "read_settings"]
