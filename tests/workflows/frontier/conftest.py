"""A small table whose job hangs on age, and a study of it that costs a tenth of a second a setting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.report.frontier_result import Limits
from chaffinch.workflows.frontier.evaluate import FrontierStudy, divide_people
from chaffinch.workflows.frontier.settings import FrontierSettings


def made_people(n: int = 400, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    job = np.where(age > 45, rng.choice(["a", "b"], n), rng.choice(["b", "c", "d"], n))
    ill = np.where((age > 40) ^ (rng.random(n) < 0.2), "yes", "no")
    return pa.table(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(list("uvwxyz"), n),
            "job": job,
            "ill": ill,
        }
    )


def quick(**more: Any) -> FrontierSettings:
    own: dict[str, Any] = {
        "keys": ("age", "sex", "town"),
        "sensitive": ("job",),
        "label": "ill",
        "attackers": ("matching", "exact_row"),
        "resamples": 50,
    }
    return FrontierSettings(**{**own, **more})


def study_of(
    settings: FrontierSettings, *, holdout: pa.Table | None = None, n: int = 400
) -> FrontierStudy:
    table = chaffinch.read(made_people(n))
    root = np.random.SeedSequence(3)
    others = None if holdout is None else chaffinch.read(holdout)
    search, confirmation = divide_people(
        table, others, settings.confirm_share, np.random.default_rng(4)
    )
    return FrontierStudy(
        table=table,
        holdout=others,
        search=search,
        confirmation=confirmation,
        settings=settings,
        root=root,
    )


@pytest.fixture(scope="session")
def people() -> pa.Table:
    return made_people()


@pytest.fixture(scope="session")
def study() -> FrontierStudy:
    return study_of(quick(limits=Limits(max_excess=0.2)))
