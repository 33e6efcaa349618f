"""``frazil script``: the Lua script that issues IDs, for callers in other languages.

Callers need the source to load it, and should not have to find it inside a Python package.
"""

import click

from frazil.remote.icicle.server import icicle_library, icicle_script


@click.command
@click.option("--library", is_flag=True, help="Print a function library, for FUNCTION LOAD.")
def command(*, library: bool) -> None:
    """Print the Lua script with which a Redis or Valkey server issues IDs.

    Its first lines describe its arguments and its reply; any client can run it with EVALSHA. Set
    the shard of each server with frazil init first.

    \b
      frazil script | redis-cli -x SCRIPT LOAD
      frazil script --library | redis-cli -x FUNCTION LOAD REPLACE
    """
    click.echo(icicle_library() if library else icicle_script().source, nl=False)
