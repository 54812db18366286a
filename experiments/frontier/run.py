"""Does a release that the frontier chose keep its limit on people the search never saw? Many small runs on three tables.

python -m experiments.frontier.run --adult TRAIN.parquet TEST.parquet --scotland FILE.parquet --acs FILE.parquet [--runs 100] [--only NAME]

Each run draws 2,000 people of a table, searches 8 settings on half of them for the most useful below a limit, confirms on the other half, and, as a check that no part of the run saw,
makes a table of all 2,000 with the chosen settings and with the defaults, and attacks both with as many people of the rest of the table as others. Finished runs stand in results.csv and are
not run again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import chaffinch
from benchmarks.common import run_study
from chaffinch.errors import InputError
from chaffinch.report.frontier_result import CandidateSettings, Evaluation, Limits, verdict_of
from chaffinch.workflows.frontier.evaluate import (
    FrontierStudy,
    PeopleFold,
    PeoplePart,
    split_people,
)
from chaffinch.workflows.frontier.settings import FrontierSettings
from experiments.cells import Cells

RESULTS = Path(__file__).parent / "results.csv"
PEOPLE, EVALUATIONS, LIMIT, RESAMPLES = 2000, 8, 0.02, 200
KEYS = ("table", "run")
VALUES = (
    "outcome",
    "chosen",
    "attempts",
    "search estimate",
    "search lower",
    "unseen estimate",
    "unseen lower",
    "unseen word",
    "unseen kept",
    "unseen estimate above limit",
    "release lower",
    "release allowed",
    "fresh estimate",
    "fresh lower",
    "fresh word",
    "default fresh estimate",
    "default fresh lower",
    "search worth",
    "unseen worth",
    "fresh worth",
    "default fresh worth",
)
ASKED: dict[str, dict[str, Any]] = {
    "adult": {
        "keys": ("age", "sex", "race", "education", "marital_status"),
        "sensitive": ("occupation", "relationship"),
        "label": "income",
    },
    "scotland": {
        "keys": ("sex", "age", "marital_status", "region", "country_of_birth"),
        "sensitive": ("health", "religion"),
        "label": "economic_activity",
    },
    "acs": {
        "keys": ("agep", "sex", "msp", "rac1p", "puma"),
        "sensitive": ("edu", "own_rent"),
        "label": "pincp_decile",
    },
}


def columns_of(name: str, table: pa.Table) -> pa.Table:
    """Return a table without its record numbers and what is derived from other columns."""
    gone = {"scotland": {"record_number"}, "acs": {"pincp", "indp"}}.get(name, set())
    return table.select([column for column in table.column_names if column not in gone])


def one_run(name: str, whole: pa.Table, number: int) -> list[Any]:
    """Return the figures of one run."""
    rng = np.random.default_rng([number, len(name)])
    order = rng.permutation(whole.num_rows)
    mine, rest = (
        whole.take(np.sort(order[:PEOPLE])),
        whole.take(np.sort(order[PEOPLE : 2 * PEOPLE])),
    )
    asked = ASKED[name]
    battery: dict[str, Any] = {"attackers": ("matching", "nb", "memorisation")}
    try:
        found = chaffinch.frontier(
            mine,
            **asked,
            **battery,
            evaluations=EVALUATIONS,
            max_excess=LIMIT,
            explain=False,
            seed=number,
        )
    except InputError as error:
        if "None of" not in str(error):
            raise
        return ["nothing qualified", *[""] * (len(VALUES) - 1)]
    choice = found.choice
    assert choice is not None
    first = choice.confirmations[0]
    search = next(one for one in found.evaluations if one.candidate == first.evaluation.candidate)
    settings = FrontierSettings(**asked, **battery, resamples=RESAMPLES)
    own = everybody(mine, settings, first.evaluation.candidate, number)
    fresh = unseen(mine, rest, settings, first.evaluation.candidate, number)
    default = unseen(mine, rest, settings, CandidateSettings(), number)
    limits = Limits(max_excess=LIMIT)
    risk, outside = first.evaluation.risk, fresh.risk
    return [
        "confirmed" if choice.evaluation is not None else "none confirmed",
        first.evaluation.words,
        len(choice.confirmations),
        search.risk.estimate,
        search.risk.lower,
        risk.estimate,
        risk.lower,
        first.word,
        int(first.word != "exceeds"),
        int((risk.estimate or 0) > LIMIT),
        own.risk.lower,
        int(verdict_of(own.risk, limits) != "exceeds"),
        outside.estimate,
        outside.lower,
        verdict_of(outside, limits),
        default.risk.estimate,
        default.risk.lower,
        search.worth[0].value,
        first.evaluation.worth[0].value,
        fresh.worth[0].value,
        default.worth[0].value,
    ]


def everybody(
    mine: pa.Table, settings: FrontierSettings, candidate: CandidateSettings, seed: int
) -> Evaluation:
    """Return what tables of each half of the run's people give away: what is looked at before a release is written."""
    table = chaffinch.read(mine)
    first, second = split_people(
        table, np.arange(table.n_rows), 0.5, np.random.default_rng([seed, 7])
    )
    part = PeoplePart(
        "everybody", (PeopleFold(first, second), PeopleFold(second, first)), table.n_rows
    )
    study = FrontierStudy(
        table=table,
        holdout=None,
        search=part,
        confirmation=part,
        settings=settings,
        root=np.random.SeedSequence(seed),
    )
    return study.evaluate(candidate, part).evaluation


