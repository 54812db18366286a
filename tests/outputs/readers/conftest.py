"""The records that outputs were made of, and whether they satisfy them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.readers.statsmodels import spec_of

CMC = Path(__file__).parents[3] / "examples" / "data" / "cmc.csv"
COLUMNS = [
    {"name": "age", "from": 16, "to": 49},
    {"name": "school", "levels": ["e1", "e2", "e3", "e4"]},
    {"name": "children", "from": 0, "to": 16},
    {"name": "religion", "levels": [0, 1]},
    {"name": "works", "levels": ["no", "yes"]},
    {"name": "method", "levels": [1, 2, 3]},
]


@pytest.fixture(scope="session")
def frame():
    raw = pd.read_csv(CMC)
    return pd.DataFrame(
        {
            "age": raw["wife_age"],
            "school": "e" + raw["wife_education"].astype(str),
            "children": raw["num_children"],
            "religion": raw["wife_religion"],
            "works": np.where(raw["wife_now_working"] == 0, "yes", "no"),
            "method": raw["contraceptive_method"],
        }
    )


@pytest.fixture(name="satisfied")
def satisfying():
    return satisfied


def satisfied(frame, entry, rows=None):
    """Whether records satisfy an entry, numbers computed again by `refit`."""
    spec = spec_of(COLUMNS, [entry], rows=len(frame))
    return compare_numbers(spec, spec.fields.codes({name: frame[name].tolist() for name in frame}))[
        0
    ]
