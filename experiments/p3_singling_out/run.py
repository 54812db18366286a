"""Rerun P3 figures 12 to 15: predicate singling out from private synthetic tables over epsilon, with independent noise in every fit.

python -m experiments.p3_singling_out.run [--only TEXT ...] [--pairs 250] [--releases 500] [--tables 3] [--paper-pairs 60] [--paper-tables 4] [--paper-releases 500] [--searches 4]

Each point is written to results.csv when it is done; a run that was stopped goes on. --only keeps points whose name has one of the texts. Without anything left to
run, the figures and the table of the README are written again from results.csv.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from benchmarks.common import Option, read_rows, run_study
from chaffinch import BayesNet, PrivBayes, Table
from chaffinch._base.runtime import one_thread
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.membership.forests import SEARCH
from chaffinch.risk.membership.learning import ShadowStudy
from chaffinch.risk.membership.settings import SinglingOutSettings
from chaffinch.risk.shadows import Generator, Working, world_of
from chaffinch.risk.shadows.world import fresh_draws
from chaffinch.risk.singling_out import baseline, judge_shadows
from chaffinch.stats.intervals import clopper_pearson
from experiments.cells import append_rows
from experiments.p3_population import declared, population
from experiments.p3_singling_out.compiled import CompiledGenerator, PackagePrivBayes
from experiments.p3_singling_out.paper_attack import PaperPlan, paper_attack
from experiments.p3_singling_out.showing import draw, tabulate
from experiments.training import machine

HERE = Path(__file__).resolve().parent

FIGURES = {
    12: ("adult", 1_000, 5_000),
    13: ("cardio", 100, 500),
    14: ("cardio", 1_000, 5_000),
    15: ("cardio", 6_000, 30_000),
}
EPSILONS = (0.1, 1.0, 10.0, 100.0, 1000.0)
TARGETS = 50
SEARCHED = 10.0
"""Where the random search for the paper's classifiers is made; its settings are used at the other epsilons of a figure and synthesiser."""
PACKAGES = ("dpart", "sdg")
LIBRARY = (12, 13)
"""Figures whose declared arm is fitted by `chaffinch.PrivBayes`; the others, and all that reads levels from the data, by `compiled.py`, which is quicker."""
FULL = PaperPlan(pairs=100, tables=10, releases=1000, searches=4)
"""The published code cuts the tables of a target's 1,000 pairs to the first 1,000 with it and 1,000 without it: those of 100 pairs."""
SEARCHES = HERE / "searches.csv"
KEY = ("figure", "synthesiser", "epsilon", "box", "levels", "noise", "attack")
HEAD = [
    "figure",
    "dataset",
    "rows",
    "population",
    "synthesiser",
    "epsilon",
    "box",
    "levels",
    "noise",
    "attack",
    "success",
    "low",
    "high",
    "baseline",
    "closest row",
    "AUC of attackers",
    "pairs",
    "tables",
    "releases",
    "searches",
    "CPU seconds",
]


@dataclass(frozen=True)
class Setting:
    """One point of a figure.

    `levels`: declared, or read from the data. `noise`: independent, the same in every fit, or the same seed in every fit and for every draw (`compiled.py`). `attack`: "ours" (shadows shared by all targets, the
    combined attacker), "paper" (pairs of shadows for each target, extra trees with a random search, the highest raw score), or "paper in full": the same with
    as much evidence as the published code's classifiers learn from.
    """

    figure: int
    synthesiser: str
    epsilon: float | None
    box: str = "blackbox"
    levels: str = "declared"
    noise: str = "independent"
    attack: str = "ours"

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it apart in results.csv."""
        epsilon = "" if self.epsilon is None else f"{self.epsilon:g}"
        return (
            str(self.figure),
            self.synthesiser,
            epsilon,
            self.box,
            self.levels,
            self.noise,
            self.attack,
        )

    @property
    def words(self) -> str:
        """The same in a line, for --only."""
        figure, name, epsilon, *others = self.key
        return f"figure{figure} {name} {epsilon or 'none'} {' '.join(others)}"

    @property
    def maker(self) -> Any:
        """What is attacked."""
        if self.epsilon is None:
            return BayesNet()
        if self.synthesiser == "bayesnet":
            return BayesNet(epsilon=self.epsilon, delta=1e-6, draw="independent")
        if (
            self.figure in LIBRARY
            and self.levels == "declared"
            and self.noise == "independent"
            and self.attack == "ours"
        ):
            return PrivBayes(self.epsilon, variant=self.synthesiser, draw="independent")  # type: ignore[arg-type]
        return PackagePrivBayes(self.synthesiser, self.epsilon, self.levels, self.noise)  # type: ignore[arg-type]

    @property
    def first(self) -> Setting:
        """The setting at whose epsilon the classifiers of the paper's attack are searched for all epsilons."""
        return replace(self, epsilon=SEARCHED, attack="paper", noise="independent")


