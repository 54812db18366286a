"""Tables of any maker as codes of the population."""

import numpy as np
import pandas as pd
import pytest

from chaffinch import BayesNet, Independent, read
from chaffinch.risk.shadows import Generator
from chaffinch.risk.shadows.generator import code_array, unknown_code

from ..conftest import copy


def test_foreign_tables_are_coded_on_the_populations_levels(base):
    frame = base.to_pandas().iloc[:30].copy()
    frame.loc[0, "a"] = "never seen"
    found = Generator(copy, base).codes_of(frame)
    expected = code_array(base)[:30].copy()
    expected[0, 0] = unknown_code(expected.dtype)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.uint8


def test_numbers_are_coded_by_the_bins_of_the_population():
    rng = np.random.default_rng(2)
    base = read(
        pd.DataFrame({"n": rng.normal(size=500).round(3), "k": rng.choice(list("ab"), 500)})
    )
    found = Generator(copy, base).codes_of(base.to_pandas().iloc[:100])
    np.testing.assert_array_equal(found, code_array(base)[:100])


def rich_frame():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "pay": np.exp(rng.normal(3, 0.5, 400)).round(2),
            "town": rng.choice(list("abc"), 400),
            "sex": rng.choice(list("fm"), 400),
        }
    )
    frame.loc[:3, "town"] = "far"
    return frame


def released(grid, rows):
    generator = Generator(BayesNet(parents=1), read(rich_frame()), grid)
    return generator.fit(generator.subset(rows), 1).sample(200, seed=2).to_pandas()


def test_a_shadow_has_the_levels_and_ends_of_its_own_records():
    """What the file of a release holds: numbers between the subset's ends, and levels of its own records."""
    order = np.argsort(rich_frame()["pay"].to_numpy())
    poor, rich = np.sort(order[:200]), np.sort(order[200:])
    assert released("release", poor)["pay"].max() <= released("release", rich)["pay"].min()
    assert "far" not in set(released("release", np.arange(4, 204))["town"])
    subset = Generator(BayesNet(parents=1), read(rich_frame())).subset(np.arange(4, 204))
    assert "far" not in subset.schema["town"].codec.levels


@pytest.mark.parametrize(("epsilon", "grid"), [(None, "population"), (1.0, "release")])
def test_nothing_is_fitted_to_the_subset_on_the_populations_grid_or_under_a_promise(epsilon, grid):
    base = read(rich_frame())
    subset = Generator(BayesNet(parents=1, epsilon=epsilon), base, grid).subset(np.arange(4, 204))
    assert subset.schema["pay"].codec is base.schema["pay"].codec


def test_a_function_gets_the_table_that_was_read_anew():
    base = read(rich_frame())
    sizes = []
    Generator(lambda table, seed: sizes.append(table.schema["town"].size) or table, base).release(
        Generator(copy, base).subset(np.arange(4, 204)),
        tables=1,
        rows=200,
        seed=np.random.SeedSequence(1),
    )
    assert sizes == [3]
    assert base.schema["town"].size == 4


def test_a_shadow_draws_rows_as_the_release_does():
    """Systematic rows have the subset's own counts of a column without parents, to less than one; rows drawn one by one do not."""
    base = read(rich_frame()[["town", "sex"]], rare="keep")
    near = {}
    for draw in ("systematic", "independent"):
        generator = Generator(Independent(draw=draw), base, "population")
        subset = generator.subset(np.arange(200))
        codes = generator.release(subset, tables=5, rows=200, seed=np.random.SeedSequence(3)).codes
        own = np.bincount(subset.code("town"), minlength=4)
        near[draw] = [np.abs(np.bincount(table[:, 0], minlength=4) - own).max() for table in codes]
    assert max(near["systematic"]) < 1
    assert (
        min(near["independent"]) >= 1
    )  # of about 68 each: all three within 0 once in some 1,000 draws
