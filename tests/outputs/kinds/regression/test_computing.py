"""Regressions on records: coefficients by hand, and the names of those that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.regression import computing
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.statistics import Observed

FIELDS = OutputDomain(
    (
        OutputColumn("y", ("no", "yes")),
        OutputColumn("the area", ("n", "s", "e"), common=frozenset("ns")),
        OutputColumn("age", (0, 1, 2, 3, 4)),
    )
)


def computed(entry: dict[str, Any], rows: list[tuple[str, str, int]]) -> dict[str, Any]:
    codes = FIELDS.codes(
        {
            name: list(values)
            for name, values in zip(FIELDS.names, zip(*rows, strict=True), strict=True)
        }
    )
    return recipes_of([{"name": "o", **entry}], FIELDS).entries(codes)[0]


def test_group_means_are_coefficients() -> None:
    """Ages 1, 3 in n and 4, 4 in s: 2, and 2 more."""
    pytest.importorskip("statsmodels")
    rows = [("no", "n", 1), ("yes", "n", 3), ("no", "s", 4), ("yes", "s", 4)]
    entry = {"kind": "ols", "formula": "age ~ Q('the area')", "where": "`the area` != 'e'"}
    numbers = computed(entry, rows)["coefficients"]
    assert list(numbers) == ["Intercept", "Q('the area')[T.s]"]
    np.testing.assert_allclose(
        [float(number) for number in numbers.values()], [2.0, 2.0], atol=1e-6
    )


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            "age ~ `the area`",
            r"no record is behind coefficient '`the area`\[T.…\]' \(a level of column 'the area'\)",
        ),
        (
            "age ~ `the area`*y",
            r"behind coefficient '`the area`\[T.…\]' \(a level of column 'the area'\)",
        ),
        (
            "age ~ y:`the area` - 1",
            r"y\[…\]:`the area`\[…\]' \(a level of column 'y' with a level of column 'the area'\)",
        ),
        (
            "age ~ C(`the area`, Treatment('e'))",
            "a level of column 'the area' has no records, so coefficient",
        ),
    ],
)
def test_a_coefficient_without_records_is_named_by_its_levels(formula: str, message: str) -> None:
    pytest.importorskip("statsmodels")
    rows = [("no", "n", 1), ("yes", "n", 3), ("no", "s", 4), ("yes", "s", 2), ("yes", "s", 0)] * 4
    with pytest.raises(InputError, match=message):
        computed({"kind": "ols", "formula": formula}, rows)


def test_what_a_formula_learns_is_of_the_records_that_are_fitted(cmc: Any) -> None:
    """Knots, bounds and orthogonal polynomials on all records, on a fold and within a filter, as statsmodels and patsy or formulaic have them."""
    smf = pytest.importorskip("statsmodels.formula.api")
    fold = cmc.frame.sample(300, random_state=1)
    basis, where = "bs(wife_age, df=5)*media_exposure", "num_children > 0"
    for frame in (cmc.frame, fold):
        fit = smf.ols(f"num_children ~ {basis}", frame.query(where)).fit()
        entry = {
            "kind": "ols",
            "formula": f"num_children ~ {basis}",
            "where": where,
            "standard_errors": True,
            "loglik": True,
        }
        spec = recipes_of([{"name": "o", **entry}], cmc.spec().fields)
        numbers = spec.entries(cmc.codes(frame))[0]
        ours = [float(number) for number in numbers["coefficients"].values()]
        np.testing.assert_allclose(
            ours, fit.params.to_numpy(), rtol=1e-5, atol=1e-6
        )  # whichever dialect counts the columns
        np.testing.assert_allclose(
            [float(e) for e in numbers["standard_errors"].values()], fit.bse.to_numpy(), rtol=1e-5
        )
        # The published numbers, columns counted as statsmodels has them, are those of the same records and of no others.
        printed = {name: float(number) for name, number in fit.params.items()}
        published = cmc.spec(
            {
                "kind": "ols",
                "formula": f"num_children ~ {basis}",
                "where": where,
                "coefficients": printed,
            },
            rows=len(frame),
        )
        (same,) = compare_numbers(published, cmc.codes(frame))
        assert same.within
        assert same.size == len(printed)
    (other,) = compare_numbers(published, cmc.codes(cmc.frame))
    assert not other.within


def test_bases_with_given_numbers_and_offsets_have_equations(cmc: Any) -> None:
    """The records that were fitted satisfy what was printed; without the numbers of a basis there is nothing to satisfy."""
    smf = pytest.importorskip("statsmodels.formula.api")
    frame = cmc.frame
    right = "bs(wife_age, knots=[25, 35], lower_bound=16, upper_bound=49) + C(wife_education)"
    fit = smf.poisson(
        f"num_children ~ {right}", frame, offset=np.log(frame["standard_of_living"])
    ).fit(disp=0, tol=1e-12)
    entry = {
        "kind": "poisson",
        "formula": f"num_children ~ {right} + offset(log(standard_of_living))",
    }
    entry["coefficients"] = {name: float(number) for name, number in fit.params.items()}
    spec = cmc.spec(entry)
    assert not spec.rules_only
    (system,) = spec.problem().outputs
    np.testing.assert_allclose(system.contributions(cmc.codes()).sum(axis=0), 0.0, atol=1e-5)
    assert np.abs(system.contributions(cmc.shuffled("wife_age")).sum(axis=0)).max() > 1.0
    (again,) = compare_numbers(spec, cmc.codes())
    assert again.within
    bare = cmc.spec(
        {
            "kind": "poisson",
            "formula": "num_children ~ bs(wife_age, 5)",
            "coefficients": dict.fromkeys(NAMES, 0.0),
        }
    )
    assert bare.rules_only == {
        "o0": "the numbers of bs(wife_age, 5) come from the data; give them, as knots=..., lower_bound=... and upper_bound=..."
    }
    assert bare.compiled()[0].equations == ()
    with pytest.raises(
        InputError, match=r"There are no outputs to search for.*'o0': the numbers of bs"
    ):
        bare.searched.problem()


NAMES = ("Intercept", *(f"bs(wife_age, 5)[{k}]" for k in range(5)))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["logit", "poisson", "multinomial"]),
    st.integers(4, 30),
)
@settings(max_examples=80, deadline=None)
def test_labels_are_separated_where_a_combination_of_columns_can_be_found(
    seed: int, family: Any, rows: int
) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack(
        [np.ones(rows), rng.integers(0, 2, (rows, 2)), rng.normal(size=rows).round(1)]
    )
    x /= np.abs(x).max(axis=0).clip(1e-9)
    n_classes = 3 if family == "multinomial" else 2
    y = rng.integers(0, n_classes, rows).astype(float)
    if np.linalg.matrix_rank(x) < x.shape[1] or len(set(y)) < n_classes:
        return
    # Predictors of classes 1 to K - 1, record by record: none may rise that is not the label's, and some must fall.
    gains, still = [], []
    for row, label in zip(x, y, strict=True):
        if family == "poisson":
            (still if label > 0 else gains).append(-row)
            continue
        blocks = [np.zeros(x.size // rows * (n_classes - 1)) for _ in range(n_classes)]
        for k in range(1, n_classes):
            blocks[k][(k - 1) * 4 : k * 4] = row
        gains += [blocks[int(label)] - other for other in blocks]
    rises = np.array(gains)
    solved = linprog(
        np.zeros(rises.shape[1]),
        A_ub=np.vstack([-rises, -rises.sum(axis=0)]),
        b_ub=[*np.zeros(len(rises)), -1.0],
        A_eq=np.array(still) if still else None,
        b_eq=np.zeros(len(still)) if still else None,
        bounds=(None, None),
    )
    data = Observed(x, y, np.zeros((rows, 1)), np.ones(rows))
    assert bool(computing._separating(data, family)) == (solved.status == 0)
