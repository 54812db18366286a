"""Outputs gathered from fitted results and tables: the records they were made of must satisfy them, in full precision."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula
import statsmodels.formula.api as smf
from statsmodels.miscmodels.ordinal_model import OrderedModel

from chaffinch import Column, Schema, read
from chaffinch.errors import InputError
from chaffinch.outputs.readers.statsmodels import levels_of, outputs_of, spec_of
from chaffinch.outputs.records import columns_of

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
    assert (
        satisfied(frame, entry).worst < 1e-3
    )  # the optimiser stops early; alpha is given, not fitted, in the refit


def test_families_links_and_labels_of_words(frame, satisfied):
    result = smf.glm(
        "works ~ age", frame, family=sm.families.Binomial(sm.families.links.CLogLog())
    ).fit()
    entry = outputs_of(result, name="g")
    assert (entry["family"], entry["link"], entry["success"]) == ("binomial", "cloglog", "no")
    assert satisfied(frame, entry).within
    assert (
        outputs_of(smf.logit("religion ~ age", frame).fit(disp=0), name="r", success=1)["success"]
        == 1
    )


def test_filters_are_said_by_the_user_and_data_may_be_removed(frame, satisfied):
    kept = frame[frame["age"] < 30]
    result = smf.ols("children ~ age", kept).fit()
    result.remove_data()
    entry = outputs_of(result, name="r", where="age < 30")
    assert entry["n"] == len(kept)
    assert satisfied(frame, entry).within
    assert satisfied(frame, {**entry, "where": "age < 31"}).within is False


@pytest.mark.filterwarnings("ignore")
def test_other_models_give_what_their_records_satisfy(frame, satisfied):
    order = pd.Categorical(frame["school"], categories=["e1", "e2", "e3", "e4"], ordered=True)
    ordered = frame.assign(school=order)
    results = {
        "wls": (
            smf.wls("children ~ age + school", frame, weights=frame["method"]).fit(),
            {"weights": "method"},
        ),
        "robust": (smf.ols("children ~ age", frame).fit(cov_type="HC3"), {}),
        "clusters": (
            smf.ols("children ~ age", frame).fit(
                cov_type="cluster", cov_kwds={"groups": frame["method"]}
            ),
            {"cluster": "method"},
        ),
        "weighted logit": (
            smf.glm(
                "religion ~ age", frame, family=sm.families.Binomial(), var_weights=frame["method"]
            ).fit(tol=1e-14),
            {"weights": "method"},
        ),
        "gee": (
            smf.gee(
                "religion ~ age",
                "children",
                frame,
                family=sm.families.Binomial(),
                cov_struct=sm.cov_struct.Exchangeable(),
            ).fit(ctol=1e-10, maxiter=200),
            {"group": "children"},
        ),
        "mixed": (
            smf.mixedlm("children ~ age", frame, groups="school").fit(method="bfgs", gtol=1e-10),
            {"group": "school"},
        ),
        "median": (
            smf.quantreg("children ~ age", frame).fit(q=0.5, p_tol=1e-10, max_iter=5000),
            {},
        ),
        "ordered": (
            OrderedModel.from_formula("school ~ age + works", ordered, distr="probit").fit(
                method="bfgs", disp=0, gtol=1e-9, maxiter=500
            ),
            {},
        ),
        "ordered numbers": (
            OrderedModel(frame["method"], frame[["age", "children"]], distr="logit").fit(
                method="bfgs", disp=0, gtol=1e-9, maxiter=500
            ),
            {},
        ),
        "cox": (
            smf.phreg("age ~ children + C(school)", frame, status="religion", ties="efron").fit(
                tol=1e-12
            ),
            {"event": "religion"},
        ),
        "strata": (
            sm.PHReg(
                frame["age"], frame[["children"]], status=frame["religion"], strata=frame["method"]
            ).fit(tol=1e-12),
            {"event": "religion", "strata": "method"},
        ),
    }
    for what, (result, said) in results.items():
        errors = what in (
            "wls",
            "robust",
            "clusters",
            "gee",
            "ordered",
            "ordered numbers",
            "cox",
            "strata",
        )
        likely = what in ("ordered", "ordered numbers", "cox", "strata")
        entry = outputs_of(result, name="r", standard_errors=errors, loglik=likely, **said)
        assert entry["n"] == len(frame), what
        assert len(entry.get("standard_errors", ())) == (
            len(entry["coefficients"]) if errors else 0
        ), what
        if what == "ordered":
            assert (entry["kind"], entry["order"]) == ("ordered-probit", ["e1", "e2", "e3", "e4"])
        entry["decimals"] = 2 if what == "median" else 4  # as far as their optimisers go
        for key in ("coefficients", "standard_errors"):
            entry[key] = {
                one: f"{number:.{entry['decimals']}f}" for one, number in entry.get(key, {}).items()
            }
        entry = {key: value for key, value in entry.items() if value != {}}
        for key in ("group_variance", "residual_variance", "loglik"):
            if key in entry:
                entry[key] = f"{entry[key]:.2f}"
        entry |= (
            {"thresholds": [f"{one:.4f}" for one in entry["thresholds"]]}
            if "thresholds" in entry
            else {}
        )
        found = satisfied(frame, entry)
        assert found.within, (what, [one for one in found.numbers if not one.within()])
        other = frame.assign(age=frame["age"].sample(frac=1, random_state=1).to_numpy())
        assert satisfied(other, entry).within is False, what


def test_without_a_formula_it_is_said_what_was_understood(frame, satisfied):
    entry = outputs_of(
        sm.OLS(frame["age"], sm.add_constant(frame[["children", "religion"]])).fit(), name="r"
    )
    assert entry["formula"] == "age ~ children + religion"
    assert (
        entry["comment"]
        == "Fitted without a formula. Understood as age ~ children + religion: an intercept, and each column a number as it is."
    )
    assert satisfied(frame, entry).within
    bare = outputs_of(sm.OLS(frame["age"], frame[["children"]]).fit(), name="r")
    assert (bare["formula"], "no intercept" in bare["comment"]) == ("age ~ 0 + children", True)
    assert satisfied(frame, bare).within
    assert "comment" not in outputs_of(smf.ols("age ~ children", frame).fit(), name="r")


def test_what_is_ambiguous_is_asked_for(frame, satisfied):
    """Columns without names, dummies that somebody made, groups and events that are arrays: no name is guessed."""
    with pytest.raises(
        InputError, match=r"on columns without names \(y, x1\). Say what it is: formula ="
    ):
        outputs_of(
            sm.OLS(frame["age"].to_numpy(), sm.add_constant(frame[["children"]].to_numpy())).fit(),
            name="r",
        )
    dummies = pd.get_dummies(frame["school"], prefix="school", drop_first=True, dtype=float)
    fit = sm.OLS(frame["age"], sm.add_constant(dummies)).fit()
    with pytest.raises(InputError, match="Unknown column 'school_e2'"):
        satisfied(frame, outputs_of(fit, name="r"))
    with pytest.raises(InputError, match=r"no coefficient for|Unknown coefficient"):
        satisfied(frame, outputs_of(fit, name="r", formula="age ~ school"))
    names = {f"school_e{k}": f"school[T.e{k}]" for k in (2, 3, 4)}
    entry = outputs_of(fit, name="r", formula="age ~ school", names=names, standard_errors=True)
    assert satisfied(frame, entry).within
    with pytest.raises(InputError, match="names: Unknown coefficient 'e5'"):
        outputs_of(fit, name="r", formula="age ~ school", names={"e5": "school[T.e5]"})
    squares = frame[["age"]].assign(**{"age:children": frame["age"] * frame["children"]})
    with pytest.raises(InputError, match="'age:children' is not the name of a column alone"):
        outputs_of(sm.OLS(frame["children"], squares).fit(), name="r")
    survival = smf.phreg("age ~ children", frame, status="religion").fit()
    with pytest.raises(
        InputError, match=r'does not know the name of its column of events. Say it: event = "..."'
    ):
        outputs_of(survival, name="r")
    with pytest.raises(InputError, match="the name of its strata"):
        outputs_of(
            sm.PHReg(
                frame["age"], frame[["children"]], status=frame["religion"], strata=frame["method"]
            ).fit(),
            name="r",
            event="religion",
        )
    with pytest.raises(InputError, match="the name of its groups"):
        outputs_of(smf.gee("children ~ age", "school", frame).fit(), name="r")
    clustered = smf.ols("children ~ age", frame).fit(
        cov_type="cluster", cov_kwds={"groups": frame["method"]}
    )
    with pytest.raises(InputError, match="the name of its clusters"):
        outputs_of(clustered, name="r", standard_errors=True)
    with pytest.raises(InputError, match=r"was fitted with weights. Name their column"):
        outputs_of(smf.wls("children ~ age", frame, weights=frame["method"]).fit(), name="r")
    with pytest.raises(
        InputError, match=r"group = ... was said, but the model has nothing of the kind"
    ):
        outputs_of(smf.ols("children ~ age", frame).fit(), name="r", group="school")
    with pytest.raises(InputError, match=r"Unknown argument 'groups'. Did you mean 'group'"):
        outputs_of(smf.ols("children ~ age", frame).fit(), name="r", groups="school")


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_supported_is_said(frame, satisfied):
    with pytest.raises(InputError, match="offset or exposure"):
        outputs_of(
            smf.poisson("children ~ age", frame, offset=np.log(frame["age"])).fit(disp=0), name="r"
        )
    with pytest.raises(InputError, match="standard errors of type HAC"):
        outputs_of(
            smf.ols("children ~ age", frame).fit(cov_type="HAC", cov_kwds={"maxlags": 1}),
            name="r",
            standard_errors=True,
        )
    with pytest.raises(InputError, match="must be a fitted statsmodels result of OLS, WLS, Logit"):
        outputs_of(sm.RLM(frame["age"], frame[["children"]]).fit(), name="r")
    with pytest.raises(InputError, match="programs differ"):
        outputs_of(smf.quantreg("children ~ age", frame).fit(), name="r", standard_errors=True)
    with pytest.raises(InputError, match="only those with a random intercept"):
        outputs_of(
            smf.mixedlm("children ~ age", frame, groups="school", re_formula="~age").fit(),
            name="r",
            group="school",
        )
    with pytest.raises(InputError, match="correlation Autoregressive is not supported"):
        outputs_of(
            smf.gee(
                "children ~ age",
                "school",
                frame[:40],
                cov_struct=sm.cov_struct.Autoregressive(grid=True),
            ).fit(maxiter=1),
            name="r",
            group="school",
        )
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
    assert spec_of(found, [], rows=3).fields.sizes == (2, 34, 6, 2)
    assert [c["name"] for c in columns_of(schema, names=["age"])] == ["age"]
    table = read(frame)
    with pytest.raises(InputError, match="declares no levels and no bounds"):
        columns_of(table.schema, names=["works"])
    assert columns_of(table.schema, names=["works"], data=table) == [
        {"name": "works", "levels": ["no", "yes"]}
    ]
