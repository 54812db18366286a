"""Records among outputs: recognised by their form, by the data, by as many rows as people; and outputs with the same columns that are none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.readers.files.microdata import PrintedRows, RecordLookup
from chaffinch.outputs.readers.files.read import read_files
from chaffinch.outputs.records import TableCoder
from chaffinch.outputs.source import CheckAbout, DataColumns
from chaffinch.table import read

N_PEOPLE = 120
DRAW = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "sex": DRAW.choice(["f", "m"], N_PEOPLE),
        "area": DRAW.choice(["north", "south", "west"], N_PEOPLE),
        "age": DRAW.integers(20, 80, N_PEOPLE),
        "income": DRAW.normal(2000, 300, N_PEOPLE).round(1),
        "ill": DRAW.integers(0, 2, N_PEOPLE),
    }
)
RESIDUALS = PEOPLE["income"] - PEOPLE["income"].mean()
NAMED_VECTOR = "\n".join(
    line
    for start in range(0, N_PEOPLE, 8)
    for line in (
        " ".join(f"{k + 1:>9}" for k in range(start, start + 8)),
        " ".join(f"{one:>9.3f}" for one in RESIDUALS[start : start + 8]),
    )
)
PLAIN_VECTOR = "\n".join(
    f" [{start + 1}] " + " ".join(f"{one:.3f}" for one in RESIDUALS[start : start + 8])
    for start in range(0, N_PEOPLE, 8)
)


def about_of(folder: Path, *, records: bool) -> CheckAbout:
    files = read_files([folder])
    if not records:
        return files.about
    return files.place_on(DataColumns(TableCoder(read(PEOPLE, rare="keep")))).about


def verdicts(folder: Path, *, records: bool) -> dict[str, str]:
    about = about_of(folder, records=records)
    return {
        **{output.name: "read" for output in about.read},
        **{output.name: output.verdict for output in about.skipped},
    }


OF_THE_DATA = [
    ("head.csv", PEOPLE.head(6).to_csv(index=False)),
    ("indexed.csv", PEOPLE.head(60).to_csv()),
    ("two_columns.csv", PEOPLE[["age", "income"]].iloc[30:60].to_csv(index=False)),
    ("one_column.csv", PEOPLE[["income"]].iloc[30:60].to_csv(index=False)),
    (
        "rounded.csv",
        PEOPLE.head(20).assign(income=PEOPLE["income"].round(-1) + 1).to_csv(index=False),
    ),
    ("predicted.csv", PEOPLE.head(30).assign(predicted=RESIDUALS).to_csv(index=False)),
    (
        "renamed.csv",
        PEOPLE.head(60)
        .rename(columns={"sex": "Geschlecht", "age": "Alter", "income": "Einkommen"})
        .to_csv(index=False),
    ),
    ("headless.csv", PEOPLE.head(60).to_csv(index=False, header=False)),
    ("semicolons.csv", PEOPLE.head(60).to_csv(index=False, sep=";")),
    ("page.html", PEOPLE.head(10).to_html()),
    ("head.txt", PEOPLE.head(6).set_axis(range(1, 7)).to_string() + "\n"),
    ("residuals.csv", RESIDUALS.rename("e").to_csv(index=False)),
    ("numbers.csv", RESIDUALS.to_csv(index=False, header=False)),
    ("named.txt", NAMED_VECTOR + "\n"),
    ("plain.txt", PLAIN_VECTOR + "\n"),
    ("series.txt", "0   -1.2\n      ...\n119  0.4\nName: e, Length: 120, dtype: float64\n"),
]
OF_A_FORM = [
    (
        "list.log",
        ". list sex age in 1/2\n\n     +-----------+\n     | sex   age |\n     |-----------|\n  1. |   f    34 |\n  2. |   m    51 |\n     +-----------+\n",
    ),
    (
        "box.txt",
        "     +-----------+\n     | sex   age |\n     |-----------|\n  1. |   f    34 |\n     +-----------+\n",
    ),
    ("head.txt", "> head(people)\n  sex age\n1   f  34\n2   m  51\n"),
    ("pipe.txt", "> people |> head(2)\n  sex age\n1   f  34\n2   m  51\n"),
    ("residuals.txt", "> residuals(fit)\n    1     2 \n0.213 -1.22 \n"),
    ("python.txt", ">>> fit.resid\n0    0.213\n1   -1.220\n"),
    ("str.txt", "'data.frame':\t120 obs. of  2 variables:\n $ age: int  34 51\n"),
    ("sas.lst", "Obs    sex    age\n\n  1     f     34\n  2     m     51\n"),
]
"""Records that are known by their form, without the data."""


@pytest.mark.parametrize(
    ("name", "text", "records"),
    [(*case, True) for case in OF_THE_DATA] + [(*case, False) for case in OF_A_FORM],
)
def test_records_fail(tmp_path: Path, name: str, text: str, records: bool) -> None:
    (tmp_path / name).write_text(text)
    assert verdicts(tmp_path, records=records) == {name: "fail"}
    (tmp_path / "outputs.toml").write_text(f'"{name}" = {{ ignore = true }}')
    assert verdicts(tmp_path, records=records) == {name: "fail"}


def test_as_many_values_as_people_of_another_output_fail_without_the_data(tmp_path: Path) -> None:
    pd.crosstab(PEOPLE["sex"], PEOPLE["area"], margins=True, margins_name="Total").to_csv(
        tmp_path / "table.csv"
    )
    (tmp_path / "values.txt").write_text(NAMED_VECTOR + "\n")
    assert verdicts(tmp_path, records=False) == {"table.csv": "read", "values.txt": "fail"}
    (tmp_path / "values.txt").write_text("\n".join(NAMED_VECTOR.splitlines()[:-2]) + "\n")
    assert verdicts(tmp_path, records=False) == {"table.csv": "read", "values.txt": "not assessed"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("medians.csv", PEOPLE.groupby("sex")[["age"]].median().reset_index().to_csv(index=False)),
        (
            "means.csv",
            PEOPLE.groupby(["sex", "area"])[["age", "income"]]
            .mean()
            .round(0)
            .reset_index()
            .to_csv(index=False),
        ),
        (
            "counts.csv",
            PEOPLE.groupby(["sex", "area"])
            .size()
            .rename("people")
            .reset_index()
            .to_csv(index=False),
        ),
        (
            "ages.csv",
            PEOPLE.assign(old=PEOPLE["age"] > 50)
            .groupby("old")
            .size()
            .rename("n")
            .reset_index()
            .to_csv(index=False),
        ),
        ("crosstab.csv", pd.crosstab(PEOPLE["area"], PEOPLE["sex"], margins=True).to_csv()),
        ("describe.csv", PEOPLE.describe().to_csv()),
        ("one.csv", PEOPLE[["age"]].describe().to_csv()),
        ("correlations.csv", PEOPLE[["age", "income", "ill"]].corr().to_csv()),
        ("quantiles.csv", PEOPLE[["age", "income"]].quantile([0.1, 0.25, 0.5, 0.75, 0.9]).to_csv()),
        ("row.csv", PEOPLE[["age", "income", "ill"]].mean().to_frame().T.to_csv(index=False)),
        ("aggregate.txt", "  sex age\n1   f  45\n2   m  46\n"),
        (
            "assigned.log",
            "> e <- residuals(fit)\n> h <- head(people)\n> table(people$sex)\n\n f  m \n60 60 \n",
        ),
        (
            "headed.txt",
            "> head(sort(table(people$area)))\n\nnorth south  west \n   40    41    39 \n",
        ),
        (
            "matrix.log",
            ". matrix list e(b)\n\ne(b)[1,2]\n           age      _cons\ny1   .12      3.4\n",
        ),
    ],
)
def test_statistics_of_the_same_columns_are_no_records(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    for records in (True, False):
        assert "fail" not in verdicts(tmp_path, records=records).values()


def test_a_row_for_each_person_of_several_records_is_recognised() -> None:
    visits = pa.table({"age": list(range(30)) * 4, "ill": ["no", "yes"] * 60})
    rows = (("score",), *((f"{k}.25",) for k in range(30)))
    printed = PrintedRows("scores.csv", None, tuple(range(1, 32)), rows)
    assert RecordLookup(visits, threshold=10).reason(printed) is None
    assert "a row a person" in (
        RecordLookup(visits, threshold=10, n_persons=30).reason(printed) or ""
    )


def test_the_reason_holds_no_value_and_no_small_count(tmp_path: Path) -> None:
    PEOPLE.head(6).to_csv(tmp_path / "head.csv", index=False)
    (skipped,) = about_of(tmp_path, records=True).skipped
    assert skipped.reason == (
        "head.csv, line 1: Its columns are columns of the data, and its rows are records of the data. Take it out of the folder."
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=40),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_rows_are_found_as_a_plain_count_finds_them(records, threshold, random) -> None:
    """A second opinion on the look-up by hashes: each row counted among all."""
    table = pa.table({"x": [x for x, _ in records], "y": [y for _, y in records]})
    rows = [(random.choice("abc"), random.randint(0, 4)) for _ in range(8)]
    columns = [[x for x, _ in rows], [str(y) for _, y in rows]]
    present, rare = RecordLookup(table, threshold=threshold)._match_records(
        {0: "x", 1: "y"}, columns
    )
    counts = Counter(records)
    assert present.tolist() == [counts[row] > 0 for row in rows]
    assert rare.tolist() == [0 < counts[row] < threshold for row in rows]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(
        st.lists(st.text(alphabet="ab1.,- \n", max_size=4), max_size=5), min_size=1, max_size=8
    )
)
def test_any_rows_can_be_looked_up(rows) -> None:
    printed = PrintedRows("f", None, (1,), tuple(map(tuple, rows)))
    RecordLookup(pa.table({"a": ["a", None], "b": [1.0, 2.0]}), threshold=10).reason(printed)
