"""``frazil serve``: an HTTP service that issues IDs to programs in any language."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from frazil.errors import ConfigError
from frazil.system.extras import missing_extra

if TYPE_CHECKING:
    from frazil.service.settings import Settings

_PORT = click.IntRange(0, 65535)


@click.command
@click.argument("url", required=False, metavar="[URL]")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with namespaces, tokens and addresses.",
)
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port", type=_PORT, metavar="PORT", help="The HTTP port; 0 for any.  [default: 8080]"
)
@click.option(
    "--resp",
    type=_PORT,
    metavar="PORT",
    help="The port for Redis clients: INCR default, FRAZIL.ID default, …",
)
@click.option(
    "--without-tokens",
    is_flag=True,
    help="Serve all clients without a token, also from other hosts.",
)
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="How many processes.  [default: 1]"
)
@click.option("--tls-cert", metavar="FILE", help="A PEM certificate, to use TLS.")
@click.option("--tls-key", metavar="FILE", help="The key of the certificate.")
@click.option("--new-token", is_flag=True, help="Print a new token and its hash, and exit.")
def command(
    *,
    url: str | None,
    config: Path | None,
    host: str | None,
    port: int | None,
    resp: int | None,
    without_tokens: bool,
    workers: int | None,
    tls_cert: str | None,
    tls_key: str | None,
    new_token: bool,
) -> None:
    """Issue IDs over HTTP to programs in any language, and to Redis clients.

    No setup is needed: the default is one namespace, in the registry of FRAZIL_URL or of this
    host, and only this host can connect. --config defines more, each with a scheme, a registry and
    tokens.

    \b
      frazil serve
      curl http://127.0.0.1:8080/v1/default/id
      frazil serve redis://cache:6379/0 --port 8000 --resp 6380
      redis-cli -p 6380 INCR default
      frazil serve --config frazil.toml
    """
    try:
        from frazil.service import read_settings, tokens
        from frazil.service.process.server import serve
        from frazil.service.settings import Tls
    except ModuleNotFoundError as error:
        if error.name == "fcntl":  # Windows has none
            raise ConfigError(
                "frazil serve runs on Linux and macOS; here, call a service of another host, "
                "like http://HOST:8080"
            ) from None
        raise missing_extra(f"frazil serve needs {error.name}", "serve", error) from None
    if new_token:
        token = tokens.new_token()
        click.echo(f'token: {token}\nhash = "{tokens.hash_of(token)}"')
        return
    if (tls_cert is None) != (tls_key is None):
        raise ConfigError("--tls-cert and --tls-key need each other; give both")
    options: dict[str, Any] = {"host": host, "port": port, "resp_port": resp, "workers": workers}
    given = {name: value for name, value in options.items() if value is not None}

    def read() -> "Settings":
        settings = read_settings(config, url)
        if tls_cert and tls_key:
            client_ca = settings.tls.client_ca if settings.tls else ""
            settings = replace(settings, tls=Tls(tls_cert, tls_key, client_ca))
        return replace(settings, without_tokens=without_tokens, **given)

    serve(read(), read)
