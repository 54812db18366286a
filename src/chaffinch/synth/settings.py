"""What every synthesiser is: frozen settings that register themselves, fit a model and build themselves from options.

Adding one is one file: a frozen dataclass of `Settings` with a `fit`, a `FittedModel` it returns, and
`SYNTHESISERS.register` on it. `--method`, `--help`, `chaffinch.load`, `release`, attacks and audits then find it by its name. `synthesiser_of` reads settings from one line, as
`bayesnet:parents=2,epsilon=1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from .._base.checks import check_name
from .._base.errors import InputError, listed, unknown_name
from .._base.registry import Registry
from .._base.results import to_plain
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..privacy.accounting import check_delta, check_epsilon
from ..privacy.advice import Expectation
from ..privacy.ledger import Budget, Charge, Plan, Step
from ..privacy.relation import Neighbours, PrivacyUnit
from ..table.schema import Schema
from .model import Draw, FittedModel
from .protocol import Model


@dataclass(frozen=True)
class MethodOptions:
    """Options by the names that `BayesNet`, `PrivBayes` and `FieldGroups` give them; a method takes those it has a setting for.

    `variant` is the word after the colon, as in privbayes:dpart. None and empty mean: the method's own default.
    """

    parents: int | None = None
    search: str = "ordering"
    score: str | None = None
    label: str | None = None
    sensitive: tuple[str, ...] = ()
    protect: str = "separate"
    keep: tuple[str, ...] = ()
    require: tuple[tuple[str, str], ...] = ()
    forbid: tuple[tuple[str, str], ...] = ()
    root: str | None = None
    smoothing: float | None = None
    generations: int = 400
    epsilon: float | None = None
    delta: float | None = None
    neighbours: str | None = None
    rows_per_person: int = 1
    groups: tuple[tuple[str, ...], ...] | None = None
    variant: str = ""

    @property
    def promise(self) -> dict[str, Any]:
        """The settings of a promise; nothing without epsilon, and no relation where the method's own is meant."""
        if self.epsilon is None:
            return {}
        relation = {} if self.neighbours is None else {"neighbours": self.neighbours}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows_per_person": self.rows_per_person,
            **relation,
        }

    @property
    def changed(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return {
            f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default
        }


EXAMPLE = "Write it as bayesnet:parents=2,epsilon=1."


class Settings:
    """What the settings of synthesisers share; frozen dataclasses inherit it (with `repr=False`, to keep its short one)."""

    name: ClassVar[str]  # in `--method`
    sentence: ClassVar[str] = ""  # for `--help`
    model: ClassVar[type[FittedModel]]  # the class of its models, by whose `kind` a file finds it
    promise: ClassVar[Literal["never", "optional", "always"]] = "never"  # optional: with an epsilon
    refused: ClassVar[tuple[str, ...]] = (
        "keep",
        "require",
        "forbid",
        "root",
    )  # options that contradict the method
    refusal: ClassVar[str] = "chooses its own network"  # and why

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

    def check_draw(self) -> None:
        """Raise unless `draw` is a way to draw rows, or None."""
        check_name("way to draw rows", getattr(self, "draw", None), get_args(Draw), optional=True)

    def check_promise(self) -> None:
        """Raise unless epsilon, delta and the relation are those of a promise that can be kept."""
        check_epsilon(getattr(self, "epsilon"))  # noqa: B009
        if (delta := getattr(self, "delta", None)) is not None:
            check_delta(delta)
        _ = self.unit

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

    def counted_sets(self, n_columns: int) -> int:
        """Return about how many sets of columns a fit counts: what it takes grows with them. Single columns at least."""
        return n_columns

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
    def from_options(cls, options: MethodOptions) -> Self:
        """Return the settings that options amount to: those of the same names, where they were given."""
        cls.check_options(options)
        values = options.changed | options.promise
        return cls(**{name: values[name] for name in cls.setting_names() if name in values})

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """Return the names of the settings, in order."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def check_options(cls, options: MethodOptions) -> None:
        """Raise where options contradict the method."""
        changed = options.changed
        if "groups" in changed and "groups" not in cls.setting_names():
            names = [kind.name for kind in SYNTHESISERS if "groups" in kind.setting_names()]
            raise InputError(
                f"--groups is for --method {listed(names)}: add that, or leave it out."
            )
        method = f"{cls.name}:{options.variant}" if options.variant else cls.name
        if any(name in changed for name in cls.refused):
            *most, last = [f"--{name}" for name in cls.refused]
            raise InputError(
                f"--method {method} {cls.refusal}: leave out {', '.join(most)} and {last}."
            )
        if cls.promise == "always" and options.epsilon is None:
            raise InputError(
                f"--method {cls.name} is a private method: give --epsilon, or use --method {_without('always')}."
            )
        if cls.promise == "never" and options.epsilon is not None:
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
    neighbours: Neighbours
    rows_per_person: int

    def __post_init__(self) -> None:
        if self.epsilon is None:
            raise InputError(
                f"{type(self).__name__} needs epsilon. For no privacy use {self.without}."
            )
        self.check_promise()
        self.check_draw()

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
    words = []
    for kind in SYNTHESISERS:
        if private and kind.promise == "never":
            continue
        variants = "|".join(
            f":{word}" for word in get_args(get_type_hints(kind).get("variant"))[1:]
        )
        needs = ", needs --epsilon" if kind.promise == "always" and not private else ""
        words.append(f"{kind.name}{f'[{variants}]' if variants else ''} ({kind.sentence}{needs})")
    return words


def _without(promise: str) -> str:
    """The first method that does not insist on a promise, or on none."""
    return next((kind.name for kind in SYNTHESISERS if kind.promise != promise), "another")


def _plain_params(settings: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Settings):
            yield f"{before}{name}", value.name
            yield from _plain_params(value.plain_params(), f"{before}{name}.")
        elif is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            listable = all(isinstance(part, str | int | float | None) for part in parts.values())
            yield from (
                _plain_params(parts, f"{before}{name}.")
                if listable
                else [(f"{before}{name}", type(value).__name__)]
            )
        elif isinstance(value, str | int | float):
            yield f"{before}{name}", value
        elif isinstance(value, list | tuple | set | frozenset):
            yield (
                f"{before}{name}",
                [
                    part if isinstance(part, str | int | float) else str(to_plain(part))
                    for part in value
                ],
            )
        elif value is not None:
            yield f"{before}{name}", type(value).__name__


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
        check_name(key, word, get_args(hint))
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
