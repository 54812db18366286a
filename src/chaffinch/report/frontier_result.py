"""What a frontier is: settings that were tried, what each gives away and is worth, which was chosen, what is known of that on people it was not chosen on, and the rules.

Each rule is stated once, and used everywhere. A setting *qualifies* in the search if the estimate of its largest excess is within the limit with room for doubt: as far
below it as the estimate is above its own lower bound. Of those that qualify the most useful is chosen, or, among those within a standard error of its worth, the one that
gives least away (the rule of one standard error; Breiman, Friedman, Olshen and Stone 1984, section 3.4.3): what is most useful by a hair is so by luck.

What is known of a limit on people whom a setting was not chosen on is one of three states, as for `--max-excess` of every command: it *exceeds* the limit where the
simultaneous 95 % lower bound of some excess is above it, it is *shown to keep* it where the upper bounds of all are not, and it is *undecided* else, with both bounds and
the smallest excess that would have been seen beside it. What exceeds is not released. If the first choice exceeds, the next is tried on the same people, whom one look has
been spent on: its estimate has to be within the limit there. After three there is no further.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from .._base.errors import InputError, join_names, unknown_name
from .._base.results import (
    PlainData,
    RunFacts,
    check_format,
    from_plain,
    html_table,
    plain_form,
    to_plain,
    without_none,
    write_page,
)
from .._base.text import between, count_noun, detectable_words, display_name, number, text_table
from ..risk.settings import Limits as Limits
from ..stats.intervals import LimitState, limit_state
from ..synth import BayesNet, FieldGroups, Independent, Settings

FORMAT, VERSION = "chaffinch-frontier", 1
HEAD = ("settings", "largest excess", "bounds", "worth", "95 % interval", "")
ATTEMPTS = 3
"""The most settings that are measured on the people who were set aside."""

LEAF, RARE, BINS = 10, 3, 20
"""Records in a leaf of a tree, records below which levels are pooled, and bins of a number, where nobody says otherwise."""

METHODS = ("bayesnet", "independent", "fieldgroups")


@dataclass(frozen=True, kw_only=True)
class CandidateSettings:
    """Settings that a release could have.

    Parameters
    ----------
    method
        "bayesnet", "independent" or, under a promise, "fieldgroups".
    conditionals, parents, leaf, smoothing
        Of `BayesNet`: "trees" or "tables", the most parents, records in a leaf, and the weight of fewer parents; None: its default.
    rare, bins
        Records below which levels are pooled, and bins of numbers whose bins nobody declared.
    protected, protect
        Sensitive columns that keep their link to the label alone ("separate"), or to it and each other ("together").
    dropped
        Columns that are left out of the release.
    epsilon
        The budget of a promise; None for none.

    Examples
    --------
    >>> CandidateSettings(parents=2, protected=("job",)).description
    'trees, at most 2 parents, job protected'
    """

    method: str = "bayesnet"
    conditionals: str = "trees"
    parents: int | None = None
    leaf: int = LEAF
    smoothing: float | None = None
    rare: int = RARE
    bins: int = BINS
    protected: tuple[str, ...] = ()
    protect: str = "separate"
    dropped: tuple[str, ...] = ()
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(
                f"method must be one of {join_names(METHODS)}. Got '{display_name(self.method)}'."
            )

    def synthesiser(self, label: str | None = None) -> Settings:
        """Return the synthesiser of the settings."""
        if self.method == "independent":
            return Independent()
        if self.method == "fieldgroups":
            return FieldGroups(epsilon=self.epsilon)  # type: ignore[arg-type]
        promise: dict[str, Any] = {} if self.epsilon is None else {"epsilon": self.epsilon}
        options: dict[str, Any] = (
            {"conditionals": self.conditionals, "leaf": self.leaf} if self.epsilon is None else {}
        )
        hidden = (
            {"label": label, "sensitive": self.protected, "protect": self.protect}
            if self.protected
            else {"label": label}
        )
        return BayesNet(
            parents=self.parents, smoothing=self.smoothing, **options, **hidden, **promise
        )

    @property
    def key(self) -> str:
        """The settings in one line that is equal for equal settings: what random streams and files go by."""
        return ";".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))

    @property
    def description(self) -> str:
        """The settings in words; what is as by default is not said."""
        return ", ".join(self._phrases())

    def _phrases(self) -> Iterator[str]:
        if self.method == "independent":
            yield "independent columns"
        elif self.method == "fieldgroups":
            yield "groups of columns"
        else:
            yield "private network" if self.epsilon is not None else self.conditionals
        if self.parents is not None:
            yield f"at most {count_noun(self.parents, 'parent')}"
        if self.leaf != LEAF:
            yield f"leaves of {self.leaf}"
        if self.smoothing is not None:
            yield f"smoothing {self.smoothing:g}"
        if self.rare != RARE:
            yield f"levels under {self.rare} pooled"
        if self.bins != BINS:
            yield f"{self.bins} bins"
        if self.protected:
            yield f"{join_names([display_name(name, 30) for name in self.protected])} protected{' together' if self.protect == 'together' else ''}"
        if self.dropped:
            yield f"without {join_names([display_name(name, 30) for name in self.dropped])}"
        if self.epsilon is not None:
            yield f"epsilon {self.epsilon:g}"


@dataclass(frozen=True, kw_only=True)
class RiskFigure:
    """The largest excess of all attacks and tests, with one-sided 95 % bounds; see `stats.familywise`. `auc` is of membership, where it was asked for.

    `detectable` is the smallest excess that the most and the least precise attack would find with 80 % power. `not_shown`: why the upper bound
    cannot show that a limit is kept, as that some attacks have none; empty where it can.
    """

    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    strongest: str = ""
    attacks: int = 0
    detectable: tuple[float, float] | None = None
    auc: float | None = None
    auc_interval: tuple[float, float] | None = None
    not_shown: str = ""
    reason: str = ""

    @property
    def ceiling(self) -> float | None:
        """The estimate with room for doubt: as far above it as it is above its lower bound."""
        return (
            None
            if self.estimate is None
            else self.estimate
            + max(0.0, self.estimate - (self.estimate if self.lower is None else self.lower))
        )


@dataclass(frozen=True, kw_only=True)
class WorthFigure:
    """What a table is worth for one purpose, with a 95 % interval where one is known; `higher` says whether more is better."""

    name: str = ""
    title: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    higher: bool = True
    reason: str = ""

    @property
    def error(self) -> float:
        """About its standard error; 0 where no interval is known."""
        return 0.0 if self.interval is None else (self.interval[1] - self.interval[0]) / 3.92

    @property
    def rank(self) -> float | None:
        """The value turned so that more is better."""
        return None if self.value is None else self.value if self.higher else -self.value


@dataclass(frozen=True, kw_only=True)
class Evaluation(PlainData):
    """Settings, what tables made with them give away and are worth, and on whom that was measured: `people` of a `split`.

    `reference` names a table that was made without settings: the original itself, or other people. `failure` says why nothing was measured.
    """

    candidate: CandidateSettings = field(default_factory=CandidateSettings)
    risk: RiskFigure = RiskFigure()
    worth: tuple[WorthFigure, ...] = ()
    split: str = field(default="search", metadata=plain_form(key="part"))
    people: int = 0
    reference: str = ""
    failure: str = ""

    def worth_of(self, name: str) -> WorthFigure:
        """Return what it is worth for a purpose, by its name."""
        return next(
            (figure for figure in self.worth if figure.name == name), WorthFigure(name=name)
        )

    @property
    def description(self) -> str:
        """What was made, in words."""
        return self.reference or self.candidate.description


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What settings that were chosen give away about people whom the search never saw, and what was made of it.

    `word`: the state of the limits, "shown to keep", "undecided" or "exceeds". `passed`: whether that is enough, by the rule of `passes`.
    """

    evaluation: Evaluation
    word: str = ""
    passed: bool = False
    attempt: int = 1


