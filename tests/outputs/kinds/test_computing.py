"""Numbers of recipes: those of the documented page, of pandas and statsmodels, and within their own precision on any records."""

from __future__ import annotations

import builtins
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError, MissingExtraError
from chaffinch.outputs.document import Outputs, read_outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds import KINDS
from chaffinch.outputs.numbers import compare_numbers

ROOT = Path(__file__).resolve().parents[3]
PAGE = tomllib.loads(
    "\n".join(
        re.findall(
            r"```toml\n(.*?)```",
            (ROOT / "docs" / "outputs-file.md").read_text("utf-8"),
            flags=re.DOTALL,
        )
    )
)


@pytest.fixture(scope="module")
def documented() -> Outputs:
    return read_outputs(PAGE)


def intervals(spec: Outputs, codes: Any) -> dict[str, list[tuple[str, float, float]]]:
    return {
        one.name: [(n.name, n.lo, n.hi) for n in one.numbers]
        for one in compare_numbers(spec, codes)
    }


def same_numbers(made: Outputs, codes: Any) -> Outputs:
    """The main property: what is computed can be read, and every number of it lies within its own precision."""
    entries = made.entries(codes)
    columns = Outputs(made.fields, ()).to_dict()["columns"]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": len(codes)}
    spec = Outputs.from_dict(
        json.loads(json.dumps({**head, "columns": columns, "outputs": entries}))
    )
    spec.problem()  # the engines can read it, too
    for one in compare_numbers(spec, codes):
        assert one.within, (one.name, [n for n in one.numbers if not n.within()])
    return spec


def test_the_page_computed_on_its_records_is_the_page(documented: Outputs, codes: Any) -> None:
    assert {recipe.kind for recipe in documented.outputs} == set(KINDS.names)
    spec = same_numbers(documented, codes)
    printed, again = intervals(documented.published(rows=len(codes)), codes), intervals(spec, codes)
    for name in documented.names:
        assert again[name] == printed[name], name


def test_numbers_are_nowhere_in_a_recipe(documented: Outputs, codes: Any) -> None:
    """Recipes of the page on half of the records: numbers of the page would be seen."""
    half = codes[::2]
    frame = documented.fields.with_rows(len(codes))
    recipes = [recipe.without_numbers(frame).to_dict() for recipe in documented.outputs]
    bare = recipes_of(recipes, documented.fields)
    assert all(recipe.published is None for recipe in bare.outputs)
    assert [recipe.without_numbers(frame).to_dict() for recipe in bare.outputs] == recipes
    assert bare.entries(half) == documented.entries(half)
    same_numbers(bare, half)


def test_regressions_are_those_of_statsmodels(documented: Outputs, codes: Any) -> None:
    half = codes[1::2]
    frame = pd.DataFrame(
        {
            f.name: np.array(f.levels, dtype=object)[half[:, k]]
            for k, f in enumerate(documented.fields)
        }
    )
    frame = frame.astype({"AGE": float, "CHILDREN": float, "LIVING": float}).assign(
        long=(frame["METHOD"] == "long").astype(float)
    )
    levels = pd.CategoricalDtype(["none", "some", "more", "most"])
    frame["EDUCATION"] = frame["EDUCATION"].astype(levels)
    wanted = smf.logit("long ~ AGE + C(EDUCATION, Treatment('some')) + MEDIA:CHILDREN", frame).fit(
        disp=0
    )
    found = documented["long-term method"].computed(documented.fields, half).to_dict()
    for name, value in wanted.params.items():
        assert found["coefficients"][name] == pytest.approx(value, abs=5.1e-5)
    assert found["loglik"] == f"{wanted.llf:.2f}"
    assert found["standard_errors"] == {
        n: f"{wanted.bse[n]:.3f}" for n in ("AGE", "MEDIA[good]:CHILDREN")
    }
    assert found["n"] == len(half)
    wanted = smf.ols("CHILDREN ~ AGE + EDUCATION", frame).fit()
    found = documented["number of children"].computed(documented.fields, half).to_dict()
    assert found["coefficients"] == {
        name: round(value, 4) + 0.0 for name, value in wanted.params.items()
    }


