"""Checks of the private pipeline as it stands: each returns a list of faults, empty for a sound build.

The device behind most of them is a scripted source of noise. A private fit meets the data only through the answers of its noise,
so a script of answers fixes everything that may follow. Two neighbouring tables under one script must ask the same
questions (kind, shape, scale) and end in the same model, byte for byte; what differs is what was put to the noise, and from that the
privacy loss of the whole fit follows exactly, by enumeration of the scripts.

`CHECKS` names them all. They look up what they call in its module at the time of the call, so a test can break a part and see
which check finds it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations_with_replacement, product
from math import isclose, log
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from scipy import stats

from chaffinch._base.errors import ChaffinchError
from chaffinch.counts.counter import MemoryCounter
from chaffinch.privacy import counter as counter_module
from chaffinch.privacy import ledger as ledger_module
from chaffinch.privacy import mechanisms as noise_module
from chaffinch.privacy import prepare as prepare_module
from chaffinch.privacy import session as opening
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.synth import model_file
from chaffinch.synth.bayesnet import BayesNet
from chaffinch.synth.privbayes import PrivBayes
from chaffinch.table import Column, Schema

from .conftest import PROBABILITIES

ODDS = 1e-9
"""The chance that a statistical check here flags a sound build in one run."""

Row = tuple[int, ...]
Rows = tuple[Row, ...]


# Small tables and their neighbours, from the words of the relations.


def schema_of(sizes: Sequence[int], rows: int | None = None) -> Schema:
    """Return a public schema of columns c0, c1, ... with levels v0, v1, ..."""
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(f"v{i}" for i in range(size)))
        for j, size in enumerate(sizes)
    )
    return Schema(columns, public=True, rows=rows)


@cache
def _domain(sizes: Row) -> tuple[Any, dict[Row, int]]:
    """A prepared table with every record of a domain once, and where each stands."""
    records = list(product(*map(range, sizes)))
    columns = {
        f"c{j}": pa.array([f"v{record[j]}" for record in records], pa.string())
        for j in range(len(sizes))
    }
    table = prepare_module.prepare(pa.table(columns), schema_of(sizes))
    return table, {record: i for i, record in enumerate(records)}


def table_of(sizes: Sequence[int], rows: Rows, declared: int | None = None) -> Any:
    """Return the prepared table of some rows of codes."""
    every, place = _domain(tuple(sizes))
    taken = every.take(np.array([place[row] for row in rows], dtype=np.int64))
    return replace(taken, schema=replace(taken.schema, rows=declared))


def all_tables(sizes: Sequence[int], n: int) -> list[Rows]:
    """Return every table of n records, rows in order."""
    return list(combinations_with_replacement(list(product(*map(range, sizes))), n))


def neighbour_pairs(sizes: Sequence[int], unit: PrivacyUnit, most: int) -> list[tuple[Rows, Rows]]:
    """Return all pairs of tables of up to `most` records that differ in one record, each pair once."""
    records = list(product(*map(range, sizes)))
    found = set()
    for n in range(most):
        for others in all_tables(sizes, n):
            more = [tuple(sorted((*others, record))) for record in records]
            ends = (
                combinations_with_replacement(more, 2)
                if unit.bounded
                else [(others, one) for one in more]
            )
            found |= {pair for pair in ends if pair[0] != pair[1]}
    return sorted(found)


# Scripted noise, and what a fit does under it.


@dataclass(frozen=True)
class Call:
    """One question to the noise: the exact values, the scale, and the scripted answer."""

    kind: str
    values: np.ndarray
    scale: float
    answer: Any

    @property
    def public(self) -> tuple[Any, ...]:
        """What of the question must not depend on a record."""
        return self.kind, self.values.shape, str(self.values.dtype), self.scale


Answers = Callable[[int, tuple[int, ...]], np.ndarray]


def steady(number: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return scripted answers: whole numbers that depend on the place of the question alone."""
    return np.random.default_rng(1000 + number).integers(-3, 40, shape)


