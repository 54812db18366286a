"""What every synthesiser is: frozen settings that register themselves, fit a model and build themselves from options.

Adding one is one file: a frozen dataclass of `Settings` with a `fit`, a `FittedModel` it returns, and
`SYNTHESISERS.register` on it. `--method`, `--help`, `chaffinch.load`, `release`, attacks and audits then find it by its name. `synthesiser_of` reads settings from one line, as
`bayesnet:parents=2,epsilon=1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, ClassVar, Literal, Self

from .._base.checks import check_name
from .._base.errors import InputError, join_names, unknown_name
from .._base.options import Declared, Option, Setting, hints_of, settings_of
from .._base.registry import Registry
from .._base.results import to_plain
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..privacy.advice import Expectation
from ..privacy.ledger import Budget, Charge, Plan, Step
from ..privacy.relation import PrivacyUnit
from ..privacy.settings import PrivacyGuarantee
from ..table.schema import Schema
from .model import FittedModel
from .options import Draw
from .protocol import Model

ROLES = ("label", "sensitive", "keep")
"""Settings of a method that a whole run takes too."""

EXAMPLE = "Write it as bayesnet:parents=2,epsilon=1."


class Settings(Declared):
    """What the settings of synthesisers share; frozen dataclasses inherit it (with `repr=False`, to keep its short one)."""

    name: ClassVar[str]
    """The name in `--method`."""
    sentence: ClassVar[str] = ""
    """What `--help` says of the method."""
    model: ClassVar[type[FittedModel]]
    """The class of its models, by whose `kind` a file finds it."""
    promise: ClassVar[Literal["never", "optional", "always"]] = "never"
    """Whether fits promise privacy; "optional": with an epsilon."""
    refused: ClassVar[tuple[str, ...]] = (
        "keep",
        "require",
        "forbid",
        "root",
    )
    """Options that contradict the method."""
    refusal: ClassVar[str] = "chooses its own network"
    """Why those options contradict the method, in words."""

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> Model:
        """Return a model of a table, of whatever a counter counts, or of anything that can be read as a table."""
        raise NotImplementedError

    @property
    def private(self) -> bool:
        """Whether a fit makes a promise of privacy."""
        return getattr(self, "epsilon", None) is not None

    @property
    def budget(self) -> Budget:
        """What a private fit has to spend."""
        epsilon = getattr(self, "epsilon", None)
        if epsilon is None:
            raise InputError("There is no budget without epsilon.")
        return Budget(epsilon, getattr(self, "delta", None))

    @property
    def drawing(self) -> Draw:
        """How models of a fit draw rows: as `draw` says; without it systematically under a promise, one by one without one."""
        return getattr(self, "draw", None) or ("systematic" if self.private else "independent")

    @property
    def unit(self) -> PrivacyUnit:
        """Whose data a private fit protects; settings that know no relation have no unit."""
        if "neighbours" not in self.setting_names():
            raise AttributeError(f"'{self.name}' has no neighbour relation: it makes no promise.")
        return PrivacyUnit(getattr(self, "neighbours"), getattr(self, "rows_per_person", 1))  # noqa: B009

    def plan(self, schema: Schema) -> Plan:
        """Return how the budget would be split on a declared schema, before anything is spent."""
        raise InputError(f"'{self.name}' makes no promise: there is no budget to split.")

    @property
    def title(self) -> str:
        """The method in a word or two, with what sets its variant apart."""
        return self.name

    def expectation(self, schema: Schema) -> Expectation:
        """Return what to expect of the budget on a declared schema, before anything is spent."""
        from ..privacy.advice import expect

        return expect(self.title, self.plan(schema), schema.sizes, schema.rows or 0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, as scikit-learn's estimators do."""
        return {name: getattr(self, name) for name in self.setting_names()}

    def plain_params(self) -> dict[str, Any]:
        """Return the settings as a report keeps them, by dotted names: words, numbers and lists of them; what is None is left out.

        Parts that are neither, such as a generator or a given network, are their type's name.
        """
        return dict(_plain_params(self.get_params(), ""))

    def set_params(self, **settings: Any) -> Self:
        """Return settings with some of them changed: these are frozen."""
        for name in settings:
            check_name(f"{self.name} setting", name, self.setting_names())
        return replace(self, **settings)  # type: ignore[type-var]

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != _default(field)
        ]
        return f"{type(self).__qualname__}({', '.join(changed)})"

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """Return the names of the settings, in order."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def check_options(cls, options: Mapping[str, Any], method: str) -> None:
        """Raise where options contradict the method."""
        if "groups" in options and "groups" not in cls.setting_names():
            names = [kind.name for kind in SYNTHESISERS if "groups" in kind.setting_names()]
            raise InputError(
                f"--groups is for --method {join_names(names)}: add that, or leave it out."
            )
        if any(name in options for name in cls.refused):
            *first, last = [f"--{name}" for name in cls.refused]
            raise InputError(
                f"--method {method} {cls.refusal}: leave out {', '.join(first)} and {last}."
            )
        if cls.promise == "always" and "epsilon" not in options:
            raise InputError(
                f"--method {cls.name} is a private method: give --epsilon, or use --method {_without('always')}."
            )
        if cls.promise == "never" and "epsilon" in options:
            raise InputError(
                f"--method {cls.name} makes no promise: leave out --epsilon, or use --method {_without('never')}."
            )


SYNTHESISERS: Registry[type[Settings]] = Registry(
    "method",
    __package__,
    "bayesnet.settings",
    "fieldgroups",
    "independent",
    "panel",
    "privbayes",
)
"""The synthesisers by the names of `--method`: register a class of `Settings` to add one."""


class PureMethod(Settings):
    """What methods under pure epsilon share; a delta serves only for levels that are to be discovered."""

    promise = "always"
    without: ClassVar[str]
    """What to use where no promise is wanted."""
    epsilon: float
    delta: float | None

    def __post_init__(self) -> None:
        if self.epsilon is None:
            raise InputError(
                f"{type(self).__name__} needs epsilon. For no privacy use {self.without}."
            )
        super().__post_init__()

    @property
    def budget(self) -> Budget:
        """What there is to spend: pure epsilon."""
        return Budget(self.epsilon, self.delta, accounting="pure")


def noise_step(
    what: str, why: str, cost: float, *, pure: bool = True, noise: str = "", times: int = 1
) -> Step:
    """Return a step of a plan that puts noise in counts: Laplace noise for an epsilon, Gaussian noise for a rho."""
    law, currency = ("discrete Laplace", "epsilon") if pure else ("discrete Gaussian", "rho")
    amount: dict[str, Any] = {currency: cost * (1 - 1e-12)}  # so that sums stay within the budget
    return Step(Charge(what, why, mechanism=law, noise=noise, **amount), times)


def method_words(*, private: bool = False) -> list[str]:
    """Return each method with its variants and its sentence, for `--help`; only those that can promise privacy if asked."""
    lines = []
    for kind in SYNTHESISERS:
        if private and kind.promise == "never":
            continue
        variant = settings_of(kind).get("variant")
        variants = "|".join(f":{word}" for word in (variant.choices[1:] if variant else ()))
        needs = ", needs --epsilon" if kind.promise == "always" and not private else ""
        lines.append(f"{kind.name}{f'[{variants}]' if variants else ''} ({kind.sentence}{needs})")
    return lines


def _without(promise: str) -> str:
    """The first method that does not insist on a promise, or on none."""
    return next((kind.name for kind in SYNTHESISERS if kind.promise != promise), "another")


def _plain_params(settings: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        key = f"{before}{name}"
        if isinstance(value, Settings):
            yield key, value.name
            yield from _plain_params(value.plain_params(), f"{key}.")
        elif _is_flat(value):
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            yield from _plain_params(parts, f"{key}.")
        elif value is not None:
            yield key, _plain_value(value)


def _is_flat(value: Any) -> bool:
    """Whether a value is a dataclass of words and numbers."""
    return (
        is_dataclass(value)
        and not isinstance(value, type)
        and all(
            isinstance(getattr(value, field.name), str | int | float | None)
            for field in fields(value)
        )
    )


def _plain_value(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [
            entry if isinstance(entry, str | int | float) else str(to_plain(entry))
            for entry in value
        ]
    return type(value).__name__


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


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
    kind, options = method_in(spec)
    known = _line_settings(kind)
    for name, setting in known.items():
        if setting.required and name not in options:
            raise InputError(
                f"'{kind.name}' is a private method and needs {name}: write it as {kind.name}:{name}=1."
            )
    return _with_settings(kind, options)


def method_in(spec: str) -> tuple[type[Settings], dict[str, Any]]:
    """Return the method that a line names, and the settings after its name."""
    name, _, line = spec.strip().partition(":")
    if not name:
        raise InputError(f"A synthesiser is missing. {EXAMPLE}")
    kind = SYNTHESISERS[name]
    known = _line_settings(kind)
    first, colon, after = line.partition(":")
    if first and "=" not in first:
        if "variant" not in known:
            raise unknown_name("method", spec, SYNTHESISERS.names)
        line = f"variant={first}{',' if colon else ''}{after}"
    options: dict[str, Any] = {}
    for section in filter(str.strip, line.split(",")):
        key, equals, word = (text.strip() for text in section.partition("="))
        if not (key and equals and word):
            raise InputError(
                f"Settings of a synthesiser are written SETTING=VALUE. Got '{section.strip()}' in '{spec}'."
            )
        if key in options:
            raise InputError(f"Setting '{key}' is there twice in '{spec}'. Say it once.")
        if not known:
            raise InputError(f"'{kind.name}' has no settings. Got '{key}': leave it out.")
        check_name(f"{kind.name} setting", key, known)
        is_list = known[key].kind in ("names", "pairs", "groups")
        options[key] = known[key].read(word.replace("+", ",") if is_list else word)
    return kind, options


def method_of(method: str | Settings, options: Mapping[str, Any]) -> Settings:
    """Return a method, given by its line or itself, with options by their names: those that it has a setting for.

    A method that is given itself has all its settings, but for the roles of columns where none are set.
    """
    if isinstance(method, str):
        kind, settings = method_in(method)
        for key in settings:
            if key in ROLES or key in settings_of(PrivacyGuarantee):
                raise InputError(
                    f"Setting '{key}' has an option of its own: give --{key.replace('_', '-')}."
                )
            if key in options:
                raise InputError(f"Setting '{key}' is there twice, in '{method}' too. Say it once.")
        kind.check_options(options, method)
        return _with_settings(kind, {**options, **settings})
    if not isinstance(method, Settings):
        raise InputError(
            f"method must be a synthesiser, as BayesNet(parents=3), or its name. Got {type(method).__name__}."
        )
    for name in options:
        if name not in ROLES:
            raise InputError(
                f"{name} is a setting of the method: write it there, as {type(method).__name__}({name}=...)."
            )
    names = [name for name in options if name in method.setting_names()]
    unset = {name: options[name] for name in names if not getattr(method, name)}
    return method.set_params(**unset)


def _with_settings(kind: type[Settings], options: Mapping[str, Any]) -> Settings:
    declared = settings_of(kind)
    settings = kind.from_options(**{name: options[name] for name in declared if name in options})
    others = [name for name in kind.setting_names() if name in options and name not in declared]
    return settings.set_params(**{name: options[name] for name in others})


def _line_settings(kind: Any) -> dict[str, Setting]:
    """What a line may set: what is declared, and what a user's own method has of plain data."""
    declared, hints = settings_of(kind), hints_of(kind)
    plain = {
        field.name: Setting(field.name, Option(""), hints[field.name], _default(field))
        for field in fields(kind)
        if field.name not in declared
    }
    return {
        name: setting
        for name, setting in {**plain, **declared}.items()
        if not is_dataclass(setting.type)
    }