def unseen(
    mine: pa.Table,
    rest: pa.Table,
    settings: FrontierSettings,
    candidate: CandidateSettings,
    seed: int,
) -> Evaluation:
    """Return what a table of all the run's people gives away, held against people of the rest of the table."""
    table = chaffinch.read(mine)
    others = chaffinch.table.align.align(table, chaffinch.read(rest), names=("holdout",))[1]
    part = PeoplePart(
        "fresh", (PeopleFold(np.arange(table.n_rows), np.arange(others.n_rows)),), table.n_rows
    )
    study = FrontierStudy(
        table=table,
        holdout=others,
        search=part,
        confirmation=part,
        settings=settings,
        root=np.random.SeedSequence(seed),
    )
    found = study.evaluate(candidate, part).evaluation
    return replace(found, part="fresh")


def summary(cells: Cells) -> None:
    """Print for each table how often the limit was kept, and the margin to the defaults."""
    at = {name: place + len(KEYS) for place, name in enumerate(VALUES)}
    for name in ASKED:
        rows = [rows[0] for key, rows in cells.rows.items() if key[0] == name]
        made = [row for row in rows if row[at["chosen"]]]
        if not made:
            continue

        def mean(column: str, made: list[list[str]] = made) -> float:
            return float(np.mean([float(row[at[column]]) for row in made if row[at[column]]]))

        kept, fresh = (
            sum(row[at[column]] not in ("0", "broken", "exceeds") for row in made)
            for column in ("unseen kept", "fresh word")
        )
        above = sum(int(row[at["unseen estimate above limit"]]) for row in made)
        allowed = [
            row
            for row in made
            if row[at["unseen kept"]] == "1" and row[at["release allowed"]] == "1"
        ]
        written = sum(row[at["fresh word"]] not in ("broken", "exceeds") for row in allowed)
        broken = sum(float(row[at["default fresh lower"]]) > LIMIT for row in made)
        confirmed = sum(row[at["outcome"]] == "confirmed" for row in rows)
        print(
            f"{name}: {len(rows)} runs, {len(rows) - len(made)} in which nothing qualified, {confirmed} confirmed in the end; first choice kept on unseen people {kept} of {len(made)} (estimate above the limit {above}), made of everybody and kept on fresh people {fresh}, of the {len(allowed)} that would be written {written}; "
            f"defaults broken on fresh people {broken}; fresh estimate {mean('fresh estimate'):.4f} against {mean('default fresh estimate'):.4f} of the defaults, accuracy {mean('fresh worth'):.4f} against "
            f"{mean('default fresh worth'):.4f}"
        )


def main(
    *,
    adult: tuple[Path, ...] = (),
    scotland: Path | None = None,
    acs: Path | None = None,
    runs: int = 100,
    start: int = 100,
    only: str | None = None,
) -> None:
    """Run what is not finished, table by table in turn, and print the summary."""
    given = {
        "adult": adult,
        "scotland": scotland and [scotland],
        "acs": acs and [acs],
    }
    tables = {
        name: columns_of(name, pa.concat_tables([pq.read_table(path) for path in paths]))
        for name, paths in given.items()
        if paths and only in (None, name)
    }
    cells = Cells(RESULTS, KEYS, VALUES)
    for number in range(start, start + runs):
        for name, whole in tables.items():
            cells.get(
                (name, number),
                lambda name=name, whole=whole, number=number: [one_run(name, whole, number)],
            )
    summary(cells)


if __name__ == "__main__":
    run_study(main)
