"""The service: unique IDs for programs in any language, over HTTP and the Redis protocol.

Each namespace uses the same generator that a Python program would use, with its own claims.
Programs that call the service and programs that open the registry themselves can therefore share a
namespace without duplicates.

    settings   what is served: namespaces, addresses, tokens; read from TOML
    namespace  the generator of one namespace, and whether it will still have IDs
    state      what the endpoints share
    app        the HTTP API, as an ASGI application
    redis      the Redis endpoint
    console    the web page at /
    process    sockets, workers, logs, signals, graceful shutdown

Every ID comes from a generator, so the argument in docs/explain/why-unique.md also covers the
service. A reply can be lost on the way; its IDs are then lost, and never issued again.
"""

from frazil.service.settings import Settings, read_settings

__all__ = ["Settings", "read_settings"]