def test_alpha_is_estimated_where_it_was_published_as_an_estimate(
    documented: Outputs, codes: Any
) -> None:
    entry = {"name": "nb", "kind": "negative-binomial", "formula": "CHILDREN ~ AGE"}
    frame = pd.DataFrame({"AGE": codes[:, 0] + 16.0, "CHILDREN": codes[:, 2].astype(float)})
    wanted = smf.negativebinomial("CHILDREN ~ AGE", frame).fit(disp=0, maxiter=500)
    for more in (
        {},
        {"alpha": True},
        {"coefficients": {"Intercept": 0.1, "AGE": "0.0500", "alpha": "0.1000"}},
    ):
        made = recipes_of([{**entry, **more}], documented.fields)
        assert (
            made.outputs[0].without_numbers(made.fields.with_rows(1473)).to_dict()["alpha"] is True
        )
        found = made.entries(codes)[0]
        assert found["alpha"] == pytest.approx(wanted.params["alpha"], abs=1e-4)
        assert float(found["coefficients"]["AGE"]) == pytest.approx(wanted.params["AGE"], abs=1e-4)
        same_numbers(made, codes)
    with pytest.raises(InputError, match="needs alpha"):
        recipes_of([{**entry, "kind": "glm", "family": "negative-binomial"}], documented.fields)


def test_observed_and_expected_information(documented: Outputs, codes: Any) -> None:
    """statsmodels' Probit has standard errors of the observed information, which differ from a GLM's."""
    probit = {
        "name": "p",
        "kind": "probit",
        "formula": "METHOD ~ AGE",
        "success": "long",
        "standard_errors": True,
    }
    with pytest.raises(InputError, match="observed information are not supported"):
        recipes_of([probit], documented.fields)
    made = recipes_of([{**probit, "information": "expected"}], documented.fields)
    import statsmodels.api as sm

    y, x = (codes[:, 4] == 1).astype(float), sm.add_constant(codes[:, 0] + 16.0)
    wanted = sm.GLM(y, x, family=sm.families.Binomial(sm.families.links.Probit())).fit(tol=1e-12)
    assert made.entries(codes)[0]["standard_errors"]["AGE"] == pytest.approx(
        wanted.bse[1], rel=1e-6
    )
    assert sm.Probit(y, x).fit(disp=0).bse[1] != pytest.approx(wanted.bse[1], rel=1e-5)
    same_numbers(made, codes)


# --- any records -----------------------------------------------------------------------------------------------------

FIELDS = OutputDomain(
    (
        OutputColumn("word", ("a", "b", "c")),
        OutputColumn("flag", (False, True)),
        OutputColumn("count", tuple(range(6))),
        OutputColumn("grid", (0.5, 1.0, 1.5, 2.0, 4.0)),
        OutputColumn("time", (1, 2, 3, 5)),
        OutputColumn("code", (0, 1)),
    )
)
WHERES = [None, "count >= 1", "word != 'c'", "word == 'a' or count < 3"]
decimals = st.sampled_from([None, 0, 1, 3])


def drawn(draw: Any, **options: Any) -> dict[str, Any]:
    found = {key: draw(values) for key, values in options.items()}
    return {key: value for key, value in found.items() if value is not None}


@st.composite
def counts_rules(draw: Any) -> dict[str, Any]:
    return drawn(
        draw,
        threshold=st.sampled_from([None, 3, 10]),
        suppressed_zeros=st.sampled_from([None, True]),
        base=st.sampled_from([None, 3, 5, 10]),
        rounding=st.sampled_from([None, "nearest", "down", "up", "random"]),
        bands=st.sampled_from([None, ["<4"], ["<=5", ">=20"], ["2-4", "5-9"]]),
    )


