"""A formula on two tables: statsmodels as second opinion, overlaps by hand, and what may not show."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import read
from chaffinch._base.results import to_plain
from chaffinch.errors import InputError
from chaffinch.synth.independent import Independent
from chaffinch.table import Categories, Column, Schema, Table
from chaffinch.utility.regression import Regression, interval_overlap, regression

# Overlap.


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        ((0, 4), (0, 4), 1),
        ((0, 4), (2, 10), 0.375),  # share 2: 2/4 and 2/8
        ((0, 4), (1, 2), 0.625),  # one inside the other: 1/4 and 1/1
        ((0, 1), (1, 3), 0),  # they touch
        ((0, 1), (2, 4), -0.75),  # a gap of 1: -1/1 and -1/2
    ],
)
def test_overlap_by_hand(first: Any, second: Any, overlap: float) -> None:
    assert interval_overlap(first, second) == overlap
    assert interval_overlap(second, first) == overlap


ENDS = st.tuples(st.floats(-1e3, 1e3), st.floats(0.01, 1e3)).map(lambda t: (t[0], t[0] + t[1]))


@given(ENDS, ENDS, st.floats(-100, 100), st.floats(0.1, 10))
def test_overlap_is_at_most_one_and_knows_no_units(
    first: Any, second: Any, shift: float, scale: float
) -> None:
    overlap = interval_overlap(first, second)
    assert overlap <= 1 + 1e-9
    assert (overlap >= 0) == (first[0] <= second[1] and second[0] <= first[1])
    moved = [tuple(shift + scale * end for end in interval) for interval in (first, second)]
    assert interval_overlap(*moved) == pytest.approx(overlap, rel=1e-6, abs=1e-6)  # type: ignore[arg-type]


# Against statsmodels.


def framed(table: Table) -> pd.DataFrame:
    """Return a table as a frame, its categories with the table's levels; missing ones as NaN."""
    frame = table.to_pandas()
    for column in table.schema.modelled:
        if isinstance(column.codec, Categories):
            names = np.array(
                [*column.codec.names()[: column.codec.n_values], *[None] * 9], dtype=object
            )
            frame[column.name] = pd.Categorical(
                names[table.code(column.name)], categories=names[: column.codec.n_values]
            )
    return frame


def assert_rows(result: Regression, fits: list[Any], level: float = 0.95) -> None:
    """Compare all rows with the fits of the original and of the synthetic table, and the mean with its definition."""
    assert result.value is not None
    overlaps = []
    shown = [row for row in result.rows if row.original is not None and row.synthetic is not None]
    assert shown
    for row in shown:
        name = next(n for n in fits[0].params.index if n.replace("[T.", "[") == row.term)
        intervals = [fit.conf_int(1 - level).loc[name].tolist() for fit in fits]
        assert row.original == pytest.approx(fits[0].params[name], rel=1e-6, abs=1e-9)
        assert row.synthetic == pytest.approx(fits[1].params[name], rel=1e-6, abs=1e-9)
        assert row.original_interval == pytest.approx(intervals[0], rel=1e-6, abs=1e-9)
        assert row.synthetic_interval == pytest.approx(intervals[1], rel=1e-6, abs=1e-9)
        (a, b), (c, d) = intervals
        shared = min(b, d) - max(a, c)
        overlaps.append(0.5 * (shared / (b - a) + shared / (d - c)))
        assert row.overlap == pytest.approx(overlaps[-1], rel=1e-5, abs=1e-8)
        gap = abs(fits[1].params[name] - fits[0].params[name]) / fits[0].bse[name]
        assert row.difference_in_se == pytest.approx(gap, rel=1e-5, abs=1e-8)
    assert result.value == pytest.approx(np.mean(overlaps), rel=1e-6)


