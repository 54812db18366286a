"""Results of scipy.stats: the records they were made of satisfy them; what a result does not say is asked for; no data are taken of it."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from chaffinch.errors import InputError
from chaffinch.outputs.readers.scipy import scipy_test


@pytest.fixture(name="groups")
def by_works(frame):
    return [frame.loc[frame["works"] == level, "age"] for level in ("no", "yes")]


BY = {"variable": "age", "by": ["works"]}


@pytest.mark.parametrize("welch", [False, True])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_t_tests(frame, satisfied, groups, welch, alternative):
    result = stats.ttest_ind(*groups, equal_var=not welch, alternative=alternative)
    entry = scipy_test(result, name="t", **BY, welch=welch, alternative=alternative)
    assert satisfied(frame, entry).within
    with pytest.raises(InputError, match="say it: welch=True or welch=False"):
        scipy_test(result, name="t", **BY, alternative=alternative)
    other = "greater" if alternative == "less" else "less"
    with pytest.raises(InputError, match=f'its p-value is not that of alternative="{other}"'):
        scipy_test(result, name="t", **BY, welch=welch, alternative=other)


def test_pairs_and_one_sample(frame, satisfied, groups):
    pairs = stats.ttest_rel(frame["age"], frame["children"])
    assert satisfied(frame, scipy_test(pairs, name="t", variable="age", paired="children")).within
    one = stats.ttest_1samp(frame["age"], 32)
    assert satisfied(frame, scipy_test(one, name="t", variable="age", mu=32.0)).within
    with pytest.raises(InputError, match="not whole, so it is Welch's test between two groups"):
        scipy_test(stats.ttest_ind(*groups, equal_var=False), name="t", variable="age")
    for correction in (False, True):
        ranks = stats.wilcoxon(frame["age"] - 32, correction=correction, method="asymptotic")
        assert satisfied(
            frame, scipy_test(ranks, name="t", variable="age", mu=32.0, correction=correction)
        ).within
    with pytest.raises(InputError, match="say correction=False or correction=True"):
        scipy_test(ranks, name="t", variable="age", mu=32.0)


def test_tests_between_groups(frame, satisfied, groups):
    schools = [some["age"] for _, some in frame.groupby("school")]
    by = {"variable": "age", "by": ["school"]}
    assert satisfied(frame, scipy_test(stats.f_oneway(*schools), name="t", **by)).within
    assert satisfied(frame, scipy_test(stats.kruskal(*schools), name="t", **by)).within
    assert satisfied(frame, scipy_test(stats.mannwhitneyu(*groups), name="t", **BY)).within
    wrong = scipy_test(stats.mannwhitneyu(*groups), name="t", **BY)
    assert satisfied(frame, {**wrong, "statistic": wrong["statistic"] + 100}).outside == 1


def test_tests_of_tables(frame, satisfied):
    table = pd.crosstab(frame["works"], frame["religion"])
    by = {"by": ["works", "religion"]}
    assert satisfied(
        frame, scipy_test(stats.fisher_exact(table), name="f", kind="fisher", **by)
    ).within
    for correction in (False, True):
        result = stats.chi2_contingency(table, correction=correction)
        assert satisfied(frame, scipy_test(result, name="c", **by, correction=correction)).within
    with pytest.raises(
        InputError, match="Scipy makes Yates's correction there unless told otherwise"
    ):
        scipy_test(result, name="c", **by)
    larger = stats.chi2_contingency(pd.crosstab(frame["school"], frame["method"]))
    assert satisfied(frame, scipy_test(larger, name="c", by=["school", "method"])).within


def test_what_several_tests_return_is_asked_for(frame):
    table = pd.crosstab(frame["works"], frame["religion"])
    with pytest.raises(
        InputError, match="is a SignificanceResult, which several tests of scipy return"
    ):
        scipy_test(stats.fisher_exact(table), name="f", by=["works", "religion"])
    with pytest.raises(InputError, match="no kind of output for rank correlations"):
        scipy_test(stats.spearmanr(frame["age"], frame["children"]), name="s", kind="spearman")
    with pytest.raises(InputError, match="which is no result that is read"):
        scipy_test(stats.ks_2samp([1, 2], [2, 3]), name="k")
    with pytest.raises(InputError, match="Name it: variable="):
        scipy_test(stats.kruskal([1, 2], [2, 3]), name="k", by=["works"])
    with pytest.raises(InputError, match="Unknown key 'wlech'"):
        scipy_test(
            stats.kruskal([1, 2], [2, 3]), name="k", variable="age", by=["works"], wlech=True
        )


def test_correlations_keep_nothing_of_the_records_in_a_result(frame, satisfied):
    result = stats.pearsonr(frame["age"], frame["children"])
    entry = scipy_test(result, name="r", variable=["age", "children"])
    assert satisfied(frame, entry).within
    assert set(entry) == {"name", "kind", "of", "value"}
    assert not any(isinstance(value, np.ndarray) for value in entry.values())
