"""A command of the command line: its options read from declared settings, its help in panels, its options in a file.

    @command
    def check(*, settings: CheckSettings, json: Json = None) -> None: ...

Each setting of `CheckSettings` is an option, and the command gets the settings themselves; a parameter may declare an option of its own. `--help` shows what is basic, `--help-all` everything. Every
command has `--config`, `--save-config` and `--overwrite`. A file of options holds names and values, as they are typed without the dashes:

    label = "income"
    keys = ["age", "sex"]
    thorough = true

What the command line says wins over the file. `{metrics}` in a text stands for the metrics there are when help is shown: nothing is imported before that,
and what a user registers is listed like the rest.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Exit as Exit
from typer import echo as echo
from typer.core import TyperCommand

from .._base.checks import check_name
from .._base.documents import read_toml, toml_value
from .._base.errors import InputError
from .._base.files import check_outputs, kept_files, overwriting, write_text
from .._base.options import (
    BASIC,
    FILES,
    PANELS,
    Declared,
    Setting,
    setting_of,
    settings_of,
)

MOST = 1 << 20
"""Bytes that a file of options may have."""
ALL_SHOWN = 12
"""Options up to which a command shows all of them at once."""


def _from(module: str, listed: Callable[[Any], Iterable[str]]) -> Callable[[], Iterable[str]]:
    """A list that a module has, which is imported when the list is asked for."""
    return lambda: listed(import_module(module, __package__))


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "attackers": _from("..risk.attacker", lambda module: module.attacker_words(*module.STUDIED)),
    "codebooks": _from(
        "..table.codebooks", lambda module: (kind.title for kind in module.CODEBOOKS)
    ),
    "kinds": _from("..outputs.kinds", lambda module: module.KINDS.names),
    "search_engines": _from(
        "..outputs.solve.settings",
        lambda module: (f"{engine.name} ({engine.title})" for engine in module.SEARCH_ENGINES),
    ),
    "conventions": _from("..risk.settings", lambda module: module.CONVENTIONS),
    "metrics": _from("..utility", lambda module: module.choices()),
    "learners": _from("..risk.membership.attacker", lambda module: module.learners()),
    "models": _from("..stats.learners", lambda module: module.CLASSIFIERS),
    "pairs": _from("..risk.auditing", lambda module: module.PAIRS),
    "methods": _from("..synth", lambda module: module.method_words()),
    "private_methods": _from("..synth", lambda module: module.method_words(private=True)),
    "formats": _from(
        "..table", lambda module: (form.title for form in module.FORMATS if form.title)
    ),
    "tree_formats": _from(
        "..trees", lambda module: (form.title for form in module.TREE_FORMATS if form.title)
    ),
}
"""What each placeholder lists."""


def fill_placeholders(text: str) -> str:
    """Return a help text with its placeholders filled; braces that hold no known word stay.

    Examples
    --------
    >>> fill_placeholders("Some of {models}, as {A,B}.")
    'Some of nb, svc, knn, rf, lr, as {A,B}.'
    """
    return re.sub(
        r"\{(\w+)\}",
        lambda word: ", ".join(NAMES[word[1]]()) if word[1] in NAMES else word[0],
        text,
    )


def stopped_message() -> str:
    """Return what is kept of a run that Ctrl-C ended, and how to go on."""
    files = kept_files()
    what = (
        f"Kept, and whole: {', '.join(map(str, files))}. Nothing else was written"
        if files
        else "Nothing was written"
    )
    return f"Stopped. {what}. The same command starts over."


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta["all"] = True
        echo(context.get_help())
        raise Exit


def _common(
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Options from a TOML file, by their names; what the command line says wins.",
            rich_help_panel=FILES,
        ),
    ] = None,
    save_config: Annotated[
        Path | None,
        typer.Option(
            help="Write the options of this run to a TOML file for --config, when it is done.",
            rich_help_panel=FILES,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace output files that exist. Never what a privacy budget was spent on.",
            rich_help_panel=FILES,
        ),
    ] = False,
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            callback=_show_all,
            is_eager=True,
            help="Show every option.",
            rich_help_panel=BASIC,
        ),
    ] = False,
) -> None:
    """Take what every command has; `Command` reads it."""


COMMON = inspect.signature(_common, eval_str=True).parameters
OWN = (*COMMON, "help")
"""Options that are not in a file."""


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that has an option for each setting of its parameters that are declared classes, and those that every command has."""
    signature = inspect.signature(function, eval_str=True)
    groups: dict[str, Declared | type[Declared]] = {}
    settings: dict[str, Setting] = {}
    merged: dict[str, inspect.Parameter] = {}
    for name, parameter in signature.parameters.items():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, Declared):
            groups[name] = kind if parameter.default is parameter.empty else parameter.default
            new = {
                key: option
                for key, option in settings_of(groups[name]).items()
                if key not in signature.parameters
            }
        else:
            default = MISSING if parameter.default is parameter.empty else parameter.default
            declared = setting_of(name, kind, default)
            assert declared is not None, f"{name} declares no option"
            new = {name: declared}
        settings |= new
        merged |= {key: _parameter(option) for key, option in new.items()}
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in {**merged, **COMMON}.values()
    ]

    @wraps(function)
    def with_options(**given: Any) -> Any:
        given_text = {name: given[name] for name in settings if name in given}
        values = {
            name: _value(settings[name], text)
            for name, text in given_text.items()
            if text
            not in (None, False, [])  # an empty text is a value: `--epsilon "$UNSET"` is an error
        }
        single = {
            name: settings[name].check(values.get(name, settings[name].default))
            for name in signature.parameters
            if name in settings
        }
        built = {}
        for name, group in groups.items():
            build = group.from_options if isinstance(group, type) else group.with_options
            built[name] = build(**{key: values[key] for key in settings_of(group) if key in values})
        return function(**built, **single)

    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }
    with_options.settings = settings  # type: ignore[attr-defined]
    del with_options.__wrapped__
    return with_options


