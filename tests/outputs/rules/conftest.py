"""Records written out by hand, and what the rules say of outputs on them; see `tests/outputs/conftest.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaffinch.outputs.domain import Fields
from chaffinch.outputs.rules import RuleReport


@pytest.fixture(scope="session")
def fields(people_fields: Fields) -> Fields:
    return people_fields


@pytest.fixture(scope="session")
def check(judged: Callable[..., RuleReport]) -> Callable[..., RuleReport]:
    return judged
