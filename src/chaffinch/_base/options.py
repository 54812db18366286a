"""Settings that are declared once: a field of a frozen class says its name, type, default, help, range and panel, and everything else is read from it.

    @dataclass(frozen=True, kw_only=True)
    class Search(Declared):
        parents: Annotated[int, Option("The most parents of a column.", basic=True, ge=1)] = 3

From that come the option `--parents` of a command and of its file of options, the keyword of the Python function, the field of a form, the line in the
docs, and the check that a value is one when settings are made. Groups nest: a field whose type is declared itself lends its options to the whole, and
options of one name are one option.
"""

from __future__ import annotations

import builtins
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from math import inf
from numbers import Number
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from .checks import check_name
from .errors import InputError

BASIC, LEARN, MEASURE, PRIVACY, FILES, RUN, ADVANCED = (
    "Basic",
    "What to learn",
    "What to measure",
    "Privacy",
    "Files",
    "How to run",
    "Advanced",
)
PANELS = (BASIC, LEARN, MEASURE, PRIVACY, FILES, RUN, ADVANCED)
"""What options are about, in the order of a help page."""

F = TypeVar("F", bound=Callable[..., Any])

Kind = Literal[
    "flag",
    "whole",
    "number",
    "word",
    "names",
    "pairs",
    "groups",
    "sizes",
    "map",
    "path",
    "paths",
]
"""What a value is: `names` are written A,B; `pairs` PARENT:CHILD; `groups` A,B;C,D; `sizes` 3-6; a `map` COLUMN=VALUE, again and again."""