def _parameter(setting: Setting) -> inspect.Parameter:
    """A setting as Typer reads an option: words, which the setting turns into a value."""
    option = setting.option
    panel = BASIC if option.basic else option.panel
    kind: Any = str | None
    if setting.kind == "flag":
        kind = bool
    elif setting.repeated:
        kind = list[str] | None
    shared: dict[str, Any] = {"help": setting.help}
    if setting.kind != "flag":
        metavar = setting.name.upper() if option.argument else METAVARS[setting.kind]
        shared |= {"metavar": option.metavar or metavar, "show_default": False}
    if option.argument:
        declared: Any = typer.Argument(**shared)
    else:
        short = [f"-{option.short}"] if option.short else []
        declared = typer.Option(setting.spelling, *short, rich_help_panel=panel, **shared)
    default = inspect.Parameter.empty
    if not setting.required:
        default = False if setting.kind == "flag" else None  # type: ignore[assignment]
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, declared],
    )


METAVARS = {
    "whole": "INTEGER",
    "number": "NUMBER",
    "word": "WORD",
    "names": "A,B",
    "pairs": "A:B",
    "groups": "A,B;C,D",
    "sizes": "SIZES",
    "map": "COLUMN=VALUE",
    "path": "PATH",
    "paths": "PATH",
}
"""What stands in help for a value of each kind."""


def _value(setting: Setting, text: Any) -> Any:
    """What the words of an option say; a switch turns its setting into what it is not by default."""
    return not setting.default if setting.kind == "flag" else setting.read(text)


def group(line: str, **commands: Callable[..., Any] | typer.Typer) -> typer.Typer:
    """Return commands, or groups of them, under one name, with a line of help."""
    typer_group = typer.Typer(
        help=line,
        no_args_is_help=True,
        add_completion=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        pretty_exceptions_enable=False,  # its tracebacks print local variables, and those hold records
    )
    typer_group.callback()(lambda: None)  # a group, even of one command
    for name, option in commands.items():
        spelling = name.replace("_", "-")
        if isinstance(option, typer.Typer):
            typer_group.add_typer(option, name=spelling)
        else:
            typer_group.command(spelling, cls=Command)(command(option))
    return typer_group


