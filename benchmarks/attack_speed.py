"""Attacks by shadow modelling: one setting of P3's figure 12 and one of figure 15 from end to end, the cost of a shadow beside
DataSynthesizer's, the default meta-classifier beside P3's, and extremely randomised trees beside scikit-learn's.

python -m benchmarks.attack_speed [figure12] [figure15] [fits] [classifiers] [forests]

Figure 12: 50 targets, evidence of 1,000 shadow pairs (2,000 fits shared by all targets), 10 synthetic tables each, 1,000 attacked releases. Figure 15, whose tables
are six times as long: that of 250 pairs, 3 tables and 500 releases, as in experiments/p3_singling_out.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.common import SCRATCH, save
from benchmarks.peers import datasynthesizer
from chaffinch import BayesNet, PrivBayes, Table
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.membership.attacker import folds, learner
from chaffinch.risk.membership.features import black_box
from chaffinch.risk.membership.forests import chances_out_of_fold, in_columns
from chaffinch.risk.membership.rates import LabelledScores
from chaffinch.risk.membership.settings import ShadowSettings
from chaffinch.risk.shadows import Generator, Working, run_shadows, shared_draws, world_of
from chaffinch.risk.singling_out import singling_out
from chaffinch.stats.intervals import clustered_auc
from chaffinch.stats.learners import auc
from experiments.p3_population import declared, population

FIGURES = {"figure12": ("adult", 1_000, 5_000), "figure15": ("cardio", 6_000, 30_000)}
EVIDENCE = {"figure12": (1000, 10, 1000), "figure15": (250, 3, 500)}
"""Pairs of shadows, tables of each fit, and attacked releases."""


def drawn(dataset: str, rows: int, size: int) -> Table:
    """Return a population drawn from a dataset."""
    frame = population(dataset)
    return prepare(
        frame.iloc[np.random.default_rng(1).permutation(len(frame))[:size]], declared(frame, rows)
    )


def whole(name: str) -> None:
    """One setting from end to end."""
    dataset, rows, size = FIGURES[name]
    pairs, tables, releases = EVIDENCE[name]
    table = drawn(dataset, rows, size)
    began = time.monotonic(), time.process_time()
    asked = {
        "shadows": pairs,
        "tables_per_shadow": tables,
        "grid": "population",
        "ranking": "hamming",
        "rows": rows,
        "releases": releases,
        "seed": 1,
        "workers": 1,
    }
    found = singling_out(table, PrivBayes(10.0, variant="sdg", draw="independent"), **asked)
    wall, cpu = time.monotonic() - began[0], time.process_time() - began[1]
    setting = f"{dataset}, {rows:,} of {size:,}, PrivBayes sdg, epsilon 10"
    row = [
        setting,
        2 * pairs,
        tables,
        releases,
        50,
        f"{cpu:.0f}",
        f"{wall / 60:.1f}",
        f"{found.success:.3f}",
    ]
    head = [
        "setting",
        "fits to learn from",
        "tables each",
        "attacked releases",
        "targets",
        "CPU s",
        "minutes",
        "success",
    ]
    save(f"attack_{name}", head, [row], "scikit-learn")


def fits() -> None:
    """The cost of one shadow of 1,000 x 11, one process: a fit and one table of 1,000 rows."""
    table = drawn("adult", 1_000, 5_000)
    rng = np.random.default_rng(2)
    draws = np.stack([np.sort(rng.choice(table.n_rows, 1000, replace=False)) for _ in range(60)])
    peer = SCRATCH / "shadow.csv"
    SCRATCH.mkdir(exist_ok=True)
    table.take(draws[0]).to_pandas().to_csv(peer, index=False)
    theirs = datasynthesizer.run(peer, parents=2, n_rows=1000, limit=600)
    assert theirs is not None
    slow = 1000 * (theirs["describe"] + theirs["generate"])
    rows: list[list[object]] = [
        [
            "DataSynthesizer {DataSynthesizer}, k = 2, no privacy".format(**theirs["versions"]),
            f"{slow:.0f}",
            1,
        ]
    ]
    for name, settings in {
        "BayesNet, k = 2, no privacy, read anew": BayesNet(parents=2),
        "BayesNet, k = 2, no privacy, population's grid": BayesNet(parents=2),
        "PrivBayes sdg, epsilon 10": PrivBayes(10.0, variant="sdg"),
        "PrivBayes dpart, epsilon 10": PrivBayes(10.0, variant="dpart"),
        "PrivBayes, epsilon 10": PrivBayes(10.0),
        "BayesNet, epsilon 10, delta 1e-6": BayesNet(epsilon=10.0, delta=1e-6),
    }.items():
        generator = Generator(settings, table, "population" if "grid" in name else "release")
        run_shadows(generator, draws[:10], seed=1, working=Working(workers=1))  # compiles
        cost = (
            1000
            * run_shadows(generator, draws, seed=1, working=Working(workers=1)).seconds
            / len(draws)
        )
        rows.append([name, f"{cost:.1f}", f"{slow / cost:.0f}"])
    save(
        "attack_fits",
        ["one shadow: fit 1,000 x 11, draw 1,000 rows", "ms", "times quicker than DataSynthesizer"],
        rows,
    )


def classifiers() -> None:
    """The default meta-classifier beside P3's extra trees with 50 draws of settings: five targets at one setting."""
    world = world_of(drawn("adult", 1_000, 5_000), targets=5, rows=1000)
    rng = np.random.default_rng(3)
    train, test = 300, 400
    draws = shared_draws(world.n_population, world.targets, rows=1000, shadows=train, rng=rng)
    draws = draws.together(
        shared_draws(world.n_population, world.targets, rows=1000, shadows=test, rng=rng)
    )
    shadows = run_shadows(Generator(BayesNet(), world.table), draws.rows, tables=1, seed=4)
    sight = black_box("queries", world.table.schema.sizes)
    areas: dict[str, list[float]] = {"linear": [], "extra-trees": []}
    seconds: dict[str, list[float]] = {"linear": [], "extra-trees": []}
    for k, target in enumerate(world.target_codes):
        features = shadows.gather(lambda tables, target=target: sight.features(tables, target))  # type: ignore[misc]
        member = draws.member[:, k]
        for name in areas:
            began = time.process_time()
            attacker = learner(name).fit(features[:train], member[:train], seed=5)
            seconds[name].append(time.process_time() - began)
            trials = LabelledScores.from_arrays(attacker.log_odds(features[train:]), member[train:])
            areas[name].append(clustered_auc(trials.scores, trials.member, trials.shadow)[0])
            print(k, name, f"{areas[name][-1]:.4f}", f"{seconds[name][-1]:.1f} s", flush=True)
    apart = np.array(areas["linear"]) - np.array(areas["extra-trees"])
    rows = [
        [
            name,
            *(f"{a:.3f}" for a in areas[name]),
            f"{np.mean(areas[name]):.4f}",
            f"{np.mean(seconds[name]):.1f}",
        ]
        for name in areas
    ]
    rows.append(
        ["linear less extra trees", *(f"{a:+.3f}" for a in apart), f"{apart.mean():+.4f}", ""]
    )
    save(
        "attack_classifiers",
        ["AUC on shadows apart", *(f"target {k + 1}" for k in range(5)), "mean", "CPU s for one"],
        rows,
        "scikit-learn",
    )


