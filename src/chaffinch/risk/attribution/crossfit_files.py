"""Cross-fitting of a file larger than memory: on a sample of its people, chosen by a keyed hash, who are the whole table of that study.

Models of half of a sample are fitted to far fewer people than the released one. A record weighs the more in a model the fewer others there are,
so what these models give away about their own people is, as a rule, more than what the released one does: the excess is a careful figure. Its
interval is that of the sample's people.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..._base.masking import masked_count
from ..._base.runtime import Progress, giving_back, silent
from ..._base.seeds import Seed, seed_sequence
from ...stats.sampled import SampledRecords, hash_key
from ...stats.splits import child
from ...table.long import LongOrigin
from ...table.sample import choose_of_scan, choose_rows
from ...table.scan import Scan
from ...table.table import Table
from .crossfit import cross_fit
from .result import RiskResult
from .settings import RiskSettings

_SAMPLE = 12
"""The random stream that the sample is chosen by; attacks and halves have their own."""

CAREFUL = "A model of so few people keeps more of each of them, as a rule, than one of all: the excess is a careful figure, as wide as the sample makes it."


def cross_fit_file(
    original: Scan | LongOrigin,
    generate: Any,
    settings: RiskSettings,
    *,
    person: str | None = None,
    copies: int = 1,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> tuple[RiskResult, SampledRecords]:
    """Return what `cross_fit` gives for a sample of about `settings.sample_rows` records of a file, or of a table on a cluster, and what the sample is.

    Where the file has no more records than that, the result is that of all of them, as in memory. `person`: the column that says whose row it is, where
    some have several: all rows of a person are then in the sample, or none. Without it each record is a person.
    """
    progress = giving_back(progress)
    progress("choosing a sample", -1)
    key = hash_key(child(seed_sequence(seed), _SAMPLE))
    if isinstance(original, LongOrigin):
        people, n_rows = _chosen_there(original, settings.sample_rows, key)
    else:
        people, n_rows = (
            choose_of_scan(original, settings.sample_rows, key=key, person=person),
            original.n_rows,
        )
    chosen, total = (masked_count(n, settings.threshold) for n in (people.n_rows, n_rows))
    sample = SampledRecords(
        "place" if person is None else "person", people.n_rows == n_rows, chosen, of_original=total
    )
    if not sample.whole:
        sample = sample.saying((), ("models of halves of the people",), CAREFUL)
    return cross_fit(
        people, generate, settings, copies=copies, seed=seed, threads=threads, progress=progress
    ), sample


def _chosen_there(original: LongOrigin, most: int, key: int) -> tuple[Table, int]:
    """Return about so many rows of an original elsewhere, and how many it has."""
    with original.beside() as (whole,):
        people = choose_rows({"original": whole}, most, key=key, by="place")["original"]
        return replace(
            people, schema=replace(people.schema, rules=original.schema.rules)
        ), whole.n_rows