@dataclass(frozen=True, kw_only=True)
class FrontierChoice:
    """The settings that were chosen, by which rule, their figures on the people of the search, and those on people it never saw.

    `released`: what the release itself, made of everybody, gives away. `table`: where its table was written, in the folder of the frontier; empty where none was.
    """

    rule: str = ""
    limits: Limits = field(default_factory=Limits)
    worth: str = ""
    evaluation: Evaluation | None = None
    confirmations: tuple[Confirmation, ...] = ()
    released: RiskFigure | None = None
    table: str = ""
    sentence: str = ""

    @property
    def state(self) -> LimitState | None:
        """What is known of the limits, of the settings on people the search never saw and of the release itself together; None without a limit."""
        if not self.limits:
            return None
        figures = [
            *([] if self.confirmation is None else [self.confirmation.evaluation.risk]),
            *([] if self.released is None else [self.released]),
        ]
        return together([verdict_of(figure, self.limits) for figure in figures])

    @property
    def limit_sentence(self) -> str:
        """The state of the limits in words, with what became of the table; empty without a limit."""
        state = self.state
        if state is None:
            return ""
        verdicts = {
            LimitState.EXCEEDS: f"EXCEEDS THE LIMIT: {self.limits.description} is allowed, and a simultaneous 95 % lower bound is above that.",
            LimitState.SHOWN: f"SHOWN TO KEEP THE LIMIT: {self.limits.description} is allowed, and every simultaneous 95 % upper bound is within that.",
            LimitState.UNDECIDED: f"UNDECIDED: {self.limits.description} is neither shown to hold nor shown to be exceeded.",
        }[state]
        confirmation = None if self.confirmation is None else self.confirmation.evaluation.risk
        parts = (
            (confirmation, "On people the search never saw"),
            (self.released, "Of the release itself, made of everybody"),
        )
        description = [
            sentence
            for figure, where in parts
            if figure is not None and (sentence := _bounds_sentence(figure, where))
        ]
        return " ".join(
            (
                verdicts,
                *description,
                f"The table is in {self.table}." if self.table else "No table was written.",
            )
        )

    @property
    def candidate(self) -> CandidateSettings | None:
        """The settings; None where none could be chosen."""
        return None if self.evaluation is None else self.evaluation.candidate

    @property
    def confirmation(self) -> Confirmation | None:
        """The last confirmation: that of the settings themselves."""
        return self.confirmations[-1] if self.confirmations else None

    @property
    def allowed(self) -> bool:
        """Whether the settings were confirmed, and the release itself, where it was attacked, does not exceed the limits either."""
        if self.evaluation is None or self.confirmation is None or not self.confirmation.passed:
            return False
        return (
            self.released is None
            or verdict_of(self.released, self.limits) is not LimitState.EXCEEDS
        )

    def show(self) -> None:
        """Print what was chosen and how it was confirmed."""
        print(self.sentence)