@st.composite
def simple_recipe(draw: Any) -> dict[str, Any]:
    kind = draw(
        st.sampled_from(
            ["table", "percentages", "histogram", "mean", "correlation", "quantiles", "km", "tree"]
        )
    )
    entry = drawn(
        draw, where=st.sampled_from(WHERES), n=st.sampled_from([None, True]), decimals=decimals
    )
    by = draw(st.sampled_from([["word"], ["flag", "word"], ["code"], ["count"]]))
    groups = {"count": {"low": [0, 1], "high": [3, 5]}} if by == ["count"] else {}
    entry |= {"name": "it", **({"groups": groups} if groups else {})}
    if kind == "table":
        return {
            **entry,
            **draw(counts_rules()),
            "kind": "table",
            "by": by,
            "margins": draw(st.booleans()),
        }
    if kind == "percentages":
        whole = draw(st.sampled_from(["all", "rows", "columns"]))
        extra = drawn(
            draw, totals=st.sampled_from([None, True]), threshold=st.sampled_from([None, 4])
        )
        if "totals" in extra and (whole == "all" or "threshold" in extra):
            del extra["totals"]
        return {**entry, **extra, "kind": "table", "by": by, "percentages": whole}
    if kind == "histogram":
        del entry["name"]
        entry.pop("groups", None)
        rules = draw(counts_rules())
        return {
            **entry,
            **rules,
            "name": "it",
            "kind": "histogram",
            "of": "grid",
            "edges": [0.5, 1.5, 3.0, 4.0],
        }
    if kind == "mean":
        rules = drawn(draw, threshold=st.sampled_from([None, 3]))
        what = draw(st.sampled_from(["mean", "sum", "sd", "variance"]))
        return {**entry, **rules, "kind": what, "of": "grid", "by": by}
    if kind == "correlation":
        entry.pop("groups", None)
        return {
            **entry,
            "kind": "correlation",
            "of": draw(st.sampled_from([["count", "grid"], ["count", "grid", "time"]])),
        }
    if kind == "quantiles":
        rules = drawn(
            draw, threshold=st.sampled_from([None, 3]), at=st.sampled_from([None, [0.1, 0.5, 0.9]])
        )
        return {
            **entry,
            **rules,
            "kind": "quantiles" if "at" in rules else "median",
            "of": "grid",
            "by": by,
        }
    if kind == "km":
        flags = draw(
            st.sampled_from([["at_risk"], ["survival"], ["at_risk", "events", "survival"]])
        )
        rules = draw(counts_rules())
        by = draw(st.sampled_from([[], ["code"], ["code", "grid"]]))
        entry.pop("groups", None)
        km = {
            "kind": "kaplan-meier",
            "time": "time",
            "event": "flag",
            "times": [1, 2, 4, 5],
            "complete": False,
        }
        return {**entry, **rules, **km, "by": by, **dict.fromkeys(flags, True)}
    entry.pop("groups", None)
    leaves = [
        {"where": "grid < 1.5", "counts": True},
        {"where": "grid >= 1.5 and code == 0"},
        {"where": "grid >= 1.5 and code == 1", "n": True},
    ]
    return {**entry, **draw(counts_rules()), "kind": "tree", "label": "word", "leaves": leaves}


def refusal(made: Outputs, codes: Any) -> str | None:
    """Why an output cannot be computed, in the words of the error; None if it can."""
    try:
        made.entries(codes)
    except InputError as error:
        return str(error)
    return None


@given(simple_recipe(), st.integers(0, 2**32 - 1), st.integers(1, 60))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_tables_and_summaries_of_any_records(entry: dict[str, Any], seed: int, rows: int) -> None:
    codes = FIELDS.start(rows, seed=seed)
    made = recipes_of([entry], FIELDS)
    words = refusal(made, codes)
    if words is not None:
        assert re.match(
            r"Output 'it' cannot be computed on the data: .*(no records|too few|single value|withheld)",
            words,
        )
        assert entry["kind"] in (
            "table",
            "mean",
            "sd",
            "variance",
            "sum",
            "median",
            "quantiles",
            "correlation",
            "kaplan-meier",
        )
        return
    found = made.entries(codes)
    same_numbers(made, codes)
    again = recipes_of(found, FIELDS)
    assert again.outputs[0].published is not None
    # What was read off the numbers prints the same, as far as rules can be read off them.
    if not any(key in entry for key in ("threshold", "bands")):
        assert again.entries(codes) == found


FORMULAS = {
    "ols": "grid ~ count + word",
    "logit": "code ~ count + C(word, Treatment('b'))",
    "probit": "code ~ count",
    "cloglog": "code ~ count + flag",
    "poisson": "count ~ word + grid",
    "negative-binomial": "count ~ grid",
    "gamma": "grid ~ word",
    "inverse-gaussian": "grid ~ count",
    "glm": "code ~ word*flag",
    "multinomial": "word ~ count",
}


