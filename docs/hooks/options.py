"""What is made from the declarations of options; `python docs/hooks/options.py` writes all of it anew.

The tables in docs/commands, each between `<!-- options: release -->` and `<!-- end of options -->`; and `keywords.pyi`, the types of the keywords that Python functions take, which
editors complete.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

import chaffinch
from chaffinch._base.options import PANELS, Setting, settings_of
from chaffinch.cli.app import app
from chaffinch.cli.command import fill_placeholders

COMMANDS = Path(__file__).parents[1] / "commands"
SOURCE = Path(chaffinch.__file__).parent
KEYWORDS = SOURCE / "keywords.pyi"
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
    help_text = fill_placeholders(parameter.help or "")
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


def functions() -> Iterator[Callable[..., Any]]:
    """Give each function that takes declared settings, by its keywords or as a whole."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "@takes(" in path.read_text("utf-8"):
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            module = import_module(name.removesuffix(".__init__"))
            for function in vars(module).values():
                own = getattr(function, "__module__", "") == module.__name__
                if own and hasattr(function, "settings_class"):
                    yield function


def keyword_types() -> str:
    """Return the types of keywords, a class for each class of settings: what the functions that take it have not named themselves."""
    explicit: dict[type, set[str]] = {}
    for function in functions():
        names = function.__code__.co_varnames[: _n_arguments(function)]
        explicit.setdefault(function.settings_class, set()).update(names)
    imports: set[tuple[str, str]] = {("typing", "TypedDict")}
    classes = []
    for cls in sorted(explicit, key=lambda cls: cls.__name__):
        keys = []
        for name, setting in settings_of(cls).items():
            if name not in explicit[cls]:
                text = fill_placeholders(setting.help).replace("\\", "\\\\")
                keys += [f"    {name}: {_type_text(_hint(cls, setting), setting, imports)}"]
                keys += [f'    """{text}"""']
        title = f"{cls.__name__.removesuffix('Settings')}Options"
        head = f'class {title}(TypedDict, total=False):\n    """Options of `{cls.__name__}`."""\n\n'
        classes.append(head + "\n".join(keys) + "\n")
    head = (
        '"""Types of keywords, made from the declarations of settings by docs/hooks/options.py."""'
    )
    return "\n\n".join([head, _import_lines(imports), "\n".join(classes)])


def _import_lines(imports: set[tuple[str, str]]) -> str:
    lines: dict[bool, list[str]] = {False: [], True: []}
    for module in sorted({module for module, _ in imports}):
        names = sorted(name for source, name in imports if source == module)
        lines[module.startswith(".")].append(f"from {module} import {', '.join(names)}")
    return "\n\n".join("\n".join(section) for section in lines.values() if section)


def _n_arguments(function: Any) -> int:
    return function.__code__.co_argcount + function.__code__.co_kwonlyargcount


def _hint(cls: type, setting: Setting) -> Any:
    """The type of a setting, those of modules that settings do not import among them."""
    for section in setting.path:
        cls = get_type_hints(cls, localns=_checked_names(cls))[section]
    base = next(base for base in cls.__mro__ if setting.name in base.__annotations__)
    return get_type_hints(base, localns=_checked_names(base))[setting.name]


def _checked_names(cls: type) -> dict[str, Any]:
    """The names of a class's module, what it imports for type checkers alone too."""
    module = import_module(cls.__module__)
    names = dict(vars(module))
    for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for entry in node.body:
                source = import_module(
                    f"{'.' * entry.level}{entry.module or ''}", module.__package__
                )
                for alias in entry.names:
                    names[alias.asname or alias.name] = getattr(source, alias.name)
    return names


def _type_text(hint: Any, setting: Setting, imports: set[tuple[str, str]]) -> str:
    """A type as a stub says it; words that a setting reads are welcome in the place of a number."""
    text = _type_words(hint, imports)
    if setting.option.read is None or setting.kind == "word":
        return text
    return f"{text.removesuffix(' | None')} | str{' | None' * setting.optional}"


def _type_words(hint: Any, imports: set[tuple[str, str]]) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if hint in (None, NoneType, ...):
        return "..." if hint is ... else "None"
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_type_words(entry, imports) for entry in inside))
    if origin is Literal:
        imports.add(("typing", "Literal"))
        return f"Literal[{', '.join(map(_quoted, inside))}]"
    if origin is tuple and inside[1:] == (...,):
        origin, inside = Sequence, inside[:1]
    if origin is not None:
        return f"{_name(origin, imports)}[{', '.join(_type_words(entry, imports) for entry in inside)}]"
    return _name(hint, imports)


def _quoted(word: Any) -> str:
    return f'"{word}"' if isinstance(word, str) else repr(word)


def _name(kind: Any, imports: set[tuple[str, str]]) -> str:
    module = kind.__module__
    if module != "builtins":
        own = module.removeprefix("chaffinch")
        imports.add((own if own != module else module, kind.__name__))
    return kind.__name__


if __name__ == "__main__":
    for path in sorted(COMMANDS.glob("*.md")):
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")
    KEYWORDS.write_text(keyword_types(), "utf-8")