@pytest.fixture(scope="module")
def adult() -> tuple[Table, Table]:
    """Four thousand records of Adult, and four thousand others."""
    path = Path(__file__).parents[2] / "examples" / "data" / "adult_train.parquet"
    frame = pd.read_parquet(path)
    table = read(frame.iloc[:4000])
    return table, read(frame.iloc[4000:8000], schema=table.schema)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize(
    "formula",
    [
        "hours_per_week ~ age + sex + education_num",
        "hours_per_week ~ age*sex + race",
        "log(age) ~ 0 + sex + relationship",
    ],
)
def test_least_squares_on_adult(adult: tuple[Table, Table], formula: str, level: float) -> None:
    result = regression(*adult, formula, level=level)
    theirs = formula.replace("log", "np.log")
    fits = [smf.ols(theirs, framed(table)).fit() for table in adult]
    assert_rows(result, fits, level)
    assert result.family == "ols"
    assert result.settings["hidden"] == 0
    assert len(result.rows) == len(fits[0].params)


def test_logistic_regression_on_adult(adult: tuple[Table, Table]) -> None:
    formula = "income ~ age + sex + education_num + hours_per_week + relationship"
    result = regression(*adult, formula)
    frames = [
        framed(table).assign(yes=lambda f: (f["income"] == ">50K").astype(int)) for table in adult
    ]
    fits = [
        smf.logit(formula.replace("income", "yes"), frame).fit(disp=0, tol=1e-12)
        for frame in frames
    ]
    assert_rows(result, fits)
    assert result.family == "logit"
    assert result.settings["modelled_level"] == ">50K"
    assert result.settings["references"] == {"sex": "Female", "relationship": "Husband"}


def test_incomplete_records_are_left_out_and_told(adult: tuple[Table, Table]) -> None:
    formula = "hours_per_week ~ age + occupation"  # occupation is unknown for one in eighteen
    result = regression(*adult, formula)
    frames = [framed(table) for table in adult]
    missing = [int(frame["occupation"].isna().sum()) for frame in frames]
    assert min(missing) > 100
    assert result.settings["left_out"] == {
        "original": round(missing[0], -1),
        "synthetic": round(missing[1], -1),
    }
    assert result.settings["left_out_share"]["original"] == pytest.approx(
        missing[0] / 4000, abs=2e-3
    )
    assert result.settings["records"]["original"] == pytest.approx(4000 - missing[0], abs=5)
    for frame in frames:
        frame["occupation"] = frame[
            "occupation"
        ].cat.remove_unused_categories()  # rare ones are hidden here
    assert_rows(result, [smf.ols(formula, frame).fit() for frame in frames])


def test_cmc_with_codes_for_levels(data: Path) -> None:
    """Columns of whole numbers that the schema holds as categories: two levels are a logistic response."""
    table = read(data / "cmc.csv")
    other = Independent().fit(table).sample(1473, seed=5)
    formula = "media_exposure ~ wife_age + wife_religion + standard_of_living"
    result = regression(table, other, formula)
    frames = [
        framed(t).assign(yes=lambda f: (f["media_exposure"] == "1").astype(int))
        for t in (table, other)
    ]
    assert_rows(
        result,
        [
            smf.logit(formula.replace("media_exposure", "yes"), f).fit(disp=0, tol=1e-12)
            for f in frames
        ],
    )
    assert result.family == "logit"


def test_numeric_codes_as_levels(data: Path) -> None:
    table = read(data / "diabetes.csv")
    other = Independent().fit(table).sample(900, seed=5)
    result = regression(table, other, "outcome ~ C(pregnancies) + bmi")
    frames = [
        framed(t).assign(yes=lambda f: (f["outcome"] == "1").astype(int)) for t in (table, other)
    ]
    codec = table.schema["pregnancies"].codec
    assert codec is not None
    for frame, t in zip(frames, (table, other), strict=True):
        frame["bin"] = pd.Categorical(
            np.array(codec.names())[t.code("pregnancies")], categories=codec.names()
        )
    fits = [smf.logit("yes ~ bin + bmi", f).fit(disp=0, tol=1e-12) for f in frames]
    for fit in fits:
        fit.model.data.xnames = [
            name.replace("bin", "C(pregnancies)") for name in fit.model.exog_names
        ]
    assert_rows(result, fits)


# Both ends.