@st.composite
def regression_recipe(draw: Any) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(FORMULAS)))
    entry = drawn(draw, n=st.sampled_from([None, True]), decimals=st.sampled_from([None, 2, 4]))
    entry |= {
        "name": "it",
        "kind": kind,
        "formula": FORMULAS[kind],
        "where": draw(st.sampled_from([None, "time > 1"])),
    }
    if kind in ("gamma", "inverse-gaussian"):
        entry |= {"link": draw(st.sampled_from(["log", None])), "dispersion": True, "n": True}
    if kind == "glm":
        entry |= {"family": "binomial", "link": "logit"}
    if kind == "negative-binomial":
        entry["alpha"] = 0.3
    if draw(st.booleans()):
        entry["loglik"] = True
    if draw(st.booleans()) and kind not in ("multinomial", "probit", "negative-binomial"):
        entry["standard_errors"] = True
    if draw(st.booleans()):
        entry["digits"] = {"coefficients": draw(st.sampled_from(["0.000", "0.000e+00", 5]))}
    return {key: value for key, value in entry.items() if value is not None}


@given(regression_recipe(), st.integers(0, 2**32 - 1), st.sampled_from([12, 60, 200]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_regressions_of_any_records(entry: dict[str, Any], seed: int, rows: int) -> None:
    codes = FIELDS.start(rows, seed=seed)
    made = recipes_of([entry], FIELDS)
    words = refusal(made, codes)
    if words is None:
        same_numbers(made, codes)
    else:
        assert words.startswith("Output 'it' cannot be computed on the data: ")
        assert rows < 200, words  # at 200 records, drawn alike, nothing is empty or separated


# --- what does not exist ---------------------------------------------------------------------------------------------

SMALL = OutputDomain(
    (
        OutputColumn("label", ("no", "yes")),
        OutputColumn("AREA", ("n", "e", "x")),
        OutputColumn("sex", ("f", "m")),
        OutputColumn("age", tuple(range(9))),
    )
)


def small(rows: list[tuple[str, str, str, int]]) -> Any:
    return SMALL.codes({name: [row[k] for row in rows] for k, name in enumerate(SMALL.names)})


MIXED = [
    ("no", "n", "f", 1),
    ("yes", "n", "m", 2),
    ("no", "e", "m", 3),
    ("yes", "e", "f", 4),
] * 5 + [("yes", "n", "f", 0), ("no", "e", "f", 6)]


@pytest.mark.parametrize(
    ("entry", "rows", "message"),
    [
        (
            {"kind": "logit", "formula": "label ~ AREA", "success": "yes"},
            MIXED,
            r"no record is behind coefficient 'AREA\[T.x\]' \(level 'x' of column 'AREA'\)",
        ),
        (
            {"kind": "logit", "formula": "label ~ C(AREA, Treatment('x'))", "success": "yes"},
            MIXED,
            "level 'x' of column 'AREA' has no records",
        ),
        ({"kind": "ols", "formula": "age ~ sex + sex:AREA"}, MIXED, r"level 'x' of column 'AREA'"),
        (
            {
                "kind": "ols",
                "formula": "age ~ sex + I(age + 1) + I(age + 2)",
                "where": "AREA != 'x'",
            },
            MIXED,
            r"coefficient 'I\(age \+ 2\)' cannot be told apart",
        ),
        (
            {"kind": "logit", "formula": "label ~ AREA", "success": "yes"},
            [*MIXED, ("yes", "x", "m", 5), ("yes", "x", "f", 7)],
            r"coefficient 'AREA\[T.x\]' \(level 'x' of column 'AREA'\) has no finite estimate, since the records behind it are too few, or too much alike",
        ),
        (
            {"kind": "logit", "formula": "label ~ sex", "success": "yes"},
            [("yes", "n", s, 1) for s in "fmfm"],
            "all its labels are equal",
        ),
        (
            {"kind": "probit", "formula": "label ~ age", "success": "yes"},
            [("yes" if a > 4 else "no", "n", "f", a) for a in range(9)] * 3,
            r"separated by a combination of its columns \(age\)",
        ),
        (
            {"kind": "logit", "formula": "label ~ C(AREA, Treatment('x')) + sex", "success": "yes"},
            [*MIXED, ("yes", "x", "m", 5), ("yes", "x", "f", 7)],
            "the records of level 'x' of column 'AREA' are too few",
        ),
        (
            {"kind": "poisson", "formula": "age ~ AREA"},
            [*MIXED, ("yes", "x", "m", 0), ("no", "x", "f", 0)],
            r"AREA\[T.x\].* too much alike",
        ),
        (
            {"kind": "multinomial", "formula": "AREA ~ age"},
            MIXED,
            "class 'x' of column 'AREA' has no records",
        ),
        (
            {"kind": "multinomial", "formula": "AREA ~ sex"},
            [*MIXED, ("yes", "x", "f", 5), ("no", "x", "f", 7)],
            r"'sex\[T.m\]'.* the records behind it are too few",
        ),
        (
            {"kind": "logit", "formula": "label ~ age", "success": "yes", "where": "AREA == 'x'"},
            MIXED,
            "no record passes its filter",
        ),
        ({"kind": "mean", "of": "age", "by": ["AREA"]}, MIXED, "cell 'x' has no records"),
        (
            {"kind": "median", "of": "age", "by": ["sex", "AREA"]},
            MIXED,
            r"cell 'f\|x' has no records",
        ),
        (
            {"kind": "sd", "of": "age", "by": ["AREA"]},
            [*MIXED, ("no", "x", "f", 1)],
            "cell 'x' has too few records for its sd",
        ),
        ({"kind": "mean", "of": "age", "where": "AREA == 'x'"}, MIXED, "the output has no records"),
        ({"kind": "correlation", "of": ["age", "age2"]}, MIXED, "column 'age2' has a single value"),
        (
            {
                "kind": "kaplan-meier",
                "time": "age",
                "event": "label",
                "times": [2],
                "by": ["AREA"],
                "survival": True,
            },
            MIXED,
            "cell 'x' has no records",
        ),
        (
            {"kind": "mean", "of": "age", "by": ["AREA"], "threshold": 99},
            MIXED,
            "every one of its numbers would be withheld",
        ),
    ],
)
def test_what_a_fold_lacks_is_named(entry: dict[str, Any], rows: Any, message: str) -> None:
    codes = small(rows)
    fields = SMALL
    if "age2" in entry.get("of", []):
        fields, codes = (
            OutputDomain((*SMALL, OutputColumn("age2", (1, 2)))),
            np.column_stack([codes, 0 * codes[:, 0]]),
        )
    counted = OutputDomain(
        tuple(replace(field, common=frozenset(field.labels)) for field in fields)
    )
    made = recipes_of([{"name": "it", **entry}], counted)
    with pytest.raises(
        InputError, match=r"^Output 'it' cannot be computed on the first fold: "
    ) as caught:
        made.entries(codes, source="the first fold")
    assert re.search(message, str(caught.value)), caught.value
    assert "another seed" in str(caught.value)
    # Where ten records are not known to have the level, on all the data or here, it is not named.
    made = recipes_of([{"name": "it", **entry}], fields)
    with pytest.raises(
        InputError, match=r"^Output 'it' cannot be computed on the first fold: "
    ) as caught:
        made.entries(codes, source="the first fold")
    assert not re.search(r"\bx\b", str(caught.value)), caught.value


def test_withheld_instead_where_the_recipe_withholds() -> None:
    codes = small([*MIXED, ("no", "x", "f", 3)])
    for entry in ({"threshold": 3}, {"values": [1.0, "2.0", "x"]}):
        made = recipes_of(
            [{"name": "it", "kind": "mean", "of": "age", "by": ["AREA"], **entry}], SMALL
        )
        assert made.entries(codes)[0]["values"][2] == "x"
        assert made.entries(small(MIXED))[0]["values"][2] == "x"
        same_numbers(made, codes)
    assert isinstance(made.entries(codes)[0]["values"][1], str)  # and digits are each number's own
    made = recipes_of(
        [{"name": "it", "kind": "median", "of": "age", "by": ["AREA"], "threshold": 3, "n": True}],
        SMALL,
    )
    assert made.entries(codes)[0]["n"][2] == "x"
    same_numbers(made, codes)


def test_a_median_between_two_values_brings_its_n() -> None:
    """Without n nothing could be made of it; on the grid n stays unpublished."""
    made = recipes_of([{"name": "it", "kind": "median", "of": "age", "by": ["sex"]}], SMALL)
    on = small([("no", "n", "f", 3), ("no", "n", "m", 4)])
    assert "n" not in made.entries(on)[0]
    between = small([("no", "n", "f", 3), ("no", "n", "f", 4), ("no", "n", "m", 4)])
    assert made.entries(between)[0] == {
        "name": "it",
        "kind": "median",
        "of": "age",
        "by": ["sex"],
        "values": [3.5, 4.0],
        "n": [2, 1],
    }
    same_numbers(made, between)


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)), min_size=4, max_size=14
    )
)
@settings(max_examples=40, deadline=None)
def test_a_saturated_logit_has_no_estimate_exactly_if_a_cell_has_one_label(
    rows: list[tuple[int, int, int]],
) -> None:
    """Brute force over cells: with a parameter for each, an estimate exists if and only if each cell has both labels."""
    fields = OutputDomain(
        (OutputColumn("y", (0, 1)), OutputColumn("a", ("p", "q")), OutputColumn("b", ("r", "s")))
    )
    codes = np.array(rows, dtype=np.int32)
    cells = {
        (a, b): {int(y) for y, c, d in rows if (c, d) == (a, b)} for a in (0, 1) for b in (0, 1)
    }
    made = recipes_of([{"name": "it", "kind": "logit", "formula": "y ~ a*b"}], fields)
    if all(labels == {0, 1} for labels in cells.values()):
        same_numbers(made, codes)
    else:
        with pytest.raises(InputError, match="cannot be computed on the data"):
            made.entries(codes)


