"""Which figures are of all records and which of a sample, where tables are in files that are read
part by part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._base.errors import InputError, listed
from .._base.masking import masked_count
from ..table.rows import Rows
from ..table.sample import ChosenBy

Records = Literal["all", "sample"]
"""What a figure is of: all records, or a sample of them."""

SAMPLE_ROWS = 100_000
"""Records of the largest table that a sample has, about, unless another number is asked for."""

FEWEST = 100
"""The smallest sample that may be asked for."""

HOW: Mapping[ChosenBy, str] = {
    "place": "chosen by a keyed hash of their place in the file",
    "person": "chosen by a keyed hash of whose they are, so that all rows of a person are chosen together",
    "values": "chosen by a keyed hash of their values, so that equal rows of all tables are chosen together",
}


@dataclass(frozen=True)
class SampledRecords:
    """How many records of each table a sample has, masked, of how many, how they were chosen,
    whether it has the whole tables, and words for it all.
    """

    chosen_by: ChosenBy = "place"
    whole: bool = False
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
        """Return the numbers of samples and of the files that they are of; of several synthetic
        ones (`synthetic-1` and so on) those of all together.
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

    def saying(self, of_all: Sequence[str], of_sample: Sequence[str], *more: str) -> SampledRecords:
        """Return the sample with sentences that say which figures are of all records and which of
        it, what it is, and more where it is not whole.
        """
        if self.whole or not of_sample:
            return replace(self, sentences=(f"Of all records: {listed([*of_all, *of_sample])}.",))
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
        sentences = [f"Of all records: {listed(list(of_all))}."] if of_all else []
        sentences += [
            f"Of a sample: {listed(list(of_sample))}.",
            f"The sample has {sizes} records, {HOW[self.chosen_by]}.",
        ]
        return replace(self, sentences=(*sentences, *(sentence for sentence in more if sentence)))


def _number(n: int | str | None) -> str:
    return f"{n:,}" if isinstance(n, int) else str(n)


def check_sample_rows(rows: int) -> None:
    """Raise unless a sample of so many records may be asked for."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < FEWEST:
        raise InputError(f"sample_rows must be a whole number of at least {FEWEST}. Got {rows}.")


def hash_key(root: np.random.SeedSequence) -> int:
    """Return the key of a hash that chooses records, from a random stream."""
    return int.from_bytes(root.generate_state(2, np.uint64).tobytes(), "little")
