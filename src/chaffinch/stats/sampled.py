"""Which figures are based on all records and which on a sample, for tables in files that are read
in chunks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from .._base.errors import join_names
from .._base.masking import masked_count
from .._base.results import PlainData, plain_form
from ..table.rows import Rows
from ..table.sample import ChosenBy

Records = Literal["all", "sample"]
"""What a figure is of: all records, or a sample of them."""

HOW: Mapping[ChosenBy, str] = {
    "place": "chosen by a keyed hash of their place in the file",
    "person": "chosen by a keyed hash of whose they are, so that all rows of a person are chosen together",
    "values": "chosen by a keyed hash of their values, so that equal rows of all tables are chosen together",
}


@dataclass(frozen=True)
class SampledRecords(PlainData):
    """The sizes of a sample and of the tables it is from, masked; how it was chosen, whether it has
    all records, and sentences for the report.
    """

    chosen_by: ChosenBy = "place"
    all_records: bool = field(default=False, metadata=plain_form(key="whole"))
    original: int | str | None = None
    synthetic: int | str | None = None
    holdout: int | str | None = None
    of_original: int | str | None = None
    of_synthetic: int | str | None = None
    of_holdout: int | str | None = None
    sentences: tuple[str, ...] = ()

    @classmethod
    def from_tables(
        cls,
        sample: Mapping[str, Rows],
        files: Mapping[str, Rows],
        chosen_by: ChosenBy,
        threshold: int,
    ) -> SampledRecords:
        """Return the sizes of samples and of their files; several synthetic tables (`synthetic-1`
        and so on) are summed.
        """

        def rows(tables: Mapping[str, Rows]) -> list[int | str | None]:
            names_by_side = [
                [name for name in files if name == side or name.startswith(f"{side}-")]
                for side in ("original", "synthetic", "holdout")
            ]
            return [
                masked_count(sum(tables[name].n_rows for name in names), threshold)
                if names
                else None
                for names in names_by_side
            ]

        is_whole = all(sample[side].n_rows == files[side].n_rows for side in sample)
        (original, synthetic, holdout), (of_original, of_synthetic, of_holdout) = (
            rows(sample),
            rows(files),
        )
        return cls(
            chosen_by, is_whole, original, synthetic, holdout, of_original, of_synthetic, of_holdout
        )

    def with_notes(
        self, of_all: Sequence[str], of_sample: Sequence[str], *more: str
    ) -> SampledRecords:
        """Return the sample with sentences on which figures are based on all records and which on
        the sample.
        """
        if self.all_records or not of_sample:
            return replace(
                self, sentences=(f"Of all records: {join_names([*of_all, *of_sample])}.",)
            )
        tables = (
            ("original", self.original, self.of_original),
            ("synthetic", self.synthetic, self.of_synthetic),
            ("holdout", self.holdout, self.of_holdout),
        )
        sizes = ", ".join(
            f"{_number(n)} of {_number(total)} {name}"
            for name, n, total in tables
            if total is not None
        )
        sentences = [f"Of all records: {join_names(list(of_all))}."] if of_all else []
        sentences += [
            f"Of a sample: {join_names(list(of_sample))}.",
            f"The sample has {sizes} records, {HOW[self.chosen_by]}.",
        ]
        return replace(self, sentences=(*sentences, *(sentence for sentence in more if sentence)))


def _number(n: int | str | None) -> str:
    return f"{n:,}" if isinstance(n, int) else str(n)


def hash_key(root: np.random.SeedSequence) -> int:
    """Return the key of the hash that chooses records, from a random stream."""
    return int.from_bytes(root.generate_state(2, np.uint64).tobytes(), "little")
