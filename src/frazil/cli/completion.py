"""``frazil completion``: the script by which a shell completes commands and options.

Click writes the script. It asks the command itself for every completion, so it stays correct when
frazil is upgraded.
"""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


def _own_shell() -> str:
    """The shell of the user, if it is one of SHELLS; else a usage error."""
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(f"name the shell, one of {', '.join(SHELLS)}")
    return name


@click.command
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def command(ctx: click.Context, *, shell: str | None) -> None:
    """Print the script that completes commands and options in a SHELL, by default yours.

    \b
      frazil completion bash > ~/.local/share/bash-completion/completions/frazil
      frazil completion zsh  > ~/.zfunc/_frazil       with fpath+=~/.zfunc in ~/.zshrc
      frazil completion fish > ~/.config/fish/completions/frazil.fish

    New shells load it. For the current shell: eval "$(frazil completion bash)"
    """
    kind = get_completion_class(shell or _own_shell())
    assert kind is not None  # click has all of SHELLS
    click.echo(kind(ctx.find_root().command, {}, "frazil", "_FRAZIL_COMPLETE").source())