@dataclass
class Scripted:
    """A source of noise that does not read the values: answers and picks are given beforehand."""

    picks: Sequence[int] = ()
    answers: Answers = steady
    test_only: bool = True
    calls: list[Call] = field(default_factory=list)
    chosen: int = 0

    def laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Return the scripted answer."""
        return self._measured("laplace", values, scale)

    def gaussian(self, values: np.ndarray, sigma: float) -> np.ndarray:
        """Return the scripted answer."""
        return self._measured("gaussian", values, sigma)

    def exponential(self, scores: np.ndarray, scale: float) -> int:
        """Return the scripted pick."""
        return self._picked("exponential", scores, scale)

    def permute_and_flip(self, scores: np.ndarray, scale: float) -> int:
        """Return the scripted pick."""
        return self._picked("permute_and_flip", scores, scale)

    def _measured(self, kind: str, values: np.ndarray, scale: float) -> np.ndarray:
        answer = self.answers(len(self.calls), values.shape)
        self.calls.append(Call(kind, values.copy(), scale, answer))
        return answer.copy()

    def _picked(self, kind: str, scores: np.ndarray, scale: float) -> int:
        pick = (self.picks[self.chosen] if self.chosen < len(self.picks) else 0) % len(scores)
        self.chosen += 1
        self.calls.append(Call(kind, scores.copy(), scale, pick))
        return pick


@contextmanager
def scripted(noise: Any) -> Iterator[Any]:
    """Let every private fit inside take its noise from here."""
    with mock.patch.object(opening, "noise_of", return_value=noise):
        yield noise


@dataclass(frozen=True)
class Transcript:
    """What a fit asked of the noise, what it charged, and what it came to; `error` where it raised."""

    calls: tuple[Call, ...]
    charges: tuple[Any, ...]
    listing: str
    error: str = ""

    @property
    def public(self) -> tuple[Any, ...]:
        """Everything that must be the same on neighbours under one script."""
        return [c.public for c in self.calls], self.charges, self.listing, self.error


def listing_of(model: Any) -> str:
    """Return a model as text: its description and every number of its tables."""
    tables = [
        [(a.dtype.str, a.tolist()) for a in (v.keys, v.starts, v.codes, v.weights)]
        for t in model.tables
        for v in t.levels
    ]
    return json.dumps([model_file.file_parts(model)[0], tables])


def transcript(
    settings: Any, table: Any, picks: Sequence[int] = (), answers: Answers = steady
) -> Transcript:
    """Return what a fit does under a script. Blind draws come from a fixed seed: they are public."""
    with scripted(Scripted(picks, answers)) as noise:
        try:
            model = settings.fit(table, seed=5)
        except (ChaffinchError, ArithmeticError, ValueError, IndexError, TypeError) as error:
            return Transcript(tuple(noise.calls), (), "", f"{type(error).__name__}: {error}")
    return Transcript(tuple(noise.calls), model.fitted.privacy.charges, listing_of(model))


def log_law(call: Call) -> np.ndarray:
    """Return the log law of a choice over its candidates."""
    with np.errstate(divide="ignore"):
        return np.log(PROBABILITIES[call.kind](call.values, call.scale))


def loss_of(one: Call, other: Call) -> tuple[float, float]:
    """Return the loss of one question, both ways: the largest over answers of a measurement, that of the pick of a choice.

    Pure epsilons; for Gaussian noise the rho of zCDP. A measurement's largest loss is reached: at answers beyond both values in
    every cell, where |z - x'| - |z - x| is x' - x or its opposite.
    """
    if one.public != other.public:
        return float("inf"), float("inf")
    gap = np.abs(one.values.astype(object) - other.values.astype(object)).astype(np.float64)
    if one.kind == "laplace":
        return (float(gap.sum()) / one.scale,) * 2
    if one.kind == "gaussian":
        return (float((gap**2).sum()) / (2 * one.scale**2),) * 2
    ratio = float(log_law(one)[one.answer] - log_law(other)[other.answer])
    return ratio, -ratio


def whole_loss(one: Transcript, other: Transcript) -> float:
    """Return the loss of a whole fit along one script, the larger way round; infinity if the questions differ."""
    if len(one.calls) != len(other.calls):
        return float("inf")
    losses = np.array([loss_of(a, b) for a, b in zip(one.calls, other.calls, strict=True)]).reshape(
        -1, 2
    )
    return float(losses.sum(axis=0).max())


def worst_loss(
    settings: Any,
    sizes: Sequence[int],
    pairs: Sequence[tuple[Rows, Rows]],
    scripts: Sequence[Sequence[int]],
    *,
    declared: int | None = None,
    answers: Answers = steady,
) -> float:
    """Return the largest loss over pairs of tables and scripts. `declared` None: as many rows as a table has."""
    known: dict[tuple[Rows, tuple[int, ...]], Transcript] = {}

    def told(rows: Rows, picks: Sequence[int]) -> Transcript:
        key = rows, tuple(picks)
        if key not in known:
            table = table_of(
                sizes, rows, len(rows) if declared is None and settings.unit.bounded else declared
            )
            known[key] = transcript(settings, table, picks, answers)
        return known[key]

    return max(whole_loss(told(a, picks), told(b, picks)) for a, b in pairs for picks in scripts)


# The checks.

BINARY = (2, 2, 2)
SCRIPTS = [(0, 0), (0, 1), (1, 0), (1, 1)]
SMALL = [
    PrivBayes(epsilon=1.0, score="R", parents=1),
    PrivBayes(epsilon=1.0, score="I", parents=1, neighbours="add-remove"),
]


def loss_faults() -> list[str]:
    """Exact loss of whole tiny fits, over all tables of up to one record and some of two."""
    faults = []
    for settings in SMALL:
        pairs = neighbour_pairs(BINARY, settings.unit, 1)
        zero, one = (0, 0, 0), (1, 1, 1)
        pairs += (
            [((zero, zero), (zero, one))]
            if settings.unit.bounded
            else [((zero, one), (zero, one, one))]
        )
        found = worst_loss(settings, BINARY, pairs, SCRIPTS)
        if not found <= settings.epsilon * (1 + 1e-9):
            faults.append(
                f"a loss of {found:.3g} where {settings.epsilon} is claimed ({settings.neighbours})"
            )
    return faults


def sensitivity_faults() -> list[str]:
    """Realised jumps of the scores that are put to a choice, over small neighbours: within what the scale allows."""
    faults = []
    families = [(1, (0,)), (0, (1,))]
    for score, neighbours, sizes, most in [
        ("I", "replace-one", (2, 2), 3),
        ("I", "add-remove", (2, 2), 3),
        ("I", "replace-one", (3, 3), 3),
        ("R", "replace-one", (2, 3), 2),
        ("R", "add-remove", (2, 3), 2),
        ("F", "replace-one", (2, 2), 3),
    ]:
        unit, known = PrivacyUnit(neighbours), {}

        def asked(
            rows: Rows,
            unit: PrivacyUnit = unit,
            score: str = score,
            sizes: Row = sizes,
            known: Any = known,
        ) -> Call:
            if rows not in known:
                noise = Scripted()
                counter = counter_module.PrivateCounter(
                    MemoryCounter(table_of(sizes, rows)),
                    ledger_module.Ledger(Budget(1.0), unit),
                    noise,
                )
                counter.select(
                    families, score, 1.0, rows=len(rows) if unit.bounded else 3, why="test"
                )
                known[rows] = noise.calls[0]
            return known[rows]

        worst = 0.0
        for a, b in neighbour_pairs(sizes, unit, most):
            one, other = asked(a), asked(b)
            jump = float(np.abs(one.values - other.values).max())
            worst = max(worst, 2 * jump / one.scale if one.public == other.public else float("inf"))
        if worst > 1 + 1e-9:
            faults.append(
                f"{score} under {neighbours} on {sizes} moves {worst:.3g} times as far as claimed"
            )
    return faults


ODD = {
    "same": {"c0": "v0", "c1": "v1", "n": "3"},
    "empty": None,
    "new word": {"c0": "qZx-canary", "c1": "v1", "n": "3"},
    "extreme": {"c0": "v0", "c1": "v1", "n": "9e99"},
    "null": {"c0": None, "c1": None, "n": None},
    "unparsable": {"c0": "v1", "c1": "v0", "n": "twelve"},
    "rare level": {"c0": "v2", "c1": "v1", "n": "9"},
}
"""A record more or less, for each way in which a record can be odd."""

ODD_SCHEMA = Schema(
    (
        Column("c0", "categorical", levels=("v0", "v1", "v2"), nullable=True, other=True),
        Column("c1", "categorical", levels=("v0", "v1"), nullable=True),
        Column("n", "integer", bounds=(0, 9), bins=5, nullable=True),
    ),
    public=True,
)


def odd_source(extra: dict[str, str | None] | None, n: int = 6) -> pa.Table:
    """Return words of n plain records and one extra."""
    rows = [{"c0": f"v{i % 2}", "c1": f"v{i // 2 % 2}", "n": str(i % 8)} for i in range(n)]
    rows += [] if extra is None else [extra]
    return pa.table(
        {name: pa.array([row[name] for row in rows], pa.string()) for name in ("c0", "c1", "n")}
    )


def same_faults() -> list[str]:
    """Equal answers must give equal questions, charges and models, whatever record is added."""
    faults = []  # a large epsilon: with little noise a model shows what it was made of
    for settings in [
        PrivBayes(epsilon=1.0, score="I", parents=1, neighbours="add-remove"),
        BayesNet(epsilon=100.0, delta=1e-6),
    ]:
        base = None
        for name, extra in ODD.items():
            told = transcript(
                settings, prepare_module.prepare(odd_source(extra), ODD_SCHEMA), (1, 1)
            )
            base = base or told
            parts = ("questions", "charges", "model", "error")
            wrong = [
                part for part, a, b in zip(parts, base.public, told.public, strict=True) if a != b
            ]
            if wrong or told.error:
                faults.append(
                    f"{type(settings).__name__}: {', '.join(wrong or ['error'])} differ for a record of '{name}'"
                )
    return faults


@contextmanager
def released() -> Iterator[list[Any]]:
    """Collect the noisy tables that fits inside are given: what somebody sees who looks at all that was paid for."""
    found: list[Any] = []
    original = counter_module.PrivateCounter.tables

    def kept(self: Any, *args: Any, **options: Any) -> Any:
        tables = original(self, *args, **options)
        found.extend(tables)
        return tables

    with mock.patch.object(counter_module.PrivateCounter, "tables", kept):
        yield found


def spread_faults() -> list[str]:
    """The spread of released tables is what the charges state, in cells with records and without."""
    faults = []
    cells = 4_000
    rows = tuple((i,) for i in range(cells // 2))
    for settings, law in [
        (PrivBayes(epsilon=1.0, neighbours="add-remove"), "Laplace"),
        (PrivBayes(epsilon=0.4), "Laplace"),
        (BayesNet(epsilon=1.0, delta=1e-6), "Gaussian"),
    ]:
        with released() as tables:
            model = settings.fit(table_of((cells,), rows, len(rows)), seed=11)
        stated = float(model.fitted.privacy.charges[-1].noise.rsplit(" ", 1)[1])
        true = np.zeros(cells)
        np.add.at(true, [row[0] for row in rows], 1)
        gap = tables[-1].counts - true
        # The kurtosis of Laplace noise is 6, so the mean of gap^2 over c cells has a relative deviation of sqrt(5 / c) at most.
        for name, which in (("cells with records", true > 0), ("empty cells", true == 0)):
            found, some = float(np.mean(gap[which] ** 2)) ** 0.5, int(which.sum())
            slack = 7 * (5 / some) ** 0.5
            if not abs(found**2 / stated**2 - 1) <= slack:
                faults.append(
                    f"{law} noise of {name} has a deviation of {found:.3g}, stated {stated:.3g}"
                )
    return faults


CANARY_SCHEMA = Schema(
    (
        Column("word", "categorical", levels=("a", "b"), other=True),
        Column("number", "float", bounds=(0.0, 10_000.0), bins=10),
        Column(
            "day", "datetime", type="timestamp[s]", bounds=(-2_000_000_000, 2_000_000_000), bins=5
        ),
        Column("note", "text"),
    ),
    public=True,
    rows=8,
)
CANARIES = {
    "word": "qZxCanary",
    "number": 7341.615234375,
    "day": "1987-06-05 04:03:21",
    "note": "note-Kv81",
}
OUTSIDE = {
    "word": "wWyCanary",
    "number": 918273645.5,
    "day": "2187-06-05 04:03:21",
    "note": "note-Jb77",
}


def canary_source() -> pa.Table:
    """Return a table with a unique word, number, date and note inside the domain, and others outside."""
    import datetime

    plain = {"word": "a", "number": 5.0, "day": "1970-01-02 00:00:00", "note": "x"}
    rows = [plain] * 6 + [CANARIES, OUTSIDE]
    days = [datetime.datetime.fromisoformat(str(row["day"])) for row in rows]
    return pa.table(
        {
            "word": [row["word"] for row in rows],
            "number": [row["number"] for row in rows],
            "day": pa.array(days, pa.timestamp("s")),
            "note": [row["note"] for row in rows],
        }
    )


def planted(data: bytes) -> list[str]:
    """Return which canaries are found in bytes: spelled as text, or as the eight bytes of a number."""
    found = []
    for row in (CANARIES, OUTSIDE):
        moment = np.datetime64(str(row["day"]).replace(" ", "T"), "s").astype(np.int64)
        shapes = [
            str(row["word"]).encode(),
            str(row["note"]).encode(),
            np.float64(row["number"]).tobytes(),
        ]
        shapes += [
            str(row["number"]).encode(),
            str(row["day"])[:10].encode(),
            str(int(moment)).encode(),
        ]
        shapes += [np.int64(moment).tobytes(), np.float64(moment).tobytes()]
        found += [shape.decode(errors="replace") for shape in shapes if shape in data]
    return found


def canary_faults() -> list[str]:
    """Nothing written, printed or drawn holds a value that was planted in the data."""
    faults = []
    for settings in [PrivBayes(epsilon=1.0), BayesNet(epsilon=50.0, delta=1e-6)]:
        table = prepare_module.prepare(canary_source(), CANARY_SCHEMA)
        model = settings.fit(table, seed=3)
        drawn = model.sample(40, seed=4)
        with tempfile.TemporaryDirectory() as folder:
            model.save(path := Path(folder) / "m.chaffinch")
            parts = {"model file": path.read_bytes()}
        parts["JSON"] = json.dumps(model.to_dict()).encode()
        parts["page"] = (
            model._repr_html_() + model.fitted.privacy._repr_html_() + repr(model)
        ).encode()
        parts["rows drawn"] = json.dumps(drawn.data.to_pylist(), default=str).encode()
        faults += [
            f"{name} of {type(settings).__name__} holds a planted value"
            for name, b in parts.items()
            if planted(b)
        ]
    return faults


def repeat_faults() -> list[str]:
    """Fits without a seed differ, and say that they are real; fits with one say that they are not.

    Six cells with Laplace noise of scale 100 or more are all equal in two fits less than once in 10^12.
    """
    faults = []
    table = table_of((6,), ((0,), (1,)), 2)
    for settings in [PrivBayes(epsilon=0.01), BayesNet(epsilon=0.01)]:
        # Released tables are compared, not models: what is below 0 as a whole ends as the same model.
        with released() as tables:
            one, _ = settings.fit(table), settings.fit(table)
        if tables[0].counts.tolist() == tables[-1].counts.tolist():
            faults.append(
                f"two fits of {type(settings).__name__} without a seed have the same noise"
            )
        if one.fitted.privacy.test_only or not settings.fit(table, seed=1).fitted.privacy.test_only:
            faults.append(f"{type(settings).__name__} does not tell seeded noise from real")
    picks = [
        [opening.noise_of(None).exponential(np.zeros(64, np.int64), 1.0) for _ in range(8)]
        for _ in range(2)
    ]
    if picks[0] == picks[1]:  # once in 64^8
        faults.append("two rows of choices without a seed are the same")
    return faults


def sibling_faults() -> list[str]:
    """Columns with the same parent are independent given it, in rows drawn from a model (chi-square, odds stated above)."""
    from chaffinch.counts.marginal import Marginal
    from chaffinch.synth.bayesnet.model import FitSummary
    from chaffinch.synth.noisy import private_model

    schema = table_of((2, 3, 3), ()).schema
    account = ledger_module.Ledger(Budget(1.0), PrivacyUnit("add-remove")).account(
        test_only=True, rows=9, rows_how="declared"
    )
    tables = [Marginal(("c0",), (2,), np.array([5.0, 4.0]))]
    tables += [
        Marginal(("c0", name), (2, 3), np.array([[1.0, 2, 2], [2, 1, 1]])) for name in ("c1", "c2")
    ]
    model = private_model(
        schema,
        (0, 1, 2),
        ((), (0,), (0,)),
        tables,
        FitSummary("test", "test", "R", privacy=account),
    )
    drawn = model.sample(6_000, seed=17)
    c0, c1, c2 = (drawn.code(f"c{i}").astype(np.int64) for i in range(3))
    faults = []
    for given in (0, 1):
        counts = np.bincount(3 * c1[c0 == given] + c2[c0 == given], minlength=9).reshape(3, 3)
        if stats.chi2_contingency(counts + 1e-12).pvalue < ODDS:
            faults.append(f"siblings hang together where their parent is {given}")
    return faults


def grid_faults() -> list[str]:
    """Released counts are whole numbers of an integer type, and released distances whole multiples of their step."""
    faults: set[str] = set()
    distances = counter_module.PrivateCounter.distances

    def kept(self: Any, *args: Any, **options: Any) -> Any:
        values, std = distances(self, *args, **options)
        if (values * 2**10 != np.rint(values * 2**10)).any():
            faults.add("released distances leave their grid")
        return values, std

    with released() as tables, mock.patch.object(counter_module.PrivateCounter, "distances", kept):
        rows = ((0, 0, 0), (1, 1, 1))
        for seed in (None, 1):
            PrivBayes(epsilon=1.0).fit(table_of(BINARY, rows, 2), seed=seed)
            BayesNet(epsilon=1.0).fit(table_of(BINARY, rows), seed=seed)
    if any(
        table.counts.dtype.kind != "i" or (table.counts != np.rint(table.counts)).any()
        for table in tables
    ):
        faults.add("released counts are no whole numbers: their low bits tell")
    return sorted(faults)


@dataclass
class Watched:
    """A counter that notes every touch; the data of a fit."""

    inner: MemoryCounter
    events: list[tuple[Any, ...]]

    @property
    def schema(self) -> Schema:
        """The schema: public."""
        return self.inner.schema

    @property
    def n_rows(self) -> int:
        """The number of rows: a touch."""
        self.events.append(("rows",))
        return self.inner.n_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> Any:
        """Return tables: a touch."""
        self.events.append(("tables", [tuple(clique) for clique in cliques]))
        return self.inner.marginals(cliques)


def events_of(settings: Any, table: Any) -> list[tuple[Any, ...]]:
    """Return charges, touches, answers of the noise and the closing of the ledger, in the order in which a fit makes them."""
    events: list[tuple[Any, ...]] = []
    charge, close = ledger_module.Ledger.charge, ledger_module.Ledger.close

    def noted(self: Any, item: Any) -> None:
        charge(self, item)
        events.append(("charge", item.what))

    def closed(self: Any) -> None:
        events.append(("close",))
        close(self)

    noise = Scripted((1, 1))
    for name in ("_measured", "_picked"):
        inner = getattr(noise, name)
        setattr(noise, name, lambda *a, inner=inner: (events.append(("noise",)), inner(*a))[1])
    with (
        scripted(noise),
        mock.patch.object(ledger_module.Ledger, "charge", noted),
        mock.patch.object(ledger_module.Ledger, "close", closed),
    ):
        settings.fit(Watched(MemoryCounter(table), events), seed=5)
    return events


def touch_faults() -> list[str]:
    """Every touch of the data has been charged, is within what the charge names, and lies before the ledger closes.

    A charge pays for the touches up to the answer of the noise that follows it. Tables of one question may be charged together, before the
    first of them is touched: they are then touched, and answered, in the order of their charges. The number of rows may be compared for free
    where the relation makes it public.
    """
    faults: set[str] = set()
    for settings in [
        *SMALL,
        BayesNet(epsilon=1.0),
        BayesNet(epsilon=1.0, delta=1e-6, neighbours="replace-one"),
    ]:
        paid: list[str] = []
        answered = closed = False
        rows = ((0, 0, 0), (1, 1, 1))
        for event in events_of(
            settings, table_of(BINARY, rows, 2 if settings.unit.bounded else None)
        ):
            if event[0] == "charge":
                together = (
                    all(what.startswith("table of ") for what in (*paid, event[1])) and not answered
                )
                if paid and not together:
                    faults.add(f"'{paid[0]}' was charged and not answered")
                    paid = []
                paid.append(event[1])
                answered = False
            elif event[0] == "noise":
                if not paid:
                    faults.add("an answer was given that was not charged")
                paid, answered = paid[1:], True
            elif event[0] == "close":
                closed = True
                if paid:
                    faults.add(f"'{paid[0]}' was charged and not answered")
            elif closed:
                faults.add("data were touched after the last charge")
            elif event[0] == "tables":
                named = [what.removeprefix("table of ") for what in paid]
                asked = [", ".join(clique) for clique in event[1]]
                if not paid or (named != paid and asked != named[: len(asked)]):
                    faults.add("a table was touched that was not charged")
            elif (
                not "".join(paid[:1]).startswith(("number of rows", "choice"))
                and not settings.unit.bounded
            ):
                faults.add("the number of rows was touched and not charged")
    return sorted(faults)


def sum_faults() -> list[str]:
    """The account adds up, agrees with the plan, and each charge buys the noise that was drawn."""
    faults = []
    for settings in [
        *SMALL,
        BayesNet(epsilon=1.0),
        BayesNet(epsilon=1.0, delta=1e-6, neighbours="replace-one"),
    ]:
        noise = Scripted((1, 1))
        with scripted(noise):
            account = settings.fit(
                table_of(BINARY, ((0, 0, 0), (1, 1, 1)), 2), seed=5
            ).fitted.privacy
        name = f"{type(settings).__name__} under {settings.neighbours}"
        costs = [charge.epsilon or charge.rho for charge in account.charges]
        if not sum(costs) <= account.budget.total * (1 + 1e-9) or not isclose(
            sum(costs), account.spent, rel_tol=1e-9
        ):
            faults.append(f"the charges of {name} do not add up")
        planned = settings.plan(schema_of(BINARY, 2)).total
        least = (
            planned if isinstance(settings, PrivBayes) else 0.0
        )  # where no link is worth it, BayesNet spends less
        if not least * (1 - 1e-6) <= account.spent <= planned * (1 + 1e-6):
            faults.append(f"{name} planned {planned:.6g} and spent {account.spent:.6g}")
        if len(noise.calls) != len(costs):
            faults.append(f"{name} drew noise {len(noise.calls)} times for {len(costs)} charges")
        for charge, cost, call in zip(account.charges, costs, noise.calls, strict=False):
            if charge.what.startswith("table of"):
                apart = 2 if settings.neighbours == "replace-one" else 1  # in L1, and squared in L2
                bought = (
                    apart / call.scale if call.kind == "laplace" else apart / (2 * call.scale**2)
                )
                right = isclose(bought, cost, rel_tol=1e-6)
                if (
                    account.budget.kind == "gaussian"
                ):  # to be whole-numbered takes a variance of more than a tenth, less than one
                    right = (
                        apart / (2 * (call.scale**2 - 0.1))
                        < cost
                        < apart / (2 * (call.scale**2 - 1))
                    )
                if not right:
                    faults.append(
                        f"a table of {name} has noise for {bought:.4g} and a charge of {cost:.4g}"
                    )
    return faults


def choice_faults() -> list[str]:
    """Choices are drawn from their law, also where scores are huge (chi-square, odds stated above)."""
    faults = []
    for seed in (None, 23):
        source = noise_module.noise_of(seed)
        for name in ("exponential", "permute_and_flip"):
            for start in (0, 2**45):
                scores = np.array([start, start + 2, start + 5, start + 6])
                law = PROBABILITIES[name](scores, 3.0)
                drawn = np.bincount(
                    [getattr(source, name)(scores, 3.0) for _ in range(250)], minlength=4
                )
                if stats.chisquare(drawn, 250 * law).pvalue < ODDS:
                    faults.append(f"{name} is not drawn from its law at scores from {start}")
            if {getattr(source, name)(np.array([0, 2**40, 7]), 1.0) for _ in range(30)} != {1}:
                faults.append(f"{name} loses a score that is far ahead")
    return faults


CHECKS: dict[str, Callable[[], list[str]]] = {
    "exact loss": loss_faults,
    "realised sensitivity": sensitivity_faults,
    "same answers, same model": same_faults,
    "spread": spread_faults,
    "canaries": canary_faults,
    "repeated fits": repeat_faults,
    "siblings": sibling_faults,
    "grid": grid_faults,
    "touches": touch_faults,
    "sums": sum_faults,
    "law of choices": choice_faults,
}


def forget() -> None:
    """Forget prepared tables: before and after a part is broken, and mended."""
    _domain.cache_clear()


def distinguished(hits: int, misses: int, runs: int, *, confidence: float) -> float:
    """Return a lower bound on epsilon from how often an event was seen on two neighbours, `runs` times each.

    The event is settled beforehand. P is at least its Clopper-Pearson bound from below, Q at most its own from above, each but for half
    of 1 - confidence; epsilon is at least log(P / Q).
    """
    half = (1 - confidence) / 2
    low = float(stats.beta.ppf(half, hits, runs - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - half, misses + 1, runs - misses)) if misses < runs else 1.0
    return max(0.0, log(low / high)) if low > 0 else 0.0