class Command(TyperCommand):
    """A command whose help lists what is registered, in panels, and whose options may stand in a file."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options in the order of the help page: arguments as they come, then options by panels."""
        parameters: list[Any] = super().get_params(ctx)
        for option in parameters:
            if option.name == "help":
                option.rich_help_panel = BASIC
        return sorted(parameters, key=_order)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line, those of its file of options before them."""
        self._check_lists(args)
        return super().parse_args(ctx, with_config(self.params, args))

    def _check_lists(self, text: Sequence[str]) -> None:
        """Raise where a list of names has blanks in the place of commas."""
        lists = {
            spelling
            for name, setting in self._settings.items()
            for option in self.params
            for spelling in option.opts
            if option.name == name and setting.kind == "names" and not setting.option.argument
        }
        for option, first, second in zip(text, text[1:], text[2:], strict=False):
            if option in lists and _is_name(second):
                raise InputError(
                    f"{option} takes one list, with commas and no blanks between its names. Got '{second}' after a blank: use {option} {first.rstrip(',')},{second.lstrip(',')}."
                )

    @property
    def _settings(self) -> dict[str, Setting]:
        return getattr(self.callback, "settings", {})

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and write its options to a file where that is asked for and it came to an end."""
        with overwriting(ctx.params.get("overwrite", False)):
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        path = ctx.params.get("save_config")
        check_outputs(None, path)
        try:
            result = super().invoke(ctx)
        except KeyboardInterrupt:  # here, since typer ends on it without a word
            echo(stopped_message(), err=True)
            raise Exit(130) from None
        except Exit as end:
            if path is not None and end.exit_code in (0, 1):
                self._save(path, ctx.params)
            raise
        if path is not None:
            self._save(path, ctx.params)
        return result

    def _save(self, path: Path, values: dict[str, Any]) -> None:
        """Write the options that were given, by their names, for the owner alone: no argument, nothing that was left as it is."""
        lines = ["# Options of chaffinch, for --config. What the command line says wins."]
        for option in self.params:
            value: Any = values.get(option.name)
            unchanged = value in (None, [], ()) or value == option.default
            if option.param_type_name != "option" or option.name in OWN or unchanged:
                continue
            setting = self._settings.get(option.name)
            if (
                setting is not None
                and setting.kind in ("whole", "number")
                and setting.option.read is None
            ):
                value = setting.read(value)
            lines.append(f"{_name(option)} = {toml_value(value)}")
        write_text(path, "\n".join(lines) + "\n", mode=0o600)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, its placeholders filled; what is not basic is left out unless all is asked for."""
        holders: list[Any] = [self, *self.params]
        before = [(holder, holder.help, holder.hidden) for holder in holders]
        try:
            for holder in holders:
                holder.help = fill_placeholders(holder.help or "")
            self._hide(everything=ctx.meta.get("all", False))
            super().format_help(ctx, formatter)
        finally:
            for holder, text, hidden in before:
                holder.help, holder.hidden = text, hidden

    def _hide(self, *, everything: bool) -> None:
        parameters: list[Any] = self.params
        options = [option for option in parameters if option.param_type_name == "option"]
        more = [option for option in options if option.rich_help_panel != BASIC]
        self.epilog = None
        if everything or len(options) <= ALL_SHOWN + len(COMMON):
            return
        for option in more:
            option.hidden = True
        self.epilog = f"--help-all shows {len(more)} more options."


def _is_name(word: str) -> bool:
    """Whether a word is more likely a column's name than a file or an option."""
    return re.fullmatch(r"[^-./:=\\][^./:=\\]{0,99}", word) is not None and not Path(word).exists()


def _order(parameter: Any) -> tuple[int, int]:
    if parameter.param_type_name == "argument":
        return 0, 0
    if parameter.name in ("help", "help_all"):
        return 1, 1
    panel = parameter.rich_help_panel
    return 1, 2 * PANELS.index(panel) if panel in PANELS else 0


def with_config(parameters: Sequence[Any], text: Sequence[str]) -> list[str]:
    """Return the words of a command line with those that its file of options adds before them; the same words without a file.

    Raises
    ------
    InputError
        If the file is absent or no TOML, names an option that the command has not, or gives it a value of another kind.
    """
    path = _path_in(text)
    if path is None:
        return list(text)
    options = {
        _name(option): option
        for option in parameters
        if option.param_type_name == "option" and option.name not in OWN
    }
    added: list[str] = []
    next_step = "Write one with --save-config FILE."
    written = read_toml(path, what="file of options", max_bytes=MOST, next_step=next_step)
    for key, value in written.items():
        name = key.replace("_", "-")
        check_name(f"option in '{path}'", name, options)
        if not any(
            _gives_option(option, word)
            for option in (*options[name].opts, *options[name].secondary_opts)
            for word in text
        ):
            added += _text(options[name], name, value, path)
    return [*added, *text]


def _path_in(text: Sequence[str]) -> Path | None:
    for number, word in enumerate(text):
        if word == "--":
            return None
        if word == "--config":
            return (
                Path(text[number + 1]) if number + 1 < len(text) else None
            )  # the parser says what is wrong
        if word.startswith("--config="):
            return Path(word.partition("=")[2])
    return None


def _name(option: Any) -> str:
    """The name of an option: its longest spelling without dashes."""
    return str(max(option.opts, key=len)).lstrip("-")


def _gives_option(option: str, word: str) -> bool:
    """Whether a word of the command line gives an option, with its value or not."""
    return (
        word == option
        or word.startswith(f"{option}=")
        or (not option.startswith("--") and word.startswith(option) and not word.startswith("--"))
    )


def _text(option: Any, name: str, value: Any, path: Path) -> list[str]:
    """The words that give an option its value on a command line."""
    spelling = f"--{name}"
    if option.is_flag:
        if not isinstance(value, bool):
            raise InputError(
                f"Option '{name}' in '{path}' must be true or false. Got {_kind(value)}."
            )
        return [spelling] if value else []
    values = value if isinstance(value, list) else [value]
    if any(isinstance(option, bool | dict | list) for option in values):
        raise InputError(
            f"Option '{name}' in '{path}' must be a text, a number, or a list of them. Got {_kind(value)}."
        )
    texts = [str(option) for option in values]
    if getattr(option, "multiple", False):
        return [f"{spelling}={text}" for text in texts]
    return [f"{spelling}={','.join(texts)}"]


def _kind(value: Any) -> str:
    return {bool: "true or false", dict: "a table", list: "a list"}.get(type(value), f"{value!r}")
