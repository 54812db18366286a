"""Options in a file: `--config run.toml` reads them, `--save-config run.toml` writes those of a run.

A file holds names of options and their values, as they are typed without the dashes:

    label = "income"
    keys = ["age", "sex"]
    thorough = true

What the command line says wins over the file.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .._base.checks import check_name
from .._base.documents import read_toml, toml_value
from .._base.errors import InputError

ConfigIn = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Options from a TOML file, by their names; what the command line says wins.",
    ),
]
ConfigOut = Annotated[
    Path | None,
    typer.Option(
        "--save-config",
        help="Write the options of this run to a TOML file for --config, when it is done.",
    ),
]
OverwriteIn = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace output files that exist. Never what a privacy budget was spent on.",
    ),
]
MOST = 1 << 20
"""Bytes that a file of options may have."""
OWN = ("config", "save_config", "overwrite", "help")
"""Options that are not in a file."""


def configurable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that has the options `--config` and `--save-config` too; `RegistryCommand` reads and writes the files."""
    return _with_options(command, config=(ConfigIn, None), save_config=(ConfigOut, None))


def overwritable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that has the option `--overwrite` too, by which `RegistryCommand` lets it replace files."""
    return _with_options(command, overwrite=(OverwriteIn, False))


def _with_options(command: Callable[..., Any], **options: tuple[Any, Any]) -> Callable[..., Any]:
    """The command with more options, each an annotation and a default, of which it hears nothing."""
    own = inspect.signature(command, eval_str=True)
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    merged = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own.parameters.values()
    ] + extra

    @functools.wraps(command)
    def with_more(**given: Any) -> Any:
        return command(**{name: value for name, value in given.items() if name not in options})

    with_more.__signature__ = own.replace(parameters=merged)  # type: ignore[attr-defined]
    with_more.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
    del with_more.__wrapped__
    return with_more


def with_config(parameters: Sequence[Any], words: Sequence[str]) -> list[str]:
    """Return the words of a command line with those that its file of options adds before them; the same words without a file.

    Raises
    ------
    InputError
        If the file is absent or no TOML, names an option that the command has not, or gives it a value of another kind.
    """
    path = _path_in(words)
    if path is None:
        return list(words)
    options = {
        _name(one): one
        for one in parameters
        if one.param_type_name == "option" and one.name not in OWN
    }
    added: list[str] = []
    next_step = "Write one with --save-config FILE."
    written = read_toml(path, what="file of options", max_bytes=MOST, next_step=next_step)
    for key, value in written.items():
        name = key.replace("_", "-")
        check_name(f"option in '{path}'", name, options)
        if not any(
            _spelled(option, word)
            for option in (*options[name].opts, *options[name].secondary_opts)
            for word in words
        ):
            added += _words(options[name], name, value, path)
    return [*added, *words]


def save_config(path: Path, parameters: Sequence[Any], values: dict[str, Any]) -> None:
    """Write the options that were given, by their names, for the owner alone: no argument, nothing that was left as it is."""
    from .._base.files import write_text

    lines = ["# Options of chaffinch, for --config. What the command line says wins."]
    for one in parameters:
        value = values.get(one.name)
        if (
            one.param_type_name != "option"
            or one.name in OWN
            or value in (None, [], ())
            or value == one.default
        ):
            continue
        lines.append(f"{_name(one)} = {toml_value(value)}")
    write_text(path, "\n".join(lines) + "\n", mode=0o600)


def _path_in(words: Sequence[str]) -> Path | None:
    for number, word in enumerate(words):
        if word == "--":
            return None
        if word == "--config":
            return (
                Path(words[number + 1]) if number + 1 < len(words) else None
            )  # the parser says what is wrong
        if word.startswith("--config="):
            return Path(word.partition("=")[2])
    return None


def _name(option: Any) -> str:
    """The name of an option: its longest spelling without dashes."""
    return str(max(option.opts, key=len)).lstrip("-")


def _spelled(option: str, word: str) -> bool:
    """Whether a word of the command line gives an option, with its value or not."""
    return (
        word == option
        or word.startswith(f"{option}=")
        or (not option.startswith("--") and word.startswith(option) and not word.startswith("--"))
    )


def _words(option: Any, name: str, value: Any, path: Path) -> list[str]:
    """The words that give an option its value on a command line."""
    spelling = f"--{name}"
    if option.is_flag:
        if not isinstance(value, bool):
            raise InputError(
                f"Option '{name}' in '{path}' must be true or false. Got {_kind(value)}."
            )
        return [spelling] if value else []
    values = value if isinstance(value, list) else [value]
    if any(isinstance(one, bool | dict | list) for one in values):
        raise InputError(
            f"Option '{name}' in '{path}' must be a text, a number, or a list of them. Got {_kind(value)}."
        )
    texts = [str(one) for one in values]
    if getattr(option, "multiple", False):
        return [f"{spelling}={text}" for text in texts]
    return [f"{spelling}={','.join(texts)}"]


def _kind(value: Any) -> str:
    return {bool: "true or false", dict: "a table", list: "a list"}.get(type(value), f"{value!r}")