@pytest.mark.parametrize("kind", ["logit", "probit", "cloglog"])
@given(rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=4, max_size=12))
@settings(max_examples=40, deadline=None)
def test_a_regression_on_one_number_has_no_estimate_exactly_if_labels_do_not_overlap(
    kind: str, rows: list[tuple[int, int]]
) -> None:
    """On a line: separated if all numbers of one label are at most, or at least, those of the other."""
    fields = OutputDomain((OutputColumn("y", (0, 1)), OutputColumn("x", tuple(range(9)))))
    of = [[x for y, x in rows if y == label] for label in (0, 1)]
    made = recipes_of([{"name": "it", "kind": kind, "formula": "y ~ x"}], fields)
    exists = bool(of[0] and of[1] and min(of[0]) < max(of[1]) and min(of[1]) < max(of[0]))
    codes = np.array(rows, dtype=np.int32)
    if exists:
        same_numbers(made, codes)
    else:
        with pytest.raises(InputError, match="cannot be computed on the data"):
            made.entries(codes)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=3, max_size=14))
@settings(max_examples=40, deadline=None)
def test_counts_and_classes_by_cell(rows: list[tuple[int, int]]) -> None:
    """A saturated Poisson regression needs a count above 0 in each cell, a multinomial one each class in each."""
    fields = OutputDomain((OutputColumn("y", (0, 1, 2)), OutputColumn("a", ("p", "q"))))
    codes = np.array(rows, dtype=np.int32)
    cells = [{y for y, a in rows if a == k} for k in (0, 1)]
    for kind, exists in (
        ("poisson", all(c - {0} for c in cells)),
        ("multinomial", all(c == {0, 1, 2} for c in cells)),
    ):
        made = recipes_of([{"name": "it", "kind": kind, "formula": "y ~ a"}], fields)
        if exists:
            same_numbers(made, codes)
        else:
            with pytest.raises(InputError, match="cannot be computed on the data"):
                made.entries(codes)


def test_without_statsmodels(
    documented: Outputs, codes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("statsmodels"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=r"chaffinch\[statsmodels\]"):
        documented["probit"].computed(documented.fields, codes)
    assert documented["all children"].computed(documented.fields, codes).to_dict()["value"] == 4804
