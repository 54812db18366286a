"""A complete check of an output: P1's logit on 50,000 simulated people, two folds, 50 syntheses each, 42 key sets.

    python -m benchmarks.check_speed            # the library, one process
    python -m benchmarks.check_speed attack     # TCAP of one synthesis alone, beside the measure for synthetic tables
    python -m benchmarks.check_speed cases      # four cases with goals in CPU seconds: a small table, mixed folders, a million rows, P1's

What the paper needs for the same is extrapolated from its own settings: 64,000 refits for each of 100 syntheses.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pyarrow as pa

from benchmarks.common import best, save
from benchmarks.data import bundled
from benchmarks.evolving_cases import (
    FIRST_CODE,
    FOUR_DECIMALS,
    LEVELS,
    PAPER_ROWS,
    census,
    paper_case,
)
from benchmarks.evolving_cases import refit as refit_logit
from chaffinch import check
from chaffinch.outputs.check.attribution import attack_of, ensemble_tcap
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.evolve import evolve_spec
from chaffinch.outputs.numbers import numbers
from chaffinch.outputs.records import TableCoder, codes_of_table
from chaffinch.outputs.solve.engines import incremental
from chaffinch.outputs.solve.settings import EvolveSettings
from chaffinch.outputs.source import DataColumns, open_outputs
from chaffinch.risk.attribution.tcap import tcap
from chaffinch.table import read

N = 50_000
KEYS = [name for name in LEVELS if name != "tenure"]
FIELDS = OutputDomain(
    tuple(
        OutputColumn(
            name,
            tuple(range(size))
            if name in ("age", "tenure")
            else tuple(str(FIRST_CODE[name] + k) for k in range(size)),
        )
        for name, size in LEVELS.items()
    )
)
LOGIT = {
    "name": "tenure",
    "kind": "logit",
    "formula": "tenure ~ age + areap + ethgroup + ltill + mstatus + sex",
    "decimals": 4,
}


def whole(runs: int = 1) -> list[list[object]]:
    """The check as a function call, the first after compilation; and one refit by statsmodels, times what P1 would need."""
    recipes, codes = recipes_of([LOGIT], FIELDS), census(N)
    check(recipes, census(20_000), keys=KEYS, sensitive=["tenure"], syntheses=2, seed=0)  # compiles
    rows = []
    for seed in range(runs):
        began = time.perf_counter()
        found = check(
            recipes,
            codes,
            keys=KEYS,
            sensitive=["tenure"],
            key_sizes=(3, 6),
            seed=seed,
        )
        seconds = time.perf_counter() - began
        rows.append(
            ["two folds", seed, f"{seconds:.0f}", f"{found.all.reached:.2f}", found.verdict.text]
        )
        print(*rows[-1], flush=True)
    output = recipes.computed(codes).outputs[0]
    fit = best(lambda: list(numbers(output, FIELDS, codes)), repeats=3)
    rows.append(["one refit by statsmodels", "", f"{fit:.2f}", "", ""])
    rows.append(
        [
            "as the paper does it: 100 syntheses of 64,000 refits at half the size, extrapolated",
            "",
            f"{100 * 64_000 * fit / 2:.0f}",
            "",
            "",
        ]
    )
    return rows


def alone() -> list[list[object]]:
    """TCAP of one synthesis of 25,000 rows against two groups of 25,000 people, 42 key sets, both conventions, on one core."""
    rng, people = np.random.default_rng(0), census(N)
    synthetic = np.stack([rng.permutation(column) for column in census(N // 2, seed=1).T], axis=1)
    group = np.arange(N) % 2
    attack = attack_of(FIELDS, KEYS, "tenure", sizes=(3, 6))
    ours = best(lambda: ensemble_tcap([synthetic], people, group, attack, threads=1), repeats=5)

    def measured() -> list[float | None]:
        label = FIELDS.position("tenure")
        found = []
        for keys in attack.key_sets:
            at = [FIELDS.position(key) for key in keys]
            for side in (0, 1):
                here = people[group == side]
                for convention in ("matched_rows", "all_rows"):
                    found.append(
                        tcap(
                            here[:, at],
                            here[:, label],
                            synthetic[:, at],
                            synthetic[:, label],
                            convention=convention,
                        ).value
                    )
        return found

    peer = best(measured, repeats=2)
    return [
        [
            "with each person's influence and what is said of them",
            f"{ours:.3f}",
            f"{peer / ours:.1f}",
        ],
        ["the measure for synthetic tables, the number alone", f"{peer:.3f}", "1"],
    ]


def cpu_seconds() -> float:
    """Return the CPU seconds, user and system, of this process and of the engines' processes that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def document(*outputs: dict[str, object]) -> dict[str, object]:
    """Return a file of outputs as a mapping."""
    return {"format": "chaffinch-outputs", "version": 1, "outputs": list(outputs)}