def settings() -> Iterator[Setting]:
    """Yield all points, those that the comparison rests on first."""
    searched_first = sorted(EPSILONS, key=lambda epsilon: epsilon != SEARCHED)
    yield from (
        Setting(13, name, epsilon, levels="data", attack="paper")
        for epsilon in searched_first
        for name in PACKAGES
    )
    yield from (
        Setting(14, name, epsilon, levels="data") for epsilon in EPSILONS for name in PACKAGES
    )
    yield from (
        Setting(12, name, epsilon, levels="data", attack="paper")
        for epsilon in searched_first
        for name in PACKAGES
    )
    for levels, figures in (("data", (15,)), ("declared", (13, 12, 15, 14)), ("data", (13, 12))):
        for figure in figures:
            yield from (
                Setting(figure, name, epsilon, levels=levels)
                for epsilon in EPSILONS
                for name in PACKAGES
            )
    yield from (Setting(13, name, 1000.0, "whitebox", "data", attack="paper") for name in PACKAGES)
    yield from (
        Setting(13, name, SEARCHED, levels="data", attack="paper in full") for name in PACKAGES
    )
    for figure in (13, 12):
        yield from (
            Setting(figure, name, epsilon, levels="data", noise="same seed", attack="paper")
            for epsilon in searched_first
            for name in PACKAGES
        )
    for figure in (13, 12):
        yield from (Setting(figure, "bayesnet", epsilon) for epsilon in (None, *EPSILONS))
    yield from (Setting(14, "bayesnet", epsilon) for epsilon in (None, 10.0))
    yield Setting(15, "bayesnet", None)
    yield from (
        Setting(13, name, epsilon, attack="paper")
        for epsilon in searched_first
        for name in PACKAGES
    )
    yield from (Setting(13, name, epsilon, "whitebox") for epsilon in EPSILONS for name in PACKAGES)


def world(figure: int) -> Table:
    """Return the population of a figure: drawn once, the same for all its settings."""
    dataset, rows, size = FIGURES[figure]
    frame = population(dataset)
    drawn = frame.iloc[np.random.default_rng(figure).permutation(len(frame))[:size]]
    return prepare(drawn, declared(frame, rows))


def attacked(
    setting: Setting, table: Table, plan: SinglingOutSettings, releases: int, workers: int | None
) -> list[str]:
    """Return success, its interval, the baseline, the closest row's success and the mean AUC: our attack."""
    whom = world_of(
        table, targets=TARGETS, rows=FIGURES[setting.figure][1], ranking="hamming", equal="codes"
    )
    kind = CompiledGenerator if isinstance(setting.maker, PackagePrivBayes) else Generator
    seed = np.random.SeedSequence(setting.figure)
    campaign = ShadowStudy(
        whom, kind(setting.maker, whom.table, "population"), plan, seed, Working(workers)
    )
    learnt = campaign.learnt()
    rng = np.random.default_rng(campaign.stream(5))
    draws = fresh_draws(whom.n_population, whom.targets, rows=whom.rows, shadows=releases, rng=rng)
    found = judge_shadows(learnt, learnt.look(draws, "attack", 6), rng)
    numbers = (
        found.success,
        *found.interval,
        baseline(whom.rows, whom.n_population),
        found.closest.success,
        np.mean(found.aucs),
    )
    return [f"{number:.4f}" for number in numbers]