def _bounds_sentence(figure: RiskFigure, where: str) -> str:
    """Both bounds of the largest excess, and the smallest that would have been seen."""
    if figure.lower is None and figure.upper is None:
        return ""
    low, high = (
        ("no lower bound" if figure.lower is None else number(figure.lower)),
        ("no upper bound" if figure.upper is None else number(figure.upper)),
    )
    seen = (
        ""
        if figure.detectable is None
        else f" Detectable there with 80 % power: {detectable_words(figure.detectable[0])} (the most precise) to {detectable_words(figure.detectable[1])} (the least precise)."
    )
    return f"{where}, the bounds of the largest excess are {low} and {high} (simultaneous, 95 %).{seen} {figure.not_shown}".strip()


@dataclass(frozen=True, kw_only=True)
class SettingChange:
    """What one setting moves: two evaluations that differ in it alone, and the differences on the same people, with 95 % intervals."""

    setting: str = ""
    towards: str = ""
    before: CandidateSettings = field(default_factory=CandidateSettings)
    after: CandidateSettings = field(default_factory=CandidateSettings)
    attack: str = ""
    risk: float | None = None
    risk_interval: tuple[float, float] | None = None
    worth_name: str = ""
    worth: float | None = None
    worth_interval: tuple[float, float] | None = None
    sentence: str = ""