@pytest.mark.parametrize(
    "formula",
    [
        "income ~ age*sex + workclass + education",
        "hours_per_week ~ C(age) + race:sex",
        "hours_per_week ~ 1",
        "sex ~ 0 + income",
    ],
)
def test_a_table_overlaps_itself_wholly(adult: tuple[Table, Table], formula: str) -> None:
    result = regression(adult[0], adult[0], formula)
    assert result.value == 1.0
    shown = [row for row in result.rows if row.original is not None]
    assert {row.overlap for row in shown} == {1.0}
    assert {row.difference_in_se for row in shown} == {0.0}


def test_independent_columns_overlap_badly_and_other_records_well(
    adult: tuple[Table, Table],
) -> None:
    formula = "income ~ age + sex + education_num + hours_per_week"
    # Intervals of two samples of one population overlap by about 0.7 on average; each slope of the independent
    # table lies ten or more standard errors off.
    good = regression(*adult, formula)
    poor = regression(adult[0], Independent().fit(adult[0]).sample(4000, seed=1), formula)
    assert good.value is not None
    assert poor.value is not None
    assert good.value > 0.4
    assert poor.value < -0.5
    assert row_of(poor, "age").overlap < 0


# Coefficients that a table does not determine.


def made(n: int = 600, seed: int = 0, **columns: Any) -> pa.Table:
    rng = np.random.default_rng(seed)
    held = {
        "y": rng.normal(size=n).round(4),
        "a": rng.choice(["u", "v", "w"], n),
        "b": rng.choice(["p", "q"], n),
        "x": rng.normal(size=n).round(4),
        "t": rng.choice(["no", "yes"], n),
    }
    return pa.table({**held, **{name: make(held) for name, make in columns.items()}})


def row_of(result: Regression, term: str) -> Any:
    (row,) = [row for row in result.rows if row.term == term]
    return row


@pytest.mark.parametrize("response", ["y", "t"])
def test_a_level_that_the_synthetic_table_lost_is_listed(response: str) -> None:
    table = read(made())
    lost = made(seed=1, a=lambda held: np.where(held["a"] == "w", "u", held["a"]))
    result = regression(table, lost, f"{response} ~ a + x")
    row = row_of(result, "a[w]")
    assert row.original is not None
    assert row.original_interval is not None
    assert (row.synthetic, row.synthetic_interval, row.overlap, row.difference_in_se) == (None,) * 4
    assert row.note == "not determined in the synthetic table"
    assert result.settings["not_determined"] == {"original": [], "synthetic": ["a[w]"]}
    assert (result.settings["compared"], result.settings["coefficients"]) == (3, 4)
    assert result.value == pytest.approx(
        np.mean([r.overlap for r in result.rows if r.overlap is not None])
    )


def test_a_lost_reference_leaves_no_difference_to_compare() -> None:
    result = regression(
        read(made()),
        made(seed=1, a=lambda held: np.where(held["a"] == "u", "v", held["a"])),
        "y ~ a + x",
    )
    assert result.settings["not_determined"]["synthetic"] == ["Intercept", "a[v]", "a[w]"]
    assert row_of(result, "x").overlap is not None


def test_columns_that_repeat_others_are_dropped_from_both_fits() -> None:
    """z = 2 x in the original: z goes, from both; where the synthetic table breaks the rule, x means the same still."""
    table = read(made(z=lambda held: 2 * held["x"]))
    other = made(seed=1, z=lambda held: held["x"][::-1])
    result = regression(table, other, "y ~ x + z + b")
    assert (
        row_of(result, "z").note
        == "not determined in the original table; not determined in the synthetic table"
    )
    assert result.settings["not_determined"] == {"original": ["z"], "synthetic": ["z"]}
    without = regression(table, other, "y ~ x + b")
    assert row_of(result, "x").synthetic == pytest.approx(row_of(without, "x").synthetic, rel=1e-9)
    assert result.value == pytest.approx(without.value, rel=1e-9)


def test_a_level_that_only_the_synthetic_table_has_is_no_reference() -> None:
    """Its records must not move the coefficients of the other levels: those are the fit of the other records."""
    table = read(made())
    new = made(seed=1, a=lambda held: np.where(np.arange(600) < 60, "new", held["a"]))
    result = regression(table, new, "y ~ a")
    rest = new.to_pandas().iloc[60:]
    for level in "vw":
        mean = rest["y"][rest["a"] == level].mean() - rest["y"][rest["a"] == "u"].mean()
        assert row_of(result, f"a[{level}]").synthetic == pytest.approx(mean, rel=1e-6)
    assert result.rows[-1].term == "(level of fewer than 10 records of a)"


