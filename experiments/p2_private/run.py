"""Ask whether protected columns still pay under noise: the attacks of P0 and P2 and the worth of their tables, with and without epsilon.

python -m experiments.p2_private.run [cmc] [adult]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import read_rows, run_parts
from benchmarks.data import BUNDLED, adult, bundled
from chaffinch import BayesNet
from chaffinch.privacy.prepare import prepare
from chaffinch.risk import ATTACKERS as REGISTERED
from chaffinch.risk import RiskSettings
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attempt import AttackContext, run_attackers
from chaffinch.stats.learners import Encoder, chosen_models, fit, standardise, work
from chaffinch.synth.options import Protect
from chaffinch.table import Table
from chaffinch.table.schema_file import as_schema
from chaffinch.utility.tvd import total_variation
from experiments.training import halves, save

HERE = Path(__file__).resolve().parent

FITS = {"cmc": 10, "adult": 5}
FEW = 4_000
"""The most records that a learner learns from, and the most people asked about on either side."""
EPSILONS = (None, 10.0, 1.0)
DELTA = 1e-6
ATTACKERS = ("gcap", "knn", "lr")
LEARNERS = ("nb", "rf", "lr")
"""Of the label. The attackers do without naive Bayes: on these codes it often loses to the zero rule."""
REFERENCES = ("original", "label_only", "zero_rule")
SIDES = ("members", "outsiders", "difference", "excess")
"""Who is asked about; how much more is told about members; and the same less that of the zero rule, fit by fit."""
Cells = dict[tuple[Any, ...], list[float]]
"""Figures by what they are of, one for each fit."""


@dataclass(frozen=True)
class Scenario:
    """What an attacker knows and wants, the label that is to stay, and the synthesisers of the paper."""

    paper: str
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str
    parents: int
    protections: tuple[Protect, ...]
    key_sizes: tuple[int, int] | None = None

    def makers(self, epsilon: float | None) -> Iterator[tuple[str, BayesNet]]:
        """Return each synthesiser by its protection; "open" has none.

        "separate" cuts links and also makes sure of those from the label to the sensitive columns. "linked" does the second alone.
        """
        open_ = BayesNet(
            parents=self.parents,
            search="genetic",
            epsilon=epsilon,
            delta=None if epsilon is None else DELTA,
        )
        yield "open", open_
        for how in self.protections:
            yield how, replace(open_, label=self.label, sensitive=self.sensitive, protect=how)
        if self.paper == "P2":
            yield (
                "linked",
                replace(open_, require=tuple((self.label, name) for name in self.sensitive)),
            )


def scenarios(dataset: str) -> list[Scenario]:
    """Return the scenario of P0 (table VIII) and that of P2 (table II)."""
    out = []
    for paper, file in (
        ("P0", "p0_disclosure/p0_table08_scenarios.csv"),
        ("P2", "p2_disclosure/p2_table02_roles.csv"),
    ):
        rows = [row for row in read_rows(HERE.parent / file) if row["dataset"] == dataset]
        keys, sensitive, (label,) = (
            tuple(row["column"] for row in rows if row["role"] == role)
            for role in ("key", "sensitive", "label")
        )
        if paper == "P0":  # one protected column: both methods are the same
            size = (4, 4) if dataset == "cmc" else (5, 5)
            out.append(Scenario(paper, keys, sensitive, label, 4, ("separate",), size))
        else:
            out.append(Scenario(paper, keys, sensitive, label, 3, ("separate", "together")))
    return out


def sides(dataset: str, seed: int) -> tuple[Table, Table]:
    """Return the people that synthesisers learn from, and outsiders, under the declared domain and a public number of rows."""
    schema = as_schema(BUNDLED / f"{dataset}_declared.toml")
    assert schema is not None
    if dataset == "adult":
        members, outsiders = adult("train"), adult("test")
        return prepare(members, replace(schema, rows=members.num_rows)), prepare(outsiders, schema)
    train, test = halves(prepare(bundled(dataset), schema), 0.2, seed)
    return replace(train, schema=replace(train.schema, rows=train.n_rows)), test


def some(table: Table, seed: int) -> Table:
    """Return at most `FEW` records of a table, drawn at random."""
    return table.take(np.sort(np.random.default_rng(seed).permutation(table.n_rows)[:FEW]))


def attack(
    scenario: Scenario,
    members: Table,
    outsiders: Table,
    made: Mapping[Any, Table],
    seed: int,
    to: Cells,
) -> None:
    """Add what attackers say about members and outsiders, from each table that was made and from the references, in per cent."""
    settings = RiskSettings(
        keys=scenario.keys,
        sensitive=scenario.sensitive,
        key_sizes=scenario.key_sizes,
        label=scenario.label,
        attackers=("gcap_vote", *ATTACKERS[1:]),
        numeric="bins",
        rare="pool",
    )
    people, others = some(members, seed), some(outsiders, seed)
    sources = {(None, "original"): members, **made}
    for learning in (False, True):
        tables = (
            [some(table, seed) for table in sources.values()]
            if learning
            else list(sources.values())
        )
        data = AttackData.from_tables(
            people,
            tables,
            others,
            columns=settings.columns,
            numeric=settings.numeric,
            rare=settings.rare,
        )
        data = data.with_label_only(tables[0].n_rows, scenario.sensitive, scenario.label, seed)
        names = dict(
            zip([*sources, (None, "label_only")], [*data.synthetics, "label_only"], strict=True)
        )
        for question in settings.questions(np.random.SeedSequence(seed)):
            asked = replace(
                question,
                attackers=tuple(a for a in question.attackers if REGISTERED[a].learns == learning),
            )
            share = np.bincount(data.values("original", question.sensitive)).argmax()
            for side, who in (("members", "original"), ("outsiders", "holdout")):
                right = float((data.values(who, question.sensitive) == share).mean())
                _add(to, (question.sensitive, None, "zero_rule", "", side), right)
            for (epsilon, name), source in names.items():
                for attacker, found in run_attackers(
                    AttackContext(data, source, ("original", "holdout"), asked, seed=seed)
                ).items():
                    shown = attacker.removesuffix("_vote")
                    for side, one in zip(("members", "outsiders"), found, strict=True):
                        assert one.value is not None
                        _add(to, (question.sensitive, epsilon, name, shown, side), one.value)


def _add(to: Cells, key: tuple[Any, ...], share: float) -> None:
    to.setdefault(key, []).append(100 * share)


def label_accuracy(train: Table, test: Table, label: str, seed: int) -> dict[str, float]:
    """Return how often each learner, trained on at most `FEW` records, says the label of outsiders, in per cent."""
    train = some(train, seed)
    encoder = Encoder.from_tables(
        [train, test], [name for name in train.schema.names if name != label]
    )
    matrix, tested = standardise(encoder.matrix(train), encoder.matrix(test), scaled=encoder.scaled)
    classes, truth = train.code(label).astype(np.int64), test.code(label)
    models, _ = chosen_models(list(LEARNERS), task="classification")

    def one(name: str) -> float:
        said = fit(models[name], matrix, classes, [tested], seed=seed).answers[0].predicted
        return 100 * float((said == truth).mean())

    return dict(zip(models, work(one, list(models)), strict=True))


def distances(
    original: Table, other: Table, sensitive: Sequence[str], label: str
) -> dict[str, float]:
    """Return the mean total variation of pairs of columns, in per cent: of all, and by what protection does to them.

    "cut" has a sensitive column and another than the label; "label" a sensitive column and the label; "rest" neither.
    """
    held: dict[str, list[float]] = {"tv_all": [], "tv_cut": [], "tv_label": [], "tv_rest": []}
    for a, b in combinations(original.schema.names, 2):
        p, q = _shares(original, a, b), _shares(other, a, b)
        value = 100 * total_variation(p, q)
        touched = bool({a, b} & set(sensitive))
        kind = "tv_rest" if not touched else "tv_label" if label in (a, b) else "tv_cut"
        held["tv_all"].append(value)
        held[kind].append(value)
    return {kind: float(np.mean(values)) for kind, values in held.items()}


def _shares(table: Table, a: str, b: str) -> NDArray[np.float64]:
    sizes = table.schema.sizes
    names = table.schema.names
    width, height = sizes[names.index(b)], sizes[names.index(a)]
    cells = table.code(a).astype(np.int64) * width + table.code(b)
    return np.bincount(cells, minlength=height * width) / table.n_rows


def measured(dataset: str, scenario: Scenario) -> tuple[Cells, Cells]:
    """Return what attackers found and what tables are worth, one figure for each fit."""
    attacks: Cells = {}
    worth: Cells = {}
    for seed in range(FITS[dataset]):
        members, outsiders = sides(dataset, seed)
        made = {
            (epsilon, name): maker.fit(members, seed=seed).sample(members.n_rows, seed=100 + seed)
            for epsilon in EPSILONS
            for name, maker in scenario.makers(epsilon)
        }
        once: Cells = {}
        attack(scenario, members, outsiders, made, seed, once)
        for key, values in once.items():  # the mean over key sets is the figure of a fit
            attacks.setdefault(key, []).append(float(np.mean(values)))
        codes = np.bincount(members.code(scenario.label))
        zero = 100 * float((outsiders.code(scenario.label) == codes.argmax()).mean())
        worth.setdefault((None, "zero_rule", "accuracy"), []).append(zero)
        for (epsilon, name), table in {(None, "original"): members, **made}.items():
            found = label_accuracy(table, outsiders, scenario.label, seed)
            figures = {f"accuracy_{learner}": value for learner, value in found.items()}
            figures["accuracy"] = float(np.mean(list(found.values())))
            compared = (
                outsiders if name == "original" else table
            )  # for the original: how far a fresh sample lies
            figures |= distances(members, compared, scenario.sensitive, scenario.label)
            for measure, value in figures.items():
                worth.setdefault((epsilon, name, measure), []).append(value)
        print(".", end="", flush=True)
    return attacks, worth


def with_averages(cells: Cells) -> Cells:
    """Return the figures with the mean over attackers, then over sensitive columns, fit by fit."""
    out = dict(cells)
    groups: dict[tuple[Any, ...], list[list[float]]] = {}
    for (sensitive, epsilon, name, attacker, side), values in cells.items():
        for column in (sensitive, "avg"):
            groups.setdefault((column, epsilon, name, "avg" if attacker else "", side), []).append(
                values
            )
            if column == "avg":
                groups.setdefault((column, epsilon, name, attacker, side), []).append(values)
    out |= {key: np.mean(lists, axis=0).tolist() for key, lists in groups.items()}
    for (sensitive, epsilon, name, attacker, side), values in list(out.items()):
        if side == "members":
            gap = np.subtract(values, out[sensitive, epsilon, name, attacker, "outsiders"])
            # One side may be easier to guess by the draw of a split; that is no news about members.
            fair = np.subtract(
                *(out[sensitive, None, "zero_rule", "", who] for who in ("members", "outsiders"))
            )
            out[sensitive, epsilon, name, attacker, "difference"] = gap.tolist()
            out[sensitive, epsilon, name, attacker, "excess"] = (gap - fair).tolist()
    return out


def told(values: Sequence[float]) -> list[str]:
    """Return the mean and its standard error, as text."""
    return [f"{np.mean(values):.2f}", f"{np.std(values, ddof=1) / len(values) ** 0.5:.2f}"]


def shown(epsilon: float | None) -> str:
    """Return epsilon as text."""
    return "none" if epsilon is None else f"{epsilon:g}"


def protect(dataset: str) -> None:
    """Write attacks, worth, and what protection saves and costs at each epsilon, fit by fit."""
    attacks: list[list[Any]] = []
    worth: list[list[Any]] = []
    pays: list[list[Any]] = []
    for scenario in scenarios(dataset):
        found, figures = measured(dataset, scenario)
        cells = with_averages(found)
        for sensitive, epsilon, name, attacker in dict.fromkeys(key[:4] for key in cells):
            eps = "" if name in REFERENCES else shown(epsilon)
            parts = [cells[sensitive, epsilon, name, attacker, side] for side in SIDES]
            row = [scenario.paper, dataset, sensitive, eps, name, attacker, len(parts[0])]
            attacks.append(row + [cell for values in parts for cell in told(values)])
        for (epsilon, name, measure), values in figures.items():
            eps = "" if name in REFERENCES else shown(epsilon)
            worth.append([scenario.paper, dataset, eps, name, measure, len(values), *told(values)])
        for epsilon in EPSILONS:
            for how in (*scenario.protections, *(["linked"] if scenario.paper == "P2" else [])):
                head = [scenario.paper, dataset, shown(epsilon), how]
                for sensitive in dict.fromkeys(key[0] for key in cells):
                    for attacker in (*ATTACKERS, "avg"):
                        before, after, floor = (
                            np.array(cells[sensitive, *where, attacker, "members"])
                            for where in ((epsilon, "open"), (epsilon, how), (None, "label_only"))
                        )
                        pays.append(
                            [
                                *head,
                                f"attack on {sensitive}",
                                attacker,
                                *told(before - after),
                                *told(after - floor),
                            ]
                        )
                for measure in dict.fromkeys(key[2] for key in figures):
                    before, after = (
                        np.array(figures[epsilon, name, measure]) for name in ("open", how)
                    )
                    pays.append([*head, measure, "", *told(before - after), "", ""])
    head = ["paper", "dataset", "sensitive", "epsilon", "learnt_from", "attacker", "fits"]
    pairs = [cell for side in SIDES for cell in (side, f"{side} s.e.")]
    save(HERE, f"{dataset}_attacks", [*head, *pairs], attacks)
    save(
        HERE,
        f"{dataset}_worth",
        ["paper", "dataset", "epsilon", "table", "measure", "fits", "value", "s.e."],
        worth,
    )
    head = ["paper", "dataset", "epsilon", "protection", "measure", "attacker"]
    save(
        HERE,
        f"{dataset}_pays",
        [*head, "open less protected", "s.e.", "protected less label only", "floor s.e."],
        pays,
    )
    save(HERE, f"{dataset}_best", BEST, best(dataset))


BEST = [
    "paper",
    "dataset",
    "sensitive",
    "epsilon",
    "learnt_from",
    "best attacker",
    "members",
    "s.e.",
    "guess",
    "above guess",
]


def best(dataset: str) -> Iterator[list[Any]]:
    """Return the attacker with the highest mean for each sensitive column and source: who does worse than a guess would guess."""
    rows = read_rows(HERE / f"{dataset}_attacks.csv")
    named = [row for row in rows if row["sensitive"] != "avg" and row["attacker"] != "avg"]
    guess = {
        (row["paper"], row["sensitive"]): row["members"]
        for row in named
        if row["learnt_from"] == "zero_rule"
    }
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in named:
        if row["learnt_from"] != "zero_rule":
            key = tuple(
                row[name] for name in ("paper", "dataset", "sensitive", "epsilon", "learnt_from")
            )
            groups.setdefault(key, []).append(row)
    for key, held in groups.items():
        top = max(held, key=lambda row: float(row["members"]))
        zero = guess[key[0], key[2]]
        above = f"{float(top['members']) - float(zero):.2f}"
        yield [*key, top["attacker"], top["members"], top["members s.e."], zero, above]


if __name__ == "__main__":
    run_parts({dataset: partial(protect, dataset) for dataset in FITS})
