"""`halo completion`: the script that completes the command in a shell."""

from __future__ import annotations

import click

from halo_scheduler.cli.terminal.shell_completion import COMPLETE_VAR, COMPLETIONS


@click.command()
@click.argument("shell", type=click.Choice(list(COMPLETIONS)))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print a script that completes commands, options and job names in your shell.

    \b
    Examples:
      eval "$(halo completion bash)"          in ~/.bashrc
      eval "$(halo completion zsh)"           in ~/.zshrc, after compinit
      halo completion fish > ~/.config/fish/completions/halo.fish
    """
    program = context.find_root().command
    click.echo(COMPLETIONS[shell](program, {}, "halo", COMPLETE_VAR).source(), nl=False)
