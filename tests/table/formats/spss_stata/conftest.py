"""A survey and a panel as SPSS and Stata users have them, written by pyreadstat, and what pyreadstat sees in a file."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat

N = 300

SPSS_EPOCH = datetime.datetime(1582, 10, 14)

STATA_EPOCH = datetime.datetime(1960, 1, 1)

UNKNOWN_DAY = datetime.date(1900, 1, 1)

SPSS_LABELS = {
    "sex": {1.0: "woman", 2.0: "man", -8.0: "refused"},
    "health": {1.0: "good", 2.0: "fair", 3.0: "poor", 9.0: "not asked"},
    "age": {97.0: "over 96", 98.0: "refused", 99.0: "unknown"},
    "income": {-1.0: "none of your business", -2.0: "gone"},
    "region": {"n": "North", "s": "South"},
}

SPSS_TITLES = {
    "sex": "Sex of the person",
    "age": "Age in years",
    "region": "Région « nord »",
    "visit": "First visit",
}

SPSS_FORMATS = {
    "age": "F3.0",
    "income": "DOLLAR12.2",
    "visit": "EDATE10",
    "seen": "DATETIME20",
    "wait": "TIME8",
    "sex": "F1.0",
}

SPSS_MEASURES = {
    "sex": "nominal",
    "health": "ordinal",
    "age": "scale",
    "income": "scale",
    "region": "nominal",
}


def seconds(moment: datetime.date, epoch: datetime.datetime = SPSS_EPOCH) -> float:
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    return (moment - epoch).total_seconds()


def spss_file(path: Path) -> Path:
    """A survey as SPSS users have it: every kind of missing, of label and of format."""
    rng = np.random.default_rng(5)
    days = [
        datetime.date(2015, 1, 1) + datetime.timedelta(days=int(d))
        for d in rng.integers(0, 1500, N)
    ]
    frame = pd.DataFrame(
        {
            "sex": rng.choice([1.0, 2.0, -8.0], N, p=[0.5, 0.4, 0.1]),
            "health": rng.choice([1.0, 2.0, 3.0], N),
            "age": np.where(
                rng.random(N) < 0.1, rng.choice([98.0, 99.0], N), rng.integers(18, 90, N)
            ),
            "income": np.where(
                rng.random(N) < 0.2,
                rng.choice([-1.0, -2.0, np.nan], N),
                np.round(rng.gamma(2, 900, N), 2),
            ),
            "region": rng.choice(["n", "s", "NA", ""], N),
            "visit": [seconds(UNKNOWN_DAY if i % 17 == 0 else day) for i, day in enumerate(days)],
            "seen": [
                seconds(datetime.datetime(2020, 5, 17, 8) + datetime.timedelta(minutes=7 * i))
                for i in range(N)
            ],
            "wait": rng.integers(0, 7200, N).astype(float),
        }
    )
    frame.loc[::31, "visit"] = np.nan
    pyreadstat.write_sav(
        frame,
        path,
        file_label="A small survey",
        column_labels=SPSS_TITLES,
        variable_value_labels=SPSS_LABELS,
        missing_ranges={
            "sex": [-8],
            "health": [9],
            "age": [{"lo": 97, "hi": 99}],
            "income": [{"lo": float("-inf"), "hi": -1}, 999999],
            "region": ["NA"],
            "visit": [seconds(UNKNOWN_DAY)],
        },
        variable_format=SPSS_FORMATS,
        variable_measure=SPSS_MEASURES,
        variable_display_width={"sex": 12, "region": 20},
    )
    return path


STATA_LABELS = {
    "sex": {1: "woman", 2: "man", "a": "refused", "z": "never used"},
    "age": {"b": "unknown"},
    "grade": {1: "low", 2: "middle", 3: "high"},
}

STATA_FORMATS = {
    "age": "%8.0g",
    "income": "%12.2fc",
    "visit": "%tdDD/NN/CCYY",
    "seen": "%tc",
    "month": "%tm",
    "region": "%-12s",
}


def stata_file(path: Path, version: int = 15) -> Path:
    rng = np.random.default_rng(6)
    sexes = [
        ["a", "b", None][i % 3] if i % 7 == 0 else x
        for i, x in enumerate(rng.choice([1, 2], N).tolist())
    ]
    frame = pd.DataFrame(
        {
            "sex": pd.Series(sexes, dtype=object),
            "age": pd.Series(
                ["b" if i % 11 == 0 else x for i, x in enumerate(rng.integers(18, 90, N).tolist())],
                dtype=object,
            ),
            "income": np.where(rng.random(N) < 0.1, np.nan, np.round(rng.gamma(2, 900, N), 2)),
            "grade": pd.array(rng.choice([1, 2, 3], N), dtype="Int32"),
            "region": rng.choice(["north", "south", ""], N),
            "visit": pd.Series(
                [
                    "c" if i % 13 == 0 else int(x)
                    for i, x in enumerate(rng.integers(20_000, 21_500, N))
                ],
                dtype=object,
            ),
            "seen": [
                1000 * seconds(datetime.datetime(2020, 5, 17, 8, 0, i % 60), STATA_EPOCH)
                for i in range(N)
            ],
            "month": pd.array(rng.integers(600, 720, N), dtype="Int32"),
        }
    )
    pyreadstat.write_dta(
        frame,
        path,
        version=version,
        file_label="A small panel",
        column_labels={"sex": "Sex of the person", "visit": "First visit"},
        variable_value_labels=STATA_LABELS,
        missing_user_values={"sex": ["a", "b", "z"], "age": ["b"], "visit": ["c"]},
        variable_format=STATA_FORMATS,
    )
    return path


def raw(path: Path):
    """Return cells and metadata as pyreadstat has them."""
    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    return read(path, user_missing=True, disable_datetime_conversion=True, output_format="dict")
