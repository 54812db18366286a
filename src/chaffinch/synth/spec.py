"""A synthesiser in one line, as `bayesnet:parents=2,epsilon=1`: the names of --method, and of the API's arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .._base.errors import InputError, unknown_name
from .settings import SYNTHESISERS, Settings

EXAMPLE = "Write it as bayesnet:parents=2,epsilon=1."


def synthesiser_of(spec: str) -> Settings:
    """Return the settings that a line says: NAME, NAME:SETTING=VALUE,... or NAME:VARIANT:SETTING=VALUE,...

    Values are whole numbers, numbers, words, true or false, columns as A+B, edges as PARENT:CHILD+PARENT:CHILD, and groups as A+B;C+D.
    What a value may be comes from the argument's own type. Columns whose names hold one of , + ; : cannot be named in a line.

    Examples
    --------
    >>> synthesiser_of("bayesnet:parents=2,sensitive=a+b").sensitive
    ('a', 'b')
    >>> synthesiser_of("privbayes:dpart:epsilon=1").variant
    'dpart'
    """
    name, _, rest = spec.strip().partition(":")
    if not name:
        raise InputError(f"A synthesiser is missing. {EXAMPLE}")
    kind = SYNTHESISERS[name]
    variant: list[tuple[str, str]] = []
    first, _, after = rest.partition(":")
    if "variant" in kind.setting_names() and first and "=" not in first:
        variant.append(("variant", first.strip()))
        rest = after
    settings = settings_of(kind, [*variant, *pairs_of(rest, spec)], spec)
    for field in fields(kind):  # type: ignore[arg-type]
        if (
            field.name not in settings
            and field.default is MISSING
            and field.default_factory is MISSING
        ):
            raise InputError(
                f"'{name}' is a private method and needs {field.name}: write it as {name}:{field.name}=1."
            )
    return kind(**settings)


def pairs_of(words: str, spec: str) -> list[tuple[str, str]]:
    """Return SETTING=VALUE,SETTING=VALUE as pairs of words."""
    return [_pair(part, spec) for part in words.split(",") if part.strip()]


def settings_of(
    kind: type[Settings], pairs: Iterable[tuple[str, str]], spec: str
) -> dict[str, Any]:
    """Return the arguments that pairs of words say, each as its type asks for.

    A setting that is itself a group of settings (`evolution`) is said by their names; other objects are for Python.
    """
    hints = {
        name: hint for name, hint in get_type_hints(kind).items() if name in kind.setting_names()
    }
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    plain = {
        name: hint
        for name, hint in hints.items()
        if not any(map(is_dataclass, (hint, *get_args(hint))))
    }
    nested = {key: name for name, group in groups.items() for key in get_type_hints(group)}
    settings: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for key, word in pairs:
        if key in settings or key in parts.get(nested.get(key, ""), {}):
            raise InputError(f"Setting '{key}' is there twice in '{spec}'. Say it once.")
        if key in plain:
            settings[key] = _value(key, word, plain[key])
        elif key in nested:
            parts.setdefault(nested[key], {})[key] = _value(
                key, word, get_type_hints(groups[nested[key]])[key]
            )
        elif not plain:
            raise InputError(f"'{kind.name}' has no settings. Got '{key}': leave it out.")
        else:
            raise unknown_name(f"{kind.name} setting", key, [*plain, *nested])
    return settings | {name: groups[name](**words) for name, words in parts.items()}


def _pair(part: str, spec: str) -> tuple[str, str]:
    key, equals, word = part.partition("=")
    if not (key.strip() and equals and word.strip()):
        raise InputError(
            f"Settings of a synthesiser are written SETTING=VALUE. Got '{part.strip()}' in '{spec}'."
        )
    return key.strip(), word.strip()


def _value(key: str, word: str, hint: Any) -> Any:
    """Return a word as what the argument's type asks for."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = [one for one in get_args(hint) if one is not NoneType]
    if get_origin(hint) is Literal:
        if word not in get_args(hint):
            raise unknown_name(key, word, get_args(hint))
        return word
    if hint is bool:
        if word not in ("true", "false"):
            raise InputError(f"{key} is true or false. Got '{word}'.")
        return word == "true"
    if hint in (int, float):
        try:
            return hint(word)
        except ValueError:
            what = "a whole number" if hint is int else "a number"
            raise InputError(f"{key} must be {what}. Got '{word}'.") from None
    if get_origin(hint) in (tuple, Sequence):
        inner = get_args(hint)[0]
        if get_origin(inner) is Sequence:
            return tuple(_names(group) for group in word.split(";") if _names(group))
        if get_origin(inner) is tuple:
            return tuple(_edge(key, edge) for edge in _names(word))
        return _names(word)
    return word


def _names(word: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in word.split("+") if name.strip())


def _edge(key: str, word: str) -> tuple[str, str]:
    parent, colon, child = word.partition(":")
    if not (parent and colon and child):
        raise InputError(
            f"{key} takes edges as PARENT:CHILD, several with + between them. Got '{word}'."
        )
    return parent, child
