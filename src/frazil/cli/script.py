"""``frazil script``: the script that issues IDs, for callers in other languages.

They need the text to load it, and must not have to find it inside a Python package.
"""

import click

from frazil.remote.icicle.script import icicle_library, icicle_script

__all__ = ["command"]


@click.command
@click.option("--library", is_flag=True, help="As a library of functions, for FUNCTION LOAD.")
def command(*, library: bool) -> None:
    """Print the Lua script by which a Redis or Valkey server issues IDs.

    Its first lines say what it takes and answers; any client can run it with EVALSHA. The servers
    are given their shards by frazil init.

    \b
      frazil script | redis-cli -x SCRIPT LOAD
      frazil script --library | redis-cli -x FUNCTION LOAD REPLACE
    """
    click.echo(icicle_library() if library else icicle_script().source, nl=False)
