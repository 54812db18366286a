"""The tables of options in docs/commands, made from what the commands declare; `python docs/hooks/options.py` writes them anew.

A table stands between `<!-- options: release -->` and `<!-- end of options -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from chaffinch._base.options import PANELS
from chaffinch.cli.app import app
from chaffinch.cli.command import filled

COMMANDS = Path(__file__).parents[1] / "commands"
PLACE = re.compile(r"(<!-- options: ([a-z -]+) -->\n).*?(<!-- end of options -->)", re.DOTALL)


def commands(group: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    """Give each command by its name, that of its group before it."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} ")
        else:
            yield f"{before}{name}", command


def option_table(command: Any) -> str:
    """Return the arguments and options of a command as tables, one for each panel."""
    with command.make_context(command.name, [], resilient_parsing=True) as context:
        parameters = command.get_params(context)
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    lines = (
        [
            "| | |",
            "|---|---|",
            *(f"| `{one.metavar or one.name.upper()}` | {_words(one)} |" for one in arguments),
        ]
        if arguments
        else []
    )
    for panel in PANELS:
        rows = [
            f"| {', '.join(f'`{spelling}`' for spelling in one.opts)} | {_words(one)} |"
            for one in parameters
            if one.param_type_name == "option" and one.rich_help_panel == panel
        ]
        if rows:
            lines += ["", f"| {panel} | |", "|---|---|", *rows]
    return "\n".join(lines).strip()


def _words(parameter: Any) -> str:
    """The help of a parameter, as a cell of a table."""
    help_text = filled(parameter.help or "")
    shown = parameter.param_type_name == "option" and parameter.show_default
    if (
        shown
        and not parameter.is_flag
        and parameter.default not in (None, (), [])
        and not parameter.required
    ):
        help_text += f" Default: {parameter.default}."
    return re.sub(r"([<>|])", lambda sign: f"&#{ord(sign[1])};", help_text)


def with_tables(page: str) -> str:
    """Return a page with its tables as the commands have them."""
    known = dict(commands())
    return PLACE.sub(lambda place: f"{place[1]}{option_table(known[place[2]])}\n{place[3]}", page)


if __name__ == "__main__":
    for path in sorted(COMMANDS.glob("*.md")):
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")