def attacked_as_printed(setting: Setting, table: Table, plan: PaperPlan) -> list[str]:
    """Return the same of the paper's attack; nothing for the closest row, which the paper does not look for."""
    whom = world_of(
        table, targets=TARGETS, rows=FIGURES[setting.figure][1], ranking="hamming", equal="codes"
    )
    known = searches().get(setting.first.key)
    with one_thread():  # many points are run side by side, or beside other work
        found = paper_attack(
            whom, setting.maker, plan, box=setting.box, seed=setting.figure, known=known
        )  # type: ignore[arg-type]
    if known is None:
        append_rows(
            SEARCHES,
            [*KEY, *SEARCH],
            [[*setting.key, *(one[name] for name in SEARCH)] for one in found.settings],
        )
    low, high = clopper_pearson(found.right, plan.releases)
    told = [f"{number:.4f}" for number in (found.right / plan.releases, low, high, whom.share)]
    return [*told, "", f"{np.mean(found.aucs):.4f}"]


def searches() -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Return the settings of trees that searches have found, by the setting that was attacked."""
    out: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in read_rows(SEARCHES):
        found = {
            name: {"True": True, "False": False}.get(
                row[name], int(row[name]) if row[name].isdigit() else row[name]
            )
            for name in SEARCH
        }
        out.setdefault(tuple(row[name] for name in KEY), []).append(found)
    return out


def main(
    *,
    only: tuple[str, ...] = (),
    pairs: int = 250,
    releases: int = 500,
    tables: int = 3,
    paper_pairs: int = 60,
    paper_tables: int = 4,
    paper_releases: int = 500,
    searches: Annotated[
        int,
        Option(
            f"targets for which settings are searched at epsilon {SEARCHED:g}; {TARGETS} at each in the paper"
        ),
    ] = 4,
    workers: int | None = None,
    results: Path = HERE / "results.csv",
) -> None:
    """Run what is not yet in results.csv."""
    done = {tuple(row[name] for name in KEY) for row in read_rows(results)}
    worlds: dict[int, Table] = {}
    for setting in settings():
        if setting.key in done or (only and not any(text in setting.words for text in only)):
            continue
        figure = setting.figure
        if figure not in worlds:
            worlds[figure] = world(figure)
        began = time.process_time()
        if setting.attack != "ours":
            paper = PaperPlan(
                paper_pairs,
                1 if setting.box == "whitebox" else paper_tables,
                paper_releases,
                searches,
            )
            paper = FULL if setting.attack == "paper in full" else paper
            numbers = attacked_as_printed(setting, worlds[figure], paper)
            evidence = [paper.pairs, paper.tables, paper.releases, paper.searches]
        else:
            plan = SinglingOutSettings(
                shadows=pairs,
                tables_per_shadow=tables,
                access=setting.box,
                grid="population",
            )  # type: ignore[arg-type]
            numbers = attacked(setting, worlds[figure], plan, releases, workers)
            evidence = [
                pairs,
                1 if setting.box == "whitebox" else tables,
                releases,
                "",
            ]
        (_, name, epsilon, *others), sizes = setting.key, FIGURES[figure]
        row = [
            figure,
            *sizes,
            name,
            epsilon,
            *others,
            *numbers,
            *evidence,
            f"{time.process_time() - began:.0f}",
        ]
        append_rows(results, HEAD, [row])
        (HERE / "machine.txt").write_text(machine("scikit-learn") + "\n")
        done.add(setting.key)
        print(*row, flush=True)


if __name__ == "__main__":
    run_study(main)
    draw(FIGURES, EPSILONS)
    tabulate(FIGURES, EPSILONS)