def test_separation_is_stated_and_no_number() -> None:
    table = read(made())
    alike = made(seed=1, t=lambda held: np.where(held["a"] == "w", "yes", held["t"]))
    result = regression(table, alike, "t ~ a + x")
    row = row_of(result, "a[w]")
    assert (row.synthetic, row.overlap) == (None, None)
    assert row.note == "not determined in the synthetic table"
    assert result.settings["no_finite_maximum"] == {"original": [], "synthetic": ["a[w]"]}
    sure = made(seed=1, t=lambda held: np.where(held["x"] > 0.1, "yes", "no"))
    for first, second, name in ((table, sure, "synthetic"), (read(sure), made(), "original")):
        result = regression(first, second, "t ~ x + b")
        assert result.value is None
        assert result.reason.startswith(
            f"in the {name} table the columns predict the response of every record"
        )


# What may not show.


def test_small_levels_do_not_show() -> None:
    def few(held: dict[str, Any]) -> Any:
        return np.where(np.arange(600) < 9, "secret", held["a"])

    table = read(made(a=few))
    result = regression(table, made(seed=1, a=few), "y ~ a + x")
    told = json.dumps(result.to_dict()) + repr(result) + result._repr_html_()
    assert "secret" not in told
    (row,) = [row for row in result.rows if row.term == "(level of fewer than 10 records of a)"]
    assert to_plain(row) == {
        "term": "(level of fewer than 10 records of a)",
        "original": None,
        "original_interval": None,
        "synthetic": None,
        "synthetic_interval": None,
        "overlap": None,
        "difference_in_se": None,
        "note": "fewer than 10 original records",
    }
    assert result.settings["hidden"] == 1
    # Hidden coefficients are no part of the mean: they could be found from it.
    assert result.value == pytest.approx(
        np.mean([r.overlap for r in result.rows if r.overlap is not None])
    )
    assert len([r for r in result.rows if r.overlap is not None]) == 4


def test_ten_records_show() -> None:
    table = read(made(a=lambda held: np.where(np.arange(600) < 10, "shown", held["a"])))
    result = regression(table, table, "y ~ a")
    assert result.settings["hidden"] == 0
    assert result.settings["references"] == {"a": "shown"}  # first in order


def test_a_small_first_level_is_no_reference() -> None:
    """The intercept would be the mean of its few records."""
    table = read(made(a=lambda held: np.where(np.arange(600) < 9, "aaa", held["a"])))
    result = regression(table, table, "y ~ a")
    assert result.settings["references"] == {"a": "u"}
    assert "aaa" not in json.dumps(result.to_dict())
    assert [row.term for row in result.rows] == [
        "Intercept",
        "(level of fewer than 10 records of a)",
        "a[v]",
        "a[w]",
    ]
    frame = table.to_pandas()
    assert result.rows[0].original == pytest.approx(frame["y"][frame["a"] == "u"].mean())


def test_small_cells_of_interactions_do_not_show() -> None:
    def rare(cell: tuple[str, str]) -> Table:
        """Return a table with 5 records in one cell, the rest of them moved to the other level of b."""
        frame = made().to_pandas()
        inside = np.flatnonzero((frame["a"] == cell[0]) & (frame["b"] == cell[1]))[5:]
        frame.loc[inside, "b"] = {"p": "q", "q": "p"}[cell[1]]
        return read(frame)

    table = rare(("w", "q"))
    result = regression(table, table, "y ~ a*b")
    assert [row.term for row in result.rows] == [
        "Intercept",
        "a[v]",
        "a[w]",
        "b[q]",
        "a[v]:b[q]",
        "(level of fewer than 10 records of a:b)",
    ]
    # In a*b the intercept is the mean of the cell of both references, and a[w] is the cell of w and b's reference.
    hidden = "(level of fewer than 10 records of a:b)"
    table = rare(("u", "p"))
    assert regression(table, table, "y ~ a*b").rows[0].term == hidden
    assert regression(table, table, "y ~ a + b").rows[0].term == "Intercept"
    table = rare(("w", "p"))
    assert [row.term for row in regression(table, table, "y ~ a*b").rows].index(hidden) == 2