@dataclass(frozen=True)
class Option:
    """What is said of a setting beside its name, type and default.

    Parameters
    ----------
    help
        One line, with {placeholders} for lists that are registered.
    basic
        Whether `--help` shows it.
    panel
        What it is about.
    ge, gt, le, lt
        The range of a number.
    argument
        Whether a command line takes it by its place, without a name.
    short
        One letter for the command line, as "o".
    default
        The default in words, where the value does not say it.
    unit
        What a number counts or measures, as "seconds".
    leaves
        Whether the value may be shown in what leaves; not paths, nor what would tell how noise was drawn.
    metavar
        What stands for the value in help.
    flag
        The spelling of a switch that turns a setting off, as "--no-cumulative"; or another name on the command line.
    repeated
        Whether a command line may give a list name by name, again and again.
    known
        The names that a word, or each of a list, may be, where they are registered and not in the type.
    read
        Returns the value that words of a command line say, where its type does not tell.
    write
        Returns the words of a value, the other way round.
    """

    help: str
    basic: bool = False
    panel: str = ADVANCED
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    argument: bool = False
    short: str = ""
    default: str = ""
    unit: str = ""
    leaves: bool = True
    metavar: str = ""
    flag: str = ""
    repeated: bool = False
    known: Callable[[], Sequence[str]] | None = None
    read: Callable[[str], Any] | None = None
    write: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Setting:
    """An option with the name, type and default of its field; `path`: the groups it stands in."""

    name: str
    option: Option
    hint: Any
    default: Any
    path: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of values: that of the command line first, those of objects in Python after it."""
        is_union = get_origin(self.hint) in (Union, UnionType)
        return get_args(self.hint) if is_union else (self.hint,)

    @property
    def type(self) -> Any:
        """The type without None."""
        return next(entry for entry in self.types if entry is not NoneType)

    @property
    def optional(self) -> bool:
        """Whether None is a value."""
        return NoneType in self.types

    @property
    def kind(self) -> Kind:
        """What a value is."""
        return _kind(self.type)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that a value may be; empty where any word may stand."""
        type_ = get_args(self.type)[0] if self.kind == "names" else self.type
        if get_origin(type_) is Literal:
            return get_args(type_)
        return tuple(self.option.known()) if self.option.known is not None else ()

    @property
    def repeated(self) -> bool:
        """Whether a command line gives it again and again, one value each."""
        is_list = self.option.argument and self.kind == "names"
        return is_list or self.option.repeated or self.kind in ("pairs", "map", "paths")

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is MISSING

    @property
    def spelling(self) -> str:
        """The option on a command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        option = self.option
        low, high = _first(option.ge, option.gt), _first(option.le, option.lt)
        if option.gt is not None and option.le is not None:
            return f"must be above {option.gt:,} and at most {option.le:,}"
        if low is not None and high is not None:
            return f"must lie between {low:,} and {high:,}"
        end = (
            f" of at least {option.ge:,}"
            if option.ge is not None
            else f" above {option.gt:,}"
            if option.gt is not None
            else f" of at most {high:,}"
            if high is not None
            else ""
        )
        return f"must be {RULES[self.kind]}{end}"

    def fault(self, got: Any) -> InputError:
        """Return the error that says what the setting must be."""
        return InputError(f"{self.name} {self.rule}. Got {value_text(got)}.")

    def check(self, value: Any) -> Any:
        """Return a value as the setting holds it, lists as tuples; raise where it breaks the rule.

        Examples
        --------
        >>> Setting("epsilon", Option("", gt=0), float | None, None).check("abc")
        Traceback (most recent call last):
        chaffinch._base.errors.InputError: epsilon must be a number above 0. Got 'abc'.
        """
        if value is None and self.optional:
            return None
        if self.option.read is not None and isinstance(value, str) and self.kind != "word":
            value = self.option.read(value)
        if not self._is_instance(value):
            raise self.fault(value)
        check = _CHECKS.get(self.kind)
        return value if check is None else check(self, value)

    def _is_instance(self, value: Any) -> bool:
        """Whether a value is of the class that a kind alone says; other objects than the command line's, where they are values too, are any."""
        is_sole = [entry for entry in self.types if entry is not NoneType] == [self.type]
        if not is_sole or (self.kind == "word" and self.type is not str):
            return True
        return isinstance(value, CLASSES.get(self.kind, object))

    def read(self, text: str | Sequence[str]) -> Any:
        """Return the value that words of a command line say.

        Examples
        --------
        >>> Setting("keys", Option(""), tuple[str, ...], ()).read("age, sex")
        ('age', 'sex')
        >>> Setting("key_sizes", Option(""), tuple[int, int] | None, None).read("3-6")
        (3, 6)
        >>> Setting("require", Option(""), tuple[tuple[str, str], ...], ()).read(["a:b"])
        (('a', 'b'),)
        """
        reader = self.option.read
        if isinstance(text, str):
            return _READ[self.kind](self, text) if reader is None else reader(text)
        if reader is None and self.kind == "names":
            return tuple(text)
        entries = [_entry(self, word) if reader is None else reader(word) for word in text]
        return _mapping(self, entries) if self.kind == "map" else tuple(entries)

    def write(self, value: Any) -> list[str]:
        """Return the words by which a command line would say a value, the other way round."""
        if self.option.write is not None:
            return [self.option.write(value)]
        if self.kind == "map":
            return [f"{key}={_plain(section)}" for key, section in value.items()]
        if self.kind == "pairs":
            return [":".join(pair) for pair in value]
        if self.kind == "groups":
            return [";".join(",".join(group) for group in value)]
        if self.kind == "sizes":
            return ["-".join(map(str, dict.fromkeys(value)))]
        if self.kind in ("names", "paths"):
            return [",".join(map(str, value))]
        return [_plain(value)]

    @property
    def help(self) -> str:
        """What it sets, with its default."""
        default = self.default_words
        return f"{self.option.help} Default: {default}." if default else self.option.help

    @property
    def default_words(self) -> str:
        """The default as help and docs say it; empty where there is none to tell."""
        if self.option.default:
            return self.option.default
        is_switch = self.default is None or isinstance(self.default, bool)
        if self.required or is_switch or self.default in ((), {}):
            return ""
        return " ".join(self.write(self.default))


CLASSES: dict[str, Any] = {
    "flag": bool,
    "word": str,
    "pairs": list | tuple,
    "groups": list | tuple,
    "sizes": list | tuple,
    "map": Mapping,
    "path": str | PathLike,
}
"""What values are in Python, where a kind alone says it."""

RULES: dict[str, str] = {
    "flag": "true or false",
    "whole": "a whole number",
    "number": "a number",
    "word": "a word",
    "names": "a list of names, as A,B",
    "pairs": "a pair PARENT:CHILD",
    "groups": "lists of names, as A,B;C,D",
    "sizes": "a size or a range, as 4 or 3-6",
    "map": "COLUMN=VALUE",
    "path": "a path",
    "paths": "paths",
}


