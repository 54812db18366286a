"""Outputs gathered from fitted results and tables: the records they were made of must satisfy them, in full precision."""


import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula
import statsmodels.formula.api as smf

from chaffinch import Column, Schema, read
from chaffinch.errors import InputError
from chaffinch.outputs.readers.statsmodels import columns_of, levels_of, outputs_of, spec_of

TIGHT = {"disp": 0, "method": "newton", "tol": 1e-12, "maxiter": 100}


@pytest.fixture(params=["patsy", "formulaic"])
def engine(request, monkeypatch):
    options = getattr(statsmodels.formula, "options", None)  # from 0.15 on
    if hasattr(options, "formula_engine"):
        monkeypatch.setattr(options, "formula_engine", request.param)
    elif request.param == "formulaic":
        pytest.skip("statsmodels before 0.15 has patsy alone")
    return request.param


def test_each_model_gives_what_its_records_satisfy(frame, engine, satisfied):
    gamma = sm.families.Gamma(sm.families.links.Log())
    results = {
        "ols": smf.ols("age ~ school + children", frame).fit(),
        "logit": smf.logit("religion ~ age + C(school)", frame).fit(**TIGHT),
        "probit": smf.probit("religion ~ age + works", frame).fit(**TIGHT),
        "poisson": smf.poisson("children ~ age + works:religion", frame).fit(**TIGHT),
        "multinomial": smf.mnlogit("method ~ age + children", frame).fit(**TIGHT),
        "glm": smf.glm("age ~ children + works", frame, family=gamma).fit(tol=1e-14),
    }
    for kind, result in results.items():
        entry = outputs_of(
            result,
            name="r",
            standard_errors=kind in ("ols", "logit", "poisson", "glm"),
            loglik=kind in ("ols", "logit"),
        )
        assert entry["kind"] == kind
        assert entry["n"] == len(frame)
        found = satisfied(frame, entry)
        assert found.within, (engine, kind, found)
        assert (
            satisfied(
                frame.assign(
                    children=frame["children"].sample(frac=1, random_state=1).to_numpy(),
                    age=frame["age"].sample(frac=1, random_state=2).to_numpy(),
                ),
                entry,
            ).within
            is False
        )


def test_negative_binomial_has_its_alpha_apart(frame, satisfied):
    result = smf.negativebinomial("children ~ age", frame).fit(disp=0, maxiter=200)
    entry = outputs_of(result, name="nb")
    assert entry["alpha"] == result.params["alpha"]
    assert set(entry["coefficients"]) == {"Intercept", "age"}
    assert satisfied(frame, entry).worst < 1e-3  # the optimiser stops early; alpha is given, not fitted, in the refit


def test_families_links_and_labels_of_words(frame, satisfied):
    result = smf.glm("works ~ age", frame, family=sm.families.Binomial(sm.families.links.CLogLog())).fit()
    entry = outputs_of(result, name="g")
    assert (entry["family"], entry["link"], entry["success"]) == ("binomial", "cloglog", "no")
    assert satisfied(frame, entry).within
    assert outputs_of(smf.logit("religion ~ age", frame).fit(disp=0), name="r", success=1)["success"] == 1


def test_filters_are_said_by_the_user_and_data_may_be_removed(frame, satisfied):
    kept = frame[frame["age"] < 30]
    result = smf.ols("children ~ age", kept).fit()
    result.remove_data()
    entry = outputs_of(result, name="r", where="age < 30")
    assert entry["n"] == len(kept)
    assert satisfied(frame, entry).within
    assert satisfied(frame, {**entry, "where": "age < 31"}).within is False


def test_what_is_not_supported_is_said(frame, satisfied):
    with pytest.raises(InputError, match="fitted without a formula"):
        outputs_of(sm.OLS(frame["age"], sm.add_constant(frame["children"])).fit(), name="r")
    with pytest.raises(InputError, match="offset or exposure"):
        outputs_of(smf.poisson("children ~ age", frame, offset=np.log(frame["age"])).fit(disp=0), name="r")
    with pytest.raises(InputError, match="robust standard errors"):
        outputs_of(smf.ols("children ~ age", frame).fit(cov_type="HC1"), name="r", standard_errors=True)
    with pytest.raises(InputError, match="weights"):
        outputs_of(smf.glm("children ~ age", frame, freq_weights=np.full(len(frame), 2.0)).fit(), name="r")
    with pytest.raises(InputError, match="must be a fitted statsmodels result of OLS, Logit"):
        outputs_of(smf.quantreg("children ~ age", frame).fit(), name="r")
    by_hand = sm.OLS(frame["age"], sm.add_constant(frame[["children"]])).fit()
    entry = outputs_of(by_hand, name="r", formula="age ~ children")
    assert satisfied(frame, entry).within  # const is the intercept


def test_levels_are_read_only_when_asked(frame, engine):
    result = smf.logit("religion ~ age + C(school) + works", frame).fit(disp=0)
    assert levels_of(result) == {"school": ["e1", "e2", "e3", "e4"], "works": ["no", "yes"]}


def test_columns_come_from_what_a_schema_declares(frame):
    schema = Schema(
        (
            Column("works", "categorical", levels=("no", "yes")),
            Column("age", "integer", type="int64", bounds=(16, 49)),
            Column("height", "float", type="double", bounds=(1.0, 1.5), decimals=1),
            Column("sick", "boolean", type="bool"),
        )
    )
    found = columns_of(schema)
    assert found[0] == {"name": "works", "levels": ["no", "yes"]}
    assert found[1] == {"name": "age", "from": 16, "to": 49, "step": 1}
    assert spec_of(found, [], rows=3).columns.sizes == (2, 34, 6, 2)
    assert [c["name"] for c in columns_of(schema, names=["age"])] == ["age"]
    table = read(frame)
    with pytest.raises(InputError, match="declares no levels and no bounds"):
        columns_of(table.schema, names=["works"])
    assert columns_of(table.schema, names=["works"], data=table) == [{"name": "works", "levels": ["no", "yes"]}]
