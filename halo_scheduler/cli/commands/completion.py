"""`halo completion`: what makes a shell complete the command."""

from __future__ import annotations

import click

_SCRIPTS = {
    "bash": r"""# Completes the halo command in bash. Put this line into ~/.bashrc:
#   eval "$(halo completion bash)"
_halo() {
    local kind value about
    COMPREPLY=()
    while IFS=$'\t' read -r kind value about; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
        esac
    done < <(_HALO_COMPLETION=bash _HALO_LINE="${COMP_LINE:0:COMP_POINT}" halo 2>/dev/null)
}
complete -F _halo halo
""",
    "zsh": r"""#compdef halo
# Completes the halo command in zsh. Put this line into ~/.zshrc, behind compinit:
#   eval "$(halo completion zsh)"
_halo() {
    local kind value about
    local -a values shown
    while IFS=$'\t' read -r kind value about; do
        case $kind in
            plain) values+=("$value"); shown+=("$value${about:+  -- $about}") ;;
            dir) _path_files -/ ;;
            file) _path_files ;;
        esac
    done < <(_HALO_COMPLETION=zsh _HALO_WORDS="${(pj:\n:)${(@Q)words[1,CURRENT-1]}}" \
        _HALO_LINE="$words[CURRENT]" halo 2>/dev/null)
    (( $#values )) && compadd -l -d shown -a values
}
if [[ $funcstack[1] == _halo ]]; then
    _halo "$@"
else
    compdef _halo halo
fi
""",
    "fish": r"""# Completes the halo command in fish. Keep this where fish looks for it:
#   halo completion fish > ~/.config/fish/completions/halo.fish
function __halo_complete
    set -lx _HALO_COMPLETION fish
    set -lx _HALO_WORDS (commandline -opc | string collect)
    set -lx _HALO_LINE (commandline -ct)
    for line in (halo 2>/dev/null)
        set -l parts (string split -m 2 \t -- $line)
        switch $parts[1]
            case plain
                printf '%s\t%s\n' $parts[2] $parts[3]
            case dir
                __fish_complete_directories (commandline -ct)
            case file
                __fish_complete_path (commandline -ct)
        end
    end
end
complete -c halo -f -a "(__halo_complete)"
""",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_SCRIPTS)))
def completion(*, shell: str) -> None:
    """Print what makes a shell complete commands, options, and the names of your jobs.

    \b
    Examples:
      eval "$(halo completion bash)"          in ~/.bashrc
      eval "$(halo completion zsh)"           in ~/.zshrc, behind compinit
      halo completion fish > ~/.config/fish/completions/halo.fish
    """
    click.echo(_SCRIPTS[shell], nl=False)