def value_text(value: Any) -> str:
    """Return a value as somebody typed it, and of anything larger its kind alone: it may hold records.

    Examples
    --------
    >>> value_text("abc"), value_text(["age", 3]), value_text(list("abcdefgh"))
    ("'abc'", "['age', 3]", 'list of 8')
    """
    if isinstance(value, list | tuple):
        is_short = len(value) <= MAX_TYPED and all(
            not isinstance(entry, list | tuple) or len(entry) <= MAX_TYPED for entry in value
        )
        plain = (
            [
                entry
                for group in value
                for entry in (group if isinstance(group, list | tuple) else [group])
            ]
            if is_short
            else []
        )
        if not is_short or not all(isinstance(entry, TYPED) for entry in plain):
            return f"{type(value).__name__} of {len(value):,}"
    elif not isinstance(value, TYPED):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


MAX_TYPED, MAX_TEXT = 4, 80
TYPED = (str, Number, NoneType, Path)


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).removesuffix(".0")


def _kind(type_: Any) -> Kind:
    origin, inside = get_origin(type_), get_args(type_)
    if origin is Literal or type_ is str:
        return "word"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "map"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        if inside[0] is int:
            return "sizes"
        if inside[0] is Path:
            return "paths"
        if get_origin(inside[0]) is tuple and get_args(inside[0])[1:] != (...,):
            return "pairs"
        if get_origin(inside[0]) in (Union, UnionType):
            return "word"
        return "names" if inside[0] is str or get_origin(inside[0]) is Literal else "groups"
    return {bool: "flag", int: "whole", float: "number", Path: "path"}.get(type_, "word")  # type: ignore[return-value]


