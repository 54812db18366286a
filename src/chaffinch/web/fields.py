"""Fields of forms, made from the declared options of commands: name, help, unit, range and default are the option's, and so are the words of an error.

What a form gives is kept as texts NAME=TEXT, and put into the words of the command. Options that name files are none of a form: other screens ask for files, within the folders that were opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .._base.checks import check_name
from .._base.options import FILES, PANELS, Setting

if TYPE_CHECKING:
    from .page import SentForm

SCREENS = (
    "label",
    "keys",
    "sensitive",
    "person",
    "order",
    "weight",
    "personal",
    "holdout",
    "max_excess",
    "attackers",
    "thorough",
    "epsilon",
    "delta",
    "discover",
    "require",
    "forbid",
    "seed",
    "quiet",
    "verbose",
    "dry_run",
    "rules_only",
)
"""Options that other screens ask for, or that are of a terminal."""


@cache
def fields_of(name: str) -> dict[str, Setting]:
    """Return the options of the command `release` or `check` that a form asks for, in the order of their panels."""
    from ..cli.check import check
    from ..cli.command import command
    from ..cli.release import release

    functions: dict[str, Callable[..., Any]] = {"release": release, "check": check}
    declared = command(functions[name]).settings  # type: ignore[attr-defined]
    settings = [
        setting
        for setting in declared.values()
        if setting.name not in SCREENS
        and setting.kind not in ("path", "paths")
        and setting.option.panel != FILES
        and setting.option.metavar != "PATH"
        and not setting.option.argument
    ]
    panels = sorted(settings, key=lambda setting: PANELS.index(setting.option.panel))
    return {setting.name: setting for setting in panels}


def label_of(setting: Setting) -> str:
    """Return the name of an option as a form shows it, with what its number counts."""
    label = setting.name.replace("_", " ").capitalize()
    return f"{label} ({setting.option.unit})" if setting.option.unit else label


def hint_of(setting: Setting) -> str:
    """Return what an option sets, its default and its range."""
    from ..cli.command import fill_placeholders

    text = fill_placeholders(setting.help)
    if setting.kind not in ("whole", "number") or setting.option.read is not None:
        return text
    limits = setting.rule.removeprefix("must be ").removeprefix("must ")
    return f"{text} {limits.capitalize()}."


def value_in(setting: Setting, text: str) -> Any:
    """Return the value that a field holds, the default where it is empty; raise in the option's words where it breaks the rule."""
    if not text:
        return setting.default
    if setting.kind == "flag":
        return not setting.default
    if setting.kind == "number":  # 0,5 as many write it; in a whole number 10,000 is no ten
        text = text.replace(",", ".")
    return setting.check(setting.read(text))


def sent_options(form: SentForm, settings: dict[str, Setting]) -> tuple[str, ...]:
    """Return the options that a form gives, as texts NAME=TEXT."""
    texts = {name: form.word(name) for name in settings}
    for name, setting in settings.items():
        value_in(setting, texts[name])
    return tuple(f"{name}={text}" for name, text in texts.items() if text)


def texts_of(options: Sequence[str]) -> dict[str, str]:
    """Return the texts of options by their names."""
    return {name: text for name, _, text in (option.partition("=") for option in options)}


def option_words(command: str, options: Sequence[str]) -> list[str]:
    """Return options as words of a command; raise for one that no form asks for, as in a project that somebody else wrote."""
    settings, arguments = fields_of(command), []
    for name, text in texts_of(options).items():
        check_name("option", name, settings)
        value = value_in(settings[name], text)
        if settings[name].kind == "flag":
            arguments.append(settings[name].spelling)
        elif value is not None:
            for word in settings[name].write(value):
                spelling = settings[name].spelling
                # A text such as "--config=..." stays the value of its option.
                arguments += [f"{spelling}={word}"] if word.startswith("-") else [spelling, word]
    return arguments