def test_a_logistic_regression_that_is_a_table_hides_small_counts_of_responses() -> None:
    """Log odds and their errors of one level give its counts of both responses: 4 yes of 200 may not show."""

    def rare(held: dict[str, Any]) -> Any:
        yes = np.flatnonzero((held["a"] == "w") & (held["t"] == "yes"))[4:]
        return np.where(np.isin(np.arange(600), yes), "no", held["t"])

    table = read(made(t=rare))
    assert [row.term for row in regression(table, table, "t ~ a").rows] == [
        "Intercept",
        "a[v]",
        "(level of fewer than 10 records of a)",
    ]
    # Beside a number, counts cannot be found from coefficients.
    assert row_of(regression(table, table, "t ~ a + x"), "a[w]").overlap == 1.0


def test_a_number_that_few_records_have_does_not_show() -> None:
    flag = np.zeros(600)
    flag[:7] = np.arange(1, 8) / 3
    schema = Schema((Column("y", "float", type="double"), Column("flag", "float", type="double")))
    frame = made().to_pandas()[["y"]].assign(flag=flag)
    table = read(frame, schema=schema)
    result = regression(table, table, "y ~ flag")
    assert [row.term for row in result.rows] == [
        "Intercept",
        "(numbers of fewer than 10 records of flag)",
    ]


def test_small_counts_of_records_left_out_do_not_show() -> None:
    frame = made().to_pandas()
    frame.loc[:6, "x"] = None
    table = read(frame)
    result = regression(table, table, "y ~ x")
    assert result.settings["left_out"] == {"original": "<10", "synthetic": "<10"}
    assert result.settings["left_out_share"] == {"original": None, "synthetic": None}
    assert result.settings["records"] == {"original": 590, "synthetic": 590}


# Not applicable, and errors.


def few_rows(n: int) -> Table:
    rng = np.random.default_rng(2)
    schema = Schema((Column("y", "float", type="double"), Column("x", "float", type="double")))
    return read(pa.table({"y": rng.normal(size=n), "x": rng.normal(size=n)}), schema=schema)


def test_ten_degrees_of_freedom() -> None:
    assert regression(few_rows(12), few_rows(12), "y ~ x").value == 1.0
    for first, second, name in (
        (11, 12, "original"),
        (12, 11, "synthetic"),
        (2, 12, "original"),
        (12, 2, "synthetic"),
    ):
        result = regression(few_rows(first), few_rows(second), "y ~ x")
        assert result.value is None
        assert (
            result.reason
            == f"in the {name} table there are fewer than 10 residual degrees of freedom"
        )
        assert result.to_dict()["not_applicable"] == result.reason


def test_responses_that_cannot_be_fitted() -> None:
    table = read(made())
    assert regression(table, table, "a ~ x").reason.startswith(
        "a response of 3 levels; name a two-level or numeric one"
    )
    one = read(made(t=lambda held: np.full(600, "yes")))
    assert "fewer than two levels" in regression(one, one, "t ~ x").reason
    rare = read(made(t=lambda held: np.where(np.arange(600) < 9, "yes", "no")))
    assert (
        regression(rare, rare, "t ~ x").reason
        == "a level of the response has fewer than 10 original records"
    )
    same = made(t=lambda held: np.full(600, "yes"))
    assert (
        regression(table, same, "t ~ x").reason
        == "in the synthetic table all records have the same response"
    )
    exact = read(made(z=lambda held: 3 * held["x"] + 1))
    assert "the fit leaves no error" in regression(exact, exact, "z ~ x").reason


@pytest.mark.parametrize(
    ("formula", "name", "odd"),
    [
        ("t ~ a + x", "t", "perhaps"),
        *[("y ~ x + a", "x", odd) for odd in (math.inf, -math.inf, math.nan)],
    ],
)
def test_responses_and_numbers_that_the_original_cannot_have_are_left_out(
    formula: str, name: str, odd: str | float
) -> None:
    other = made(seed=1, **{name: lambda held: np.where(np.arange(600) < 60, odd, held[name])})
    table = read(made())
    result = regression(table, other, formula)
    assert result.settings["left_out"] == {"original": 0, "synthetic": 60}
    assert result.value == pytest.approx(
        regression(table, other.slice(60), formula).value, rel=1e-9
    )