def _names_in(_setting: Setting, text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _number_in(setting: Setting, text: str) -> Any:
    """A number: digits, or a power of ten as 1e9 where it is whole."""
    try:
        number = float(text)
        if setting.kind == "number":
            return number
        return int(text) if text.strip().lstrip("+-").isdigit() else _as_whole(number)
    except ValueError:
        raise setting.fault(text) from None


def _as_whole(number: float) -> int:
    if not number.is_integer() or abs(number) > 1e15:
        raise ValueError(number)
    return int(number)


def _sizes_in(setting: Setting, text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise setting.fault(text) from None


def _flag_in(setting: Setting, text: str) -> bool:
    if text not in ("true", "false"):
        raise setting.fault(text)
    return text == "true"


def _entry(setting: Setting, word: str) -> tuple[str, Any]:
    """One entry of what is given again and again: a pair, or a key with its value."""
    if setting.kind == "pairs":
        first, sign, second = word.partition(":")
    else:
        first, sign, second = word.rpartition("=")
    if not (first and sign and second):
        raise setting.fault(word)
    if setting.kind != "map" or get_args(setting.type)[1] is not float:
        return first, second
    try:
        return first, float(second)
    except ValueError:
        raise setting.fault(word) from None


def _mapping(setting: Setting, entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in entries:
        if values.get(name, value) != value:
            raise InputError(f"{setting.name} says two things of '{name}'. Say one.")
        values[name] = value
    return values


_READ: dict[str, Callable[[Setting, str], Any]] = {
    "flag": _flag_in,
    "whole": _number_in,
    "number": _number_in,
    "word": lambda _, text: text,
    "names": _names_in,
    "pairs": lambda setting, text: tuple(_entry(setting, word) for word in text.split(",")),
    "groups": lambda setting, text: tuple(
        names for section in text.split(";") if (names := _names_in(setting, section))
    ),
    "sizes": _sizes_in,
    "map": lambda setting, text: dict(_entry(setting, word) for word in text.split(",")),
    "path": lambda _, text: Path(text),
    "paths": lambda _, text: (Path(text),),
}


def _check_number(setting: Setting, value: Any) -> Any:
    option, is_number = setting.option, setting.kind == "number"
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    is_real = isinstance(value, float) or (
        hasattr(value, "__float__") and not isinstance(value, bool | str)
    )
    fits = (
        (is_whole or (is_number and is_real))
        and abs(value) < inf
        and (option.ge is None or value >= option.ge)
        and (option.gt is None or value > option.gt)
        and (option.le is None or value <= option.le)
        and (option.lt is None or value < option.lt)
    )
    if not fits:
        raise setting.fault(value)
    return value


def _check_word(setting: Setting, value: Any) -> Any:
    if setting.choices:
        if not isinstance(value, str) and len(setting.types) - setting.optional == 1:
            raise setting.fault(value)
        check_name(setting.name.replace("_", " "), value, setting.choices)
    return value


def _check_names(setting: Setting, value: Any) -> Any:
    if isinstance(value, Mapping) and any(get_origin(kind) is Mapping for kind in setting.types):
        return value
    names = _as_names(setting, value)
    for name in names if setting.choices else ():
        check_name(setting.name.removesuffix("s").replace("_", " "), name, setting.choices)
    return names


def _as_names(setting: Setting, value: Any) -> tuple[str, ...]:
    is_list = not isinstance(value, str) and isinstance(value, Sequence)
    if not is_list or not all(isinstance(name, str) for name in value):
        raise InputError(
            f"{setting.name} must be a list of names, as ['age', 'sex']. Got {value_text(value)}."
        )
    return value if isinstance(value, tuple) else tuple(value)


def _check_groups(setting: Setting, value: Any) -> Any:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or any(isinstance(group, str) for group in value):
        raise setting.fault(value)
    groups = tuple(_as_names(setting, group) for group in value)
    if setting.kind == "pairs" and any(len(group) != 2 for group in groups):
        raise setting.fault(value)
    return value if value == groups else groups


def _check_sizes(setting: Setting, value: Any) -> tuple[int, int]:
    if len(value) != 2 or not all(hasattr(size, "__index__") for size in value):
        raise setting.fault(value)
    return tuple(value)


_CHECKS: dict[str, Callable[[Setting, Any], Any]] = {
    "whole": _check_number,
    "number": _check_number,
    "word": _check_word,
    "names": _check_names,
    "pairs": _check_groups,
    "groups": _check_groups,
    "sizes": _check_sizes,
    "path": lambda _, value: Path(value) if isinstance(value, str) else value,
}
"""What is asked of a value of each kind beside its class; returns the value as a setting holds it."""


class _Names(dict[str, Any]):
    """The names of a module, for its annotations: what is there for type checkers alone is anything."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


@cache
def hints_of(cls: Any) -> dict[str, Any]:
    """Return the types of a class's fields, with what is annotated; those of heavy modules, which are not imported, are Any."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        names = _Names(vars(sys.modules[base.__module__]))
        signature = type(base.__name__, (), {"__annotations__": inspect.get_annotations(base)})
        hints |= get_type_hints(signature, localns=names, include_extras=True)
    return hints


def setting_of(name: str, hint: Any, default: Any, path: tuple[str, ...] = ()) -> Setting | None:
    """Return the setting that an annotation declares; None for what is no option."""
    options = [entry for entry in get_args(hint)[1:] if isinstance(entry, Option)]
    if get_origin(hint) is not Annotated or not options:
        return None
    return Setting(name, options[0], get_args(hint)[0], default, path)


def own_settings(cls: Any) -> dict[str, Setting]:
    """Return the settings that a class declares itself, not those of its groups."""
    return _own_settings(cls)


@cache
def _own_settings(cls: Any) -> dict[str, Setting]:
    hints = hints_of(cls)
    settings = (setting_of(entry.name, hints[entry.name], _default(entry)) for entry in fields(cls))
    return {entry.name: entry for entry in settings if entry is not None}


def groups_of(cls: Any) -> dict[str, type[Declared]]:
    """Return the fields of a class that are groups of settings, and their classes."""
    hints = hints_of(cls)
    return {
        entry.name: hints[entry.name]
        for entry in fields(cls)
        if isinstance(hints[entry.name], type) and issubclass(hints[entry.name], Declared)
    }


def settings_of(declared: Any) -> dict[str, Setting]:
    """Return every setting of a class by its name, those of groups too; a name that stands in several is one setting, of all of them.

    Of settings themselves the defaults are what they hold.
    """
    cls: Any = declared if isinstance(declared, type) else type(declared)
    settings = _settings_of(cls)
    if cls is declared:
        return settings
    return {
        name: replace(setting, default=_value_in(declared, setting))
        for name, setting in settings.items()
    }


@cache
def _settings_of(cls: Any) -> dict[str, Setting]:
    settings = dict(own_settings(cls))
    for name, group in groups_of(cls).items():
        instance = next((_default(entry) for entry in fields(cls) if entry.name == name), MISSING)
        for inner in settings_of(group).values():
            default = inner.default if instance is MISSING else _value_in(instance, inner)
            settings.setdefault(
                inner.name, replace(inner, path=(name, *inner.path), default=default)
            )
    return settings


def _value_in(settings: Any, setting: Setting) -> Any:
    for section in setting.path:
        settings = getattr(settings, section)
    return getattr(settings, setting.name)


def _default(entry: Any) -> Any:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


class Declared:
    """What declared settings share: they are checked when they are made. A `__post_init__` of a class calls this one first."""

    def __post_init__(self) -> None:
        for name, setting in own_settings(type(self)).items():
            value = getattr(self, name)
            checked = setting.check(value)
            if checked is not value:
                object.__setattr__(self, name, checked)

    @classmethod
    def from_options(cls, **given: Any) -> Self:
        """Return the settings that options amount to, each of every group that has it.

        Raises
        ------
        InputError
            If there is no option of a name, or a value breaks its rule.
        """
        for name in given:
            check_name("option", name, settings_of(cls))
        return _build(cls, given)

    def with_options(self, **given: Any) -> Self:
        """Return these settings with some options changed, each in every group that has it."""
        for name in given:
            check_name("option", name, settings_of(type(self)))
        return _build(type(self), given, self)

    @classmethod
    def chosen(cls, settings: Self | None, options: Mapping[str, Any]) -> Self:
        """Return the settings that a function was given: as a whole, or one by one."""
        if settings is None:
            return cls.from_options(**options)
        if options:
            raise InputError(
                f"Options are given in settings or one by one, not both. Got settings and {next(iter(options))}."
            )
        return settings

    def given(self) -> dict[str, Any]:
        """Return the settings that are not as they would be by default, as a record keeps them."""
        return {
            name: value
            for name, setting in settings_of(type(self)).items()
            if (value := _value_in(self, setting)) != setting.default
        }

    def option_texts(self) -> dict[str, str]:
        """Return the settings that were given and may leave, in the words of a command line."""
        settings = settings_of(type(self))
        return {
            name: " ".join(settings[name].write(value))
            for name, value in self.given().items()
            if settings[name].option.leaves
        }


def _build(cls: Any, given: Mapping[str, Any], instance: Any = MISSING) -> Any:
    """Settings of a class; a group begins with what its default is."""
    values = {name: given[name] for name in own_settings(cls) if name in given}
    for entry in fields(cls):
        group = groups_of(cls).get(entry.name)
        if group is not None:
            begun = _default(entry) if instance is MISSING else getattr(instance, entry.name)
            values[entry.name] = _build(group, given, begun)
    return cls(**values) if instance is MISSING else replace(instance, **values)


def takes(cls: type[Declared]) -> Callable[[F], F]:
    """Return a decorator by which a function with `**options` shows each option of a class in its signature and its docstring."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        parameters = [
            entry for entry in signature.parameters.values() if entry.kind is not entry.VAR_KEYWORD
        ]
        names = {entry.name for entry in parameters}
        settings = [entry for name, entry in settings_of(cls).items() if name not in names]
        keywords = [
            inspect.Parameter(
                setting.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if setting.required else setting.default,
                annotation=setting.hint,
            )
            for setting in settings
        ]
        function.__signature__ = signature.replace(parameters=[*parameters, *keywords])  # type: ignore[attr-defined]
        function.settings_class = cls  # type: ignore[attr-defined]
        if function.__doc__ is not None:
            function.__doc__ = with_parameters(inspect.cleandoc(function.__doc__), settings)
        return function

    return decorate


def with_parameters(docstring: str, settings: Sequence[Setting]) -> str:
    """Return a docstring whose section of parameters ends with settings; {placeholders} are named, not filled, since that would import what registers."""
    before, *after = re.split(r"\n\n(?=(?!Parameters\n)[A-Z][a-z]+\n---)", docstring, maxsplit=1)
    if "\nParameters\n---" not in before:
        before += "\n\nParameters\n----------"
    entries = (f"{setting.name}\n    {setting.help}" for setting in settings)
    listed = re.sub(r"\{(\w+)\}", r"the \1", "\n".join(entries))
    return "\n\n".join(["\n".join([before, listed]), *after])
