"""The scripts of the shells: what each of them writes for the same commands and choices."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any


def bash(commands: list[Any]) -> str:
    """A function for bash 4 and later: the words so far choose the list."""
    return f"""# completion of onegrad for bash: source this file
_onegrad() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="" word words="" files=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$command/$word" in
            {_joined(_steps(commands))}) command="$command/$word" ;;
        esac
    done
    case "$command $prev" in
{_lines(_bash_values(commands))}
        *)
            case "$command" in
{_lines(_bash_commands(commands), 16)}
            esac ;;
    esac
    if [[ -n $files && $cur != -* ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    fi
}}
complete -F _onegrad onegrad
"""


def _steps(commands: list[Any]) -> Iterator[str]:
    for command in commands:
        for name in command.inner:
            yield "/".join(["", *command.words, name])


def _bash_values(commands: list[Any]) -> Iterator[str]:
    """A case for every option that takes a value."""
    for command in commands:
        path = "".join(f"/{word}" for word in command.words)
        for choice in command.options:
            if choice.takes:
                spelt = _joined(f"{path} {name}" for name in choice.names)
                yield f"{spelt}) {_bash_choice(choice)} ;;"


def _bash_commands(commands: list[Any]) -> Iterator[str]:
    """A case for every command: its options after a dash, else what it takes."""
    for command in commands:
        path = "".join(f"/{word}" for word in command.words)
        dashed = " ".join(name for choice in command.options for name in choice.names)
        inner = f"words={shlex.quote(' '.join(command.inner))}"
        given = inner if command.positional is None else _bash_choice(command.positional)
        yield f'"{path}") if [[ $cur == -* ]]; then words="{dashed}"; else {given}; fi ;;'


def _bash_choice(choice: Any) -> str:
    if choice.file:
        return "files=yes"
    return f"words={shlex.quote(' '.join(choice.values))}"


def _joined(words: Any) -> str:
    return "|".join(f'"{word}"' for word in words)


def _lines(lines: Iterator[str], indent: int = 8) -> str:
    return "\n".join(" " * indent + line for line in lines)


def zsh(commands: list[Any]) -> str:
    """A function for zsh's `_arguments`, one case for every command."""
    whole, *others = commands
    groups = [command for command in others if command.inner]
    plain = [command for command in others if len(command.words) == 1 and not command.inner]
    return f"""#compdef onegrad
# completion of onegrad for zsh: keep it as _onegrad in a folder of $fpath, or source it
_onegrad() {{
    local -a names
    if (( CURRENT == 2 )); then
        names=({_zsh_names(whole, commands)})
        _describe command names
        _arguments {_zsh_options(whole)}
        return
    fi
    shift words
    (( CURRENT-- ))
    case "$words[1]" in
{_lines(f"{_zsh_case(command)} ;;" for command in plain)}
{_lines(_zsh_group(group, commands) for group in groups)}
    esac
}}
if [[ "$zsh_eval_context[-1]" == loadautofunc ]]; then
    _onegrad "$@"
else
    compdef _onegrad onegrad
fi
"""


def _zsh_group(group: Any, commands: list[Any]) -> str:
    """The case of a command that has commands."""
    depth = len(group.words) + 1
    inner = (c for c in commands if len(c.words) == depth and c.words[:-1] == group.words)
    return f"""{group.words[-1]})
            if (( CURRENT == 2 )); then
                names=({_zsh_names(group, commands)})
                _describe command names
                return
            fi
            shift words
            (( CURRENT-- ))
            case "$words[1]" in
{_lines((f"{_zsh_case(command)} ;;" for command in inner), 16)}
            esac ;;"""


def _zsh_case(command: Any) -> str:
    given = command.positional
    rest = "" if given is None else f" {shlex.quote(f'*:argument:{_zsh_values(given)}')}"
    return f"{command.words[-1]}) _arguments {_zsh_options(command)}{rest}"


def _zsh_names(command: Any, commands: list[Any]) -> str:
    about = {c.words: c.summary for c in commands}
    names = ((name, about[(*command.words, name)]) for name in command.inner)
    return " ".join(shlex.quote(f"{name}:{text.replace(':', ' ')}") for name, text in names)


def _zsh_options(command: Any) -> str:
    return " ".join(_zsh_option(choice) for choice in command.options)


def _zsh_option(choice: Any) -> str:
    summary = choice.summary
    for mark in "[]:":
        summary = summary.replace(mark, f"\\{mark}")
    value = f":value:{_zsh_values(choice)}" if choice.takes else ""
    return " ".join(shlex.quote(f"{name}[{summary}]{value}") for name in choice.names)


def _zsh_values(choice: Any) -> str:
    if choice.file:
        return "_files"
    return f"({' '.join(choice.values)})" if choice.values else " "


def fish(commands: list[Any]) -> str:
    """A line for every command and every option."""
    lines = ["# completion of onegrad for fish: keep it as completions/onegrad.fish"]
    lines.append("complete -c onegrad -f")
    about = {command.words: command.summary for command in commands}
    for command in commands:
        when = _fish_condition(command)
        for name in command.inner:
            text = shlex.quote(about[(*command.words, name)])
            lines.append(f"complete -c onegrad -n {when} -a {name} -d {text}")
        for choice in command.options:
            lines.append(f"complete -c onegrad -n {when} {_fish_option(choice)}")
        if command.positional is not None:
            lines.append(f"complete -c onegrad -n {when} {_fish_values(command.positional)}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _fish_condition(command: Any) -> str:
    """When a line counts: these commands are given, and none of those within."""
    seen = [f"__fish_seen_subcommand_from {word}" for word in command.words]
    if command.inner:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(command.inner)}")
    return shlex.quote("; and ".join(seen))


def _fish_option(choice: Any) -> str:
    names = (f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in choice.names)
    value = f" -r {_fish_values(choice)}" if choice.takes else ""
    return f"{' '.join(names)} -d {shlex.quote(choice.summary)}{value}"


def _fish_values(choice: Any) -> str:
    if choice.file:
        return "-F"
    return f"-a {shlex.quote(' '.join(choice.values))}" if choice.values else ""