@dataclass(frozen=True, kw_only=True)
class FrontierAbout:
    """What was searched: columns, sizes of parts, purposes, and sentences on what the parting of people costs."""

    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    label: str | None = None
    formula: str | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    epsilons: tuple[float | None, ...] = ()
    people: Mapping[str, int] = field(default_factory=dict)
    holdout: bool = False
    seed: int | None = None
    attackers: tuple[str, ...] = ()
    resamples: int = 0
    original: str | None = None
    notes: tuple[str, ...] = ()
    stopped: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class FrontierResult:
    """Settings by what they give away and what they are worth; `best` chooses one under limits. It holds no record.

    Parameters
    ----------
    evaluations, references
        The settings that were tried, in their order, and tables to hold them against, all measured on the people of the search.
    worths
        The purposes, the first that by which settings are chosen unless another is named.
    limits, choice
        What was allowed, and what was chosen under it; None where nothing was asked for.
    changes
        Which setting moved what between the chosen and its neighbours on the front.
    confirm
        A function that measures a candidate on the people whom the search never saw; None where the result was read from its JSON.
    """

    about: FrontierAbout
    evaluations: tuple[Evaluation, ...]
    references: tuple[Evaluation, ...] = ()
    worths: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    choice: FrontierChoice | None = None
    changes: tuple[SettingChange, ...] = ()
    run: RunFacts = field(default_factory=RunFacts, compare=False)
    confirm: Any = field(default=None, compare=False)

    def front(self, worth: str | None = None) -> tuple[Evaluation, ...]:
        """Return the settings that no others beat on both sides, the safest first."""
        return pareto(self.evaluations, self.worth_name(worth))

    def worth_name(self, worth: str | None) -> str:
        """Return the name of a purpose, the first unless one is named."""
        if worth is None:
            return self.worths[0]
        if worth not in self.worths:
            raise unknown_name("worth", worth, self.worths)
        return worth

    def best(
        self,
        *,
        max_excess: float | None = None,
        max_auc: float | None = None,
        worth: str | None = None,
    ) -> FrontierChoice:
        """Return the most useful settings that keep to limits, confirmed on people whom the search never saw.

        Without limits those that were asked for. Each call with other limits looks at the people who were set aside for that: after three such looks
        they are unseen no more, and it raises.

        Raises
        ------
        InputError
            If nothing keeps to the limits; it says which settings come nearest. Or if nobody is left unseen.
        """
        limits = (
            self.limits if max_excess is None and max_auc is None else Limits(max_excess, max_auc)
        )
        name = self.worth_name(worth)
        if self.choice is not None and self.choice.limits == limits and self.choice.worth == name:
            return self.choice
        if any(epsilon is not None for epsilon in self.about.epsilons):
            raise InputError(
                "A choice by figures of the original voids a promise of privacy, and promises are among what was tried. Run the frontier with --choose public or private."
            )
        if self.confirm is None:
            evaluation = pick(self.evaluations, limits, name)
            return FrontierChoice(
                rule="search",
                limits=limits,
                worth=name,
                evaluation=evaluation,
                sentence="Not confirmed: the people are not at hand where a result was read from its file.",
            )
        choice: FrontierChoice = self.confirm(self.evaluations, limits, name)
        return choice

    def to_dict(self) -> dict[str, Any]:
        """Return the frontier as plain data: `chaffinch-frontier`, version 1."""
        parts = (
            "about",
            "evaluations",
            "references",
            "worths",
            "limits",
            "choice",
            "changes",
        )
        plain = {name: to_plain(getattr(self, name)) for name in parts}
        if self.choice is not None and self.choice.state is not None:
            plain["choice"] |= {
                "state": str(self.choice.state),
                "limit_sentence": self.choice.limit_sentence,
            }
        return {"format": FORMAT, "version": VERSION, **plain, "run": self.run.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FrontierResult:
        """Return the frontier that plain data hold.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        check_format(data, FORMAT, VERSION, "Give the JSON of chaffinch frontier.")
        if not data.get("worths"):
            raise InputError("The data of a frontier must name at least one worth.")
        choice = data.get("choice")
        if isinstance(choice, Mapping):  # these are worked out from the others
            worked_out = ("state", "limit_sentence")
            choice = {name: value for name, value in choice.items() if name not in worked_out}
        return cls(
            about=from_plain(FrontierAbout, without_none(data.get("about")), what="'about'"),
            limits=from_plain(Limits, data.get("limits") or {}, what="'limits'"),
            choice=from_plain(FrontierChoice, choice, what="'choice'") if choice else None,
            run=from_plain(RunFacts, without_none(data.get("run")), what="'run'"),
            evaluations=from_plain(
                tuple[Evaluation, ...], data.get("evaluations") or (), what="'evaluations'"
            ),
            references=from_plain(
                tuple[Evaluation, ...], data.get("references") or (), what="'references'"
            ),
            worths=from_plain(tuple[str, ...], data["worths"], what="'worths'"),
            changes=from_plain(
                tuple[SettingChange, ...], data.get("changes") or (), what="'changes'"
            ),
        )

    def named(self, original: str | None) -> FrontierResult:
        """Return the frontier with the name of its table."""
        return replace(self, about=replace(self.about, original=original))

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the frontier as one HTML file, to be kept inside, and write it to a path if one is given."""
        from .frontier import frontier_page

        html = frontier_page(self)
        if path is not None:
            write_page(path, html, overwrite=overwrite)
        return html

    def rows(self, worth: str | None = None) -> list[list[str]]:
        """Return a row of words for each of the settings on the front and each reference, the safest first."""
        name = self.worth_name(worth)
        chosen = None if self.choice is None else self.choice.candidate
        out = []
        for evaluation in (*self.front(name), *self.references):
            figure, risk = evaluation.worth_of(name), evaluation.risk
            word = (
                "reference"
                if evaluation.reference
                else "chosen"
                if evaluation.candidate == chosen
                else ""
            )
            bounds = (
                ""
                if risk.lower is None or risk.upper is None
                else between((risk.lower, risk.upper))
            )
            out.append(
                [
                    evaluation.description,
                    number(risk.estimate),
                    bounds,
                    number(figure.value),
                    "" if figure.interval is None else between(figure.interval),
                    word,
                ]
            )
        return out

    def show(self) -> None:
        """Print the front, the references and what was chosen."""
        figure = next(
            (
                evaluation.worth_of(self.worths[0])
                for evaluation in self.evaluations
                if evaluation.worth
            ),
            WorthFigure(name=self.worths[0]),
        )
        print(
            f"{count_noun(len(self.evaluations), 'setting')} tried; worth: {figure.title or figure.name}."
        )
        print(text_table(HEAD, self.rows()))
        if self.choice is not None:
            self.choice.show()

    def __repr__(self) -> str:
        return f"FrontierResult({count_noun(len(self.evaluations), 'setting')}, {len(self.front())} on the front)"

    def _repr_html_(self) -> str:
        from .frontier import front_picture

        description = "" if self.choice is None else self.choice.sentence
        return f"{front_picture(self, self.worths[0], key='frontier-picture')}{html_table(HEAD, self.rows(), caption=description)}"


def pareto(evaluations: Sequence[Evaluation], worth: str) -> tuple[Evaluation, ...]:
    """Return the settings that no others beat on both sides, the safest first; of equal ones the first tried."""
    known = [
        evaluation
        for evaluation in evaluations
        if evaluation.risk.estimate is not None and evaluation.worth_of(worth).rank is not None
    ]
    out: list[Evaluation] = []
    for evaluation in sorted(known, key=lambda e: (_risk(e), -_worth(e, worth))):
        if not out or _worth(evaluation, worth) > _worth(out[-1], worth):
            out.append(evaluation)
    return tuple(out)


def qualifies(risk: RiskFigure, limits: Limits) -> bool:
    """Return whether a setting is within the limits with room for doubt; one whose risk is not known is not."""
    if limits.max_excess is not None and (risk.ceiling is None or risk.ceiling > limits.max_excess):
        return False
    return limits.max_auc is None or (risk.auc is not None and risk.auc <= limits.max_auc)


def rank_evaluations(
    evaluations: Sequence[Evaluation], limits: Limits, worth: str
) -> list[Evaluation]:
    """Return the settings that qualify, in the order in which they are chosen: by the rule of one standard error, and then of what is safer the same."""
    remaining = [
        evaluation
        for evaluation in evaluations
        if qualifies(evaluation.risk, limits) and evaluation.worth_of(worth).rank is not None
    ]
    out: list[Evaluation] = []
    while remaining:
        top = max(remaining, key=lambda e: _worth(e, worth))
        near = [
            evaluation
            for evaluation in remaining
            if _worth(evaluation, worth) >= _worth(top, worth) - top.worth_of(worth).error
        ]
        chosen = min(near, key=lambda e: (_risk(e), -_worth(e, worth)))
        out.append(chosen)
        remaining = [evaluation for evaluation in remaining if _risk(evaluation) < _risk(chosen)]
    return out


def pick(evaluations: Sequence[Evaluation], limits: Limits, worth: str) -> Evaluation:
    """Return the settings to choose; raise, with the nearest, where none keep to the limits."""
    shortlist = rank_evaluations(evaluations, limits, worth)
    if not shortlist:
        raise no_candidate(evaluations, limits)
    return shortlist[0]


def nearest(evaluations: Sequence[Evaluation], limits: Limits) -> Evaluation | None:
    """Return the settings that come nearest to limits: the least above them."""

    def over(evaluation: Evaluation) -> float:
        above = (
            max(0.0, (evaluation.risk.ceiling or 0.0) - limits.max_excess)
            if limits.max_excess is not None
            else 0.0
        )
        return above + (
            max(0.0, (evaluation.risk.auc or 1.0) - limits.max_auc)
            if limits.max_auc is not None
            else 0.0
        )

    known = [evaluation for evaluation in evaluations if evaluation.risk.estimate is not None]
    return min(known, key=over, default=None)


def no_candidate(evaluations: Sequence[Evaluation], limits: Limits) -> InputError:
    """Return the error that nothing is within limits, with what comes nearest."""
    close = nearest(evaluations, limits)
    if close is None:
        return InputError(
            f"None of {count_noun(len(evaluations), 'setting')} could be attacked, so none is known to keep to {limits.description}. Name other keys, or more people."
        )
    auc = (
        ""
        if limits.max_auc is None or close.risk.auc is None
        else f" and a membership AUC of {number(close.risk.auc)}"
    )
    return InputError(
        f"None of {count_noun(len(evaluations), 'setting')} is within {limits.description}, with room for doubt. Nearest: {close.description}, with an excess of {number(close.risk.estimate)}, {number(close.risk.ceiling)} with room for doubt{auc}. "
        "Allow more, search longer (--budget, --evaluations), or give more people: an excess is known more closely then."
    )


def verdict_of(risk: RiskFigure, limits: Limits) -> LimitState:
    """Return what bounds say of limits: one that is exceeded decides, and all of them have to be shown to be kept. Without a limit nothing is shown."""
    low_auc, high_auc = risk.auc_interval or (None, None)
    upper = None if risk.not_shown else risk.upper
    pairs = [(risk.lower, upper, limits.max_excess), (low_auc, high_auc, limits.max_auc)]
    return together(
        [limit_state(low, high, limit) for low, high, limit in pairs if limit is not None]
    )


def together(states: Sequence[LimitState]) -> LimitState:
    """Return the state of several findings: exceeded where one is, shown to be kept where all are."""
    if LimitState.EXCEEDS in states:
        return LimitState.EXCEEDS
    return (
        LimitState.SHOWN
        if states and all(state is LimitState.SHOWN for state in states)
        else LimitState.UNDECIDED
    )


def passes(risk: RiskFigure, limits: Limits, attempt: int) -> bool:
    """Return whether a confirmation is enough: the first unless it exceeds a limit, a later one if its estimate is within the limit too. Unknown risk is not."""
    if limits.max_excess is not None and risk.lower is None:
        return False
    if limits.max_auc is not None and risk.auc is None:
        return False
    if verdict_of(risk, limits) is LimitState.EXCEEDS:
        return False
    return (
        attempt == 1
        or limits.max_excess is None
        or (risk.estimate is not None and risk.estimate <= limits.max_excess)
    )


def _risk(evaluation: Evaluation) -> float:
    return float("inf") if evaluation.risk.estimate is None else evaluation.risk.estimate


def _worth(evaluation: Evaluation, worth: str) -> float:
    rank = evaluation.worth_of(worth).rank
    return float("-inf") if rank is None else rank