def logit(formula: str, success: object, decimals: int) -> dict[str, object]:
    return {
        "name": "logit",
        "kind": "logit",
        "formula": formula,
        "success": success,
        "decimals": decimals,
    }


def table(*by: str) -> dict[str, object]:
    return {"name": " x ".join(by), "kind": "table", "by": list(by)}


def moment(kind: str, of: str, by: str, decimals: int) -> dict[str, object]:
    return {"name": f"{kind} of {of}", "kind": kind, "of": of, "by": [by], "decimals": decimals}


def ols(formula: str, decimals: int) -> dict[str, object]:
    return {"name": "ols", "kind": "ols", "formula": formula, "decimals": decimals}


CMC_LOGIT = logit("contraceptive_method ~ wife_age + num_children + C(wife_education)", 1, 4)
CMC_KEYS = {
    "keys": ["wife_age", "wife_education", "num_children"],
    "sensitive": ["contraceptive_method"],
}
CMC_TABLES = {
    "living by education, method by education": (
        table("wife_education", "standard_of_living"),
        table("wife_education", "contraceptive_method"),
    ),
    "method by age, living by education by method": (
        table("wife_age", "contraceptive_method"),
        table("wife_education", "standard_of_living", "contraceptive_method"),
    ),
}
ADULT_LOGIT = logit("income ~ age + education_num + C(sex) + C(marital_status)", ">50K", 4)
ADULT_TABLES = (table("sex", "income"), table("marital_status", "relationship"))
MIXED = {
    "cmc": document(
        CMC_LOGIT,
        *CMC_TABLES["living by education, method by education"],
        moment("mean", "num_children", "wife_education", 2),
        moment("mean", "wife_age", "contraceptive_method", 2),
        moment("sd", "wife_age", "contraceptive_method", 2),
        ols("num_children ~ wife_age + C(wife_education)", 4),
    ),
    "adult": document(
        ADULT_LOGIT,
        *ADULT_TABLES,
        moment("mean", "hours_per_week", "sex", 2),
        moment("mean", "age", "income", 2),
        moment("sd", "age", "income", 2),
        ols("hours_per_week ~ age + education_num + C(sex)", 4),
    ),
    "cardio_binned": document(
        logit("cardio ~ height + weight + C(gender) + C(cholesterol)", 1, 4),
        table("cholesterol", "gluc"),
        table("cardio", "cholesterol", "smoke"),
        moment("mean", "weight", "cholesterol", 2),
        moment("mean", "ap_hi", "cardio", 2),
        moment("sd", "ap_hi", "cardio", 2),
        ols("weight ~ height + C(gender)", 4),
    ),
}
"""A logit, two tables, a mean, a mean with its standard deviation and a linear regression, of each bundled table that has such columns."""
COPIES = 6
MILLION = 1_000_000


def one_check(
    case: str, outputs: dict[str, object], data: object, goal: str, **settings: object
) -> list[object]:
    """A complete check by one worker: CPU seconds in all, and the share of datasets that reproduce every output."""
    began, wall = cpu_seconds(), time.perf_counter()
    found = check(outputs, data, seed=1, workers=1, **settings)  # type: ignore[arg-type]
    stages = [*found.cumulative, *found.without]
    least = min(stage.reached for stage in stages)
    cpu = cpu_seconds() - began
    return [
        case,
        goal,
        f"{cpu:.1f}",
        f"{time.perf_counter() - wall:.1f}",
        f"{len(stages)} sets: {least:.2f} or more",
        found.verdict.text,
    ]


