"""A synthesiser in one line, as `bayesnet:parents=2,epsilon=1`: the names of --method, and of the API's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from .._base.errors import InputError, unknown_name

if TYPE_CHECKING:
    from ..synth import BayesNet, FieldGroups, Independent, PrivBayes

__all__ = ["synthesiser_of"]

METHODS = ("bayesnet", "independent", "privbayes", "fieldgroups")
NOT_IN_A_LINE = ("network", "evolution")
"""Arguments that are objects: a network is for Python, and the fields of an evolution have names of their own here."""
EXAMPLE = "Write it as bayesnet:parents=2,epsilon=1."


def synthesiser_of(spec: str) -> BayesNet | PrivBayes | FieldGroups | Independent:
    """Return the settings that a line says: NAME, NAME:SETTING=VALUE,... or privbayes:VARIANT:SETTING=VALUE,...

    Values are whole numbers, numbers, words, true or false, columns as A+B, edges as PARENT:CHILD+PARENT:CHILD, and groups as A+B;C+D.
    What a value may be comes from the argument's own type. Columns whose names hold one of , + ; : cannot be named in a line.

    Examples
    --------
    >>> synthesiser_of("bayesnet:parents=2,sensitive=a+b").sensitive
    ('a', 'b')
    >>> synthesiser_of("privbayes:dpart:epsilon=1").variant
    'dpart'
    """
    from ..synth import BayesNet, Evolution, FieldGroups, Independent, PrivBayes

    name, _, rest = spec.strip().partition(":")
    kinds: dict[str, Any] = dict(zip(METHODS, (BayesNet, Independent, PrivBayes, FieldGroups), strict=True))
    if name not in kinds:
        if not name:
            raise InputError(f"A synthesiser is missing. {EXAMPLE}")
        raise unknown_name("method", name, METHODS)
    given: list[tuple[str, str]] = []
    first, _, after = rest.partition(":")
    if name == "privbayes" and first and "=" not in first:
        given.append(("variant", first.strip()))
        rest = after
    given += [_pair(part, spec) for part in rest.split(",") if part.strip()]
    kind = kinds[name]
    hints = {key: hint for key, hint in get_type_hints(kind).items() if key not in NOT_IN_A_LINE}
    known = [field.name for field in fields(kind) if field.name in hints] if hints else []
    evolved = get_type_hints(Evolution) if name == "bayesnet" else {}
    settings: dict[str, Any] = {}
    evolution: dict[str, Any] = {}
    for key, word in given:
        if key in settings or key in evolution:
            raise InputError(f"Setting '{key}' is there twice in '{spec}'. Say it once.")
        if key in known:
            settings[key] = _value(key, word, hints[key])
        elif key in evolved:
            evolution[key] = _value(key, word, evolved[key])
        elif not known:
            raise InputError(f"'{name}' has no settings. Got '{key}': leave it out.")
        else:
            raise unknown_name(f"{name} setting", key, [*known, *evolved])
    if evolution:
        settings["evolution"] = Evolution(**evolution)
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING] if known else []
    for key in needed:
        if key not in settings:
            raise InputError(f"'{name}' is a private method and needs {key}: write it as {name}:{key}=1.")
    made: BayesNet | PrivBayes | FieldGroups | Independent = kind(**settings)
    return made


def _pair(part: str, spec: str) -> tuple[str, str]:
    key, equals, word = part.partition("=")
    if not (key.strip() and equals and word.strip()):
        raise InputError(f"Settings of a synthesiser are written SETTING=VALUE. Got '{part.strip()}' in '{spec}'.")
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
        raise InputError(f"{key} takes edges as PARENT:CHILD, several with + between them. Got '{word}'.")
    return parent, child
