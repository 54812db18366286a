from __future__ import annotations

import numpy as np
import pytest

from chaffinch.errors import ChaffinchError
from chaffinch.risk.memorisation import MEMORISATION_TESTS
from chaffinch.risk.memorisation.protocol import NotApplicableError, memorisation_test_of

from .conftest import case_of, people


def test_classes_are_rows_that_are_equal(rng: np.random.Generator) -> None:
    members, others, released = (people(50, rng, 4) for _ in range(3))
    ours, theirs, size = case_of(released, members, others).classes(["c0", "c1"])
    rows = [
        tuple(row[n] for n in ("c0", "c1"))
        for t in (released, members, others)
        for row in t.to_pylist()
    ]
    codes = [*ours, *theirs]
    assert size == len(set(rows))
    assert len(set(zip(rows, codes, strict=True))) == size


def test_a_column_that_is_not_there_is_named(rng: np.random.Generator) -> None:
    case = case_of(*(people(50, rng, 4) for _ in range(3)))
    with pytest.raises(ChaffinchError, match=r"Unknown column 'agee'\. Did you mean 'age'"):
        case.named(["agee"])


def test_no_value_is_in_a_repr(rng: np.random.Generator) -> None:
    case = case_of(*(people(50, rng, 3) for _ in range(3)))
    assert repr(case) == "ReleaseCase(3 columns, released: 50, people: 100)"
    assert repr(case.columns[2]) == "ColumnValues(c0, released: 50, people: 100)"


def test_every_test_says_what_it_is_and_what_it_does_not_see() -> None:
    for test in MEMORISATION_TESTS:
        assert test.title
        assert test.definition.endswith(".")
        assert test.blindness.endswith(".")
        assert "{value}" in test.sentence
        assert test.sentence.index("{holdout}") > test.sentence.index("{value}")


def test_a_test_of_another_version_still_has_a_name() -> None:
    test = memorisation_test_of("unheard_of")
    assert test.title == "unheard_of"
    with pytest.raises(NotApplicableError):
        test.score(None)  # type: ignore[arg-type]
