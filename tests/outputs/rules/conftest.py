"""Records written out by hand, and what the rules say of outputs on them; see `tests/outputs/conftest.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaffinch.outputs.domain import OutputDomain
from chaffinch.outputs.rules import RuleReport


@pytest.fixture(scope="session")
def fields(people_fields: OutputDomain) -> OutputDomain:
    return people_fields


@pytest.fixture(scope="session")
def check(judged: Callable[..., RuleReport]) -> Callable[..., RuleReport]:
    return judged


@pytest.fixture
def codes(people_by_cell):
    """Sixty people in each level of A, ages 20 to 79, and one more of a2 aged 80."""
    return people_by_cell(
        *(
            (1, {"A": a, "AGE": age, "PAY": age % 7})
            for a in ("a1", "a2", "a3")
            for age in range(20, 80)
        ),
        (1, {"A": "a2", "AGE": 80}),
    )