def forests() -> None:
    """Extremely randomised trees beside scikit-learn's, one thread each: one target and two of the 50 settings of a search.

    Evidence of the default size: 2,000 shadows of four tables. Five folds of 100 trees each, and the chances of all tables out of fold.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    plan = ShadowSettings()
    world = world_of(drawn("adult", 1_000, 5_000), targets=1, rows=1000)
    rng = np.random.default_rng(3)
    draws = shared_draws(
        world.n_population, world.targets, rows=1000, shadows=2 * plan.shadows, rng=rng
    )
    shadows = run_shadows(
        Generator(BayesNet(), world.table), draws.rows, tables=plan.tables_per_shadow, seed=4
    )
    queries = black_box("queries", world.table.schema.sizes)
    features = shadows.gather(lambda tables: queries.features(tables, world.target_codes[0]))
    flat = features.reshape(-1, features.shape[-1])
    member = np.repeat(draws.member[:, 0], plan.tables_per_shadow)
    fold = np.repeat(folds(draws.member[:, 0], rng), plan.tables_per_shadow)
    settings = {
        "n_estimators": 100,
        "max_features": "sqrt",
        "min_samples_split": 5,
        "min_samples_leaf": 2,
    }

    def ours(bootstrap: bool) -> np.ndarray:
        chosen = {**settings, "bootstrap": bootstrap}
        return chances_out_of_fold(
            in_columns(flat, "counts"), member, fold, chosen, seed=5, threads=1
        )

    def theirs(bootstrap: bool) -> np.ndarray:
        chances = np.empty(len(flat))
        for number in range(int(fold.max()) + 1):
            outside = fold == number
            forest = ExtraTreesClassifier(
                **settings, bootstrap=bootstrap, random_state=number, n_jobs=1
            )
            forest.fit(flat[~outside], member[~outside])
            chances[outside] = forest.predict_proba(flat[outside])[:, 1]
        return chances

    compiling = np.arange(len(flat)) < 40
    chances_out_of_fold(
        in_columns(flat[compiling], "counts"),
        np.arange(40) % 2 == 0,
        np.arange(40) % 5,
        {**settings, "bootstrap": True},
        seed=5,
        threads=1,
    )
    rows: list[list[object]] = []
    for bootstrap in (False, True):
        costs = []
        for name, work in (("own kernel", ours), ("scikit-learn", theirs)):
            began = time.perf_counter(), time.process_time()
            chances = work(bootstrap)
            costs.append((time.perf_counter() - began[0], time.process_time() - began[1]))
            rows.append(
                [
                    name,
                    "yes" if bootstrap else "no",
                    len(flat),
                    flat.shape[1],
                    f"{costs[-1][1]:.1f}",
                    f"{costs[-1][0]:.1f}",
                    f"{costs[-1][1] / costs[0][1]:.2f}",
                    f"{auc(chances, member):.3f}",
                ]
            )
            print(*rows[-1], sep="\t", flush=True)
    save(
        "attack_forests",
        ["trees", "bootstrap", "tables", "counts", "CPU s", "s", "times own CPU", "AUC"],
        rows,
        "scikit-learn",
    )


if __name__ == "__main__":
    steps = {"fits": fits, "classifiers": classifiers, "forests": forests}
    asked = sys.argv[1:] or [*steps, "figure12", "figure15"]
    for step in asked:
        steps.get(step, lambda step=step: whole(step))()  # type: ignore[misc]