def mixed(name: str) -> list[object]:
    """Six datasets from a mixed folder, in a process of their own and refitted: CPU seconds each."""
    coder = TableCoder(read(bundled(name), rare="keep"))
    recipes = open_outputs(MIXED[name]).place_on(DataColumns(coder)).recipes
    spec = recipes.computed(codes_of_table(coder, recipes.fields).codes)
    began, wall = cpu_seconds(), time.perf_counter()
    found = evolve_spec(
        spec, EvolveSettings.from_options(copies=COPIES, seconds=20.0), seed=1, workers=1
    )
    each, passed = (cpu_seconds() - began) / COPIES, (time.perf_counter() - wall) / COPIES
    reached = sum(copy.reached for copy in found.copies)
    return [
        f"mixed folder, {name} ({spec.n_rows():,} rows), a dataset",
        "< 5",
        f"{each:.1f}",
        f"{passed:.1f}",
        f"{reached} of {COPIES}",
        "",
    ]


def resampled(n_rows: int) -> pa.Table:
    """Return rows of Adult, drawn with replacement."""
    whole = bundled("adult")
    return whole.take(pa.array(np.random.default_rng(0).integers(0, whole.num_rows, n_rows)))


def cases() -> list[list[object]]:
    """The four cases that checking is held to, and a variant of the first and of the second."""
    small = bundled("cmc")
    one_check("warm", document(CMC_LOGIT), small, "", **CMC_KEYS, syntheses=2)  # compiles
    rows = [
        one_check(
            f"cmc (1,473 rows), logit, {name}, 50 syntheses a fold",
            document(CMC_LOGIT, *tables),
            small,
            "< 30",
            **CMC_KEYS,
        )
        for name, tables in CMC_TABLES.items()
    ]
    print(*rows, sep="\n", flush=True)
    for name in MIXED:
        rows.append(mixed(name))
        print(rows[-1], flush=True)
    rows.append(
        one_check(
            "Adult resampled (1,000,000 rows), logit and table, 10 syntheses a fold",
            document(ADULT_LOGIT, ADULT_TABLES[0]),
            resampled(MILLION),
            "< 300",
            keys=["age", "education_num", "sex", "marital_status"],
            sensitive=["income"],
            syntheses=10,
        )
    )
    print(rows[-1], flush=True)
    problem = paper_case()
    incremental.solve(problem, problem.domain.start(200, seed=0), proposals=1, seed=0)
    times, exact = [], 0
    for seed in range(10):
        start = problem.domain.start(PAPER_ROWS, seed=seed)
        began = time.process_time()
        solved = incremental.solve(problem, start, seed=seed)
        times.append(time.process_time() - began)
        off = np.abs(refit_logit(problem, solved.codes) - problem.outputs[0].coefficients)  # type: ignore[union-attr, operator]
        exact += bool(solved.reached and (off <= FOUR_DECIMALS).all())
    rows.append(
        [
            "P1's table 2 (50,357 rows), a dataset: median and longest of ten",
            "< 0.5",
            f"{np.median(times):.2f}, {max(times):.2f}",
            "",
            f"{exact} of 10",
            "",
        ]
    )
    return rows


if __name__ == "__main__":
    asked = sys.argv[1:] or ["whole", "attack", "cases"]
    if "attack" in asked:
        save(
            "check_attack", ["TCAP of one synthesis", "s", "times quicker"], alone(), "statsmodels"
        )
    if "cases" in asked:
        head = ["case", "goal, CPU s", "CPU s", "s", "reached", "verdict"]
        save("check_cases", head, cases(), "statsmodels")
    if "whole" in asked:
        save("check_whole", ["check", "seed", "s", "reached", "verdict"], whole(), "statsmodels")