def test_a_column_that_is_missing_throughout_in_the_synthetic_table() -> None:
    frame = made(seed=1).to_pandas()
    frame["x"] = np.nan
    result = regression(read(made()), pa.Table.from_pandas(frame), "y ~ x")
    assert result.value is None
    assert (
        result.reason
        == "in the synthetic table there are fewer than 10 residual degrees of freedom"
    )


def test_a_logarithm_that_the_synthetic_table_cannot_take() -> None:
    table = read(made(z=lambda held: np.abs(held["x"]) + 0.1))
    result = regression(table, made(z=lambda held: held["x"]), "y ~ log(z)")
    assert result.value is None
    assert result.reason.startswith("in the synthetic table log(z) needs numbers above 0")
    with pytest.raises(InputError, match=r"log\(x\) needs numbers above 0"):
        regression(table, table, "y ~ log(x)")


def test_nothing_to_compare() -> None:
    """One level of three is enough if it has a coefficient of its own, but no difference from a lost reference is."""
    table = read(made())
    lost = made(a=lambda held: np.full(600, "w"))
    result = regression(table, lost, "y ~ 0 + a")
    assert [row.overlap is None for row in result.rows] == [True, True, False]
    other = made(seed=3, a=lambda held: np.where(held["a"] == "u", "v", held["a"]))
    result = regression(table, other, "y ~ a")
    assert result.value is None
    assert "no coefficient that both tables determine" in result.reason


def test_errors() -> None:
    table = read(made())
    with pytest.raises(InputError, match=r"Unknown column 'aa'\. Did you mean 'a'\?"):
        regression(table, table, "y ~ aa")
    for level in (0.0, 1.0, 95, math.nan):
        with pytest.raises(InputError, match="level must lie between 0 and 1"):
            regression(table, table, "y ~ a", level=level)


def test_the_plain_data(adult: tuple[Table, Table]) -> None:
    result = regression(*adult, "income ~ age + sex + workclass + native_country + education*race")
    told = result.to_dict()
    json.dumps(told, allow_nan=False)
    assert (
        told["formula"]
        == "income ~ age + sex + workclass + native_country + education + race + education:race"
    )
    assert told["family"] == "logit"
    assert (told["direction"], told["identical"], told["interval"]) == (
        "higher is better",
        1.0,
        None,
    )
    assert set(told["rows"][0]) == {
        "term",
        "original",
        "original_interval",
        "synthetic",
        "synthetic_interval",
        "overlap",
        "difference_in_se",
        "note",
    }
    # Levels that show have ten or more records of the original.
    frame = framed(adult[0]).dropna(subset=["workclass", "native_country"])
    counts = frame["native_country"].value_counts()
    small = [level for level, count in counts.items() if count < 10]
    assert len(small) > 5
    assert [level for level in small if f"native_country[{level}]" in json.dumps(told)] == []


@pytest.mark.parametrize(
    ("formula", "outlier"),
    [("income ~ age", {"income": 987_654_321}), ("ill ~ wealth", {"wealth": 987_654_321})],
)
def test_an_original_that_a_few_records_dominate_shows_no_coefficient(
    formula: str, outlier: dict[str, int]
) -> None:
    """The value of one record could be worked out from coefficients and intervals, to within a few per cent."""
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, 400)
    people = pd.DataFrame(
        {
            "age": age,
            "income": 15_000 + 300 * age + rng.integers(0, 9_000, 400),
            "wealth": rng.integers(0, 50_000, 400),
        }
    )
    people["ill"] = np.where(rng.random(400) < 0.4, "yes", "no")
    plain = read(people)
    assert regression(plain, plain, formula).value == 1.0
    people.loc[7, list(outlier)] = list(outlier.values())
    result = regression(read(people), plain, formula)
    assert result.value is None
    assert result.rows == ()
    assert "2 original records or fewer" in (result.reason or "")
    assert "987" not in json.dumps(to_plain(result.to_dict()))
