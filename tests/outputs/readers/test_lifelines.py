"""Cox regressions and Kaplan-Meier tables of lifelines: what its objects hold, as they were fitted by lifelines 0.30.3 on these records."""

from types import SimpleNamespace

import pandas as pd
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.readers.lifelines import cox_of, kaplan_meier_of

# CoxPHFitter().fit(frame[["age", "religion", "children", "method"]], "age", "religion") with lifelines 0.30.3
PARAMS, ERRORS, LOGLIK = (
    {"children": -0.19620258, "method": 0.32272258},
    {"children": 0.01360668, "method": 0.03477099},
    -7815.138257,
)
# CoxPHFitter().fit(frame, "age", "religion", formula="children + C(school)", strata=["method"])
STRATIFIED = {
    "children": -0.2123706,
    "C(school)[T.e2]": 0.43636333,
    "C(school)[T.e3]": 0.32706749,
    "C(school)[T.e4]": -0.22573853,
}


class CoxPHFitter(SimpleNamespace):
    """What a fitted one holds of what is read."""

    def __init__(self, **changed):
        plain = {
            "params_": pd.Series(PARAMS),
            "standard_errors_": pd.Series(ERRORS),
            "log_likelihood_": LOGLIK,
            "duration_col": "age",
            "event_col": "religion",
            "strata": None,
            "formula": None,
            "weights_col": None,
            "entry_col": None,
            "cluster_col": None,
            "robust": False,
            "penalizer": 0.0,
            "_n_examples": 1473,
            "baseline_estimation_method": "breslow",
        }
        super().__init__(**{**plain, **changed})


class KaplanMeierFitter(SimpleNamespace):
    """What a fitted one holds of what is read: made here by counting."""

    def __init__(self, frame, **changed):
        died = frame.groupby("age")["religion"].agg(["sum", "size"])
        table = pd.DataFrame({"removed": died["size"], "observed": died["sum"], "entrance": 0})
        table.loc[0] = [0, 0, len(frame)]
        table = table.sort_index()
        table["at_risk"] = len(frame) - table["removed"].cumsum().shift(fill_value=0)
        survival = (1 - table["observed"] / table["at_risk"]).cumprod().to_frame("KM_estimate")
        super().__init__(
            **{"event_table": table, "survival_function_": survival, "entry": None, **changed}
        )


def test_a_cox_regression_is_what_its_records_satisfy(frame, satisfied):
    entry = cox_of(CoxPHFitter(), name="r", standard_errors=True, loglik=True)
    assert (entry["formula"], entry["event"], entry["ties"], entry["n"]) == (
        "age ~ children + method",
        "religion",
        "efron",
        1473,
    )
    assert entry["comment"].startswith(
        "Fitted without a formula. Understood as age ~ children + method"
    )
    assert satisfied(frame, {**entry, "decimals": 5}).within
    assert not satisfied(
        frame.assign(children=frame["children"].to_numpy()[::-1]), {**entry, "decimals": 5}
    ).within


def test_formulas_and_strata(frame, satisfied):
    fitter = CoxPHFitter(
        params_=pd.Series(STRATIFIED), formula="children + C(school)", strata="method"
    )
    entry = cox_of(fitter, name="r", where="age > 0", level=1)
    assert (entry["formula"], entry["strata"], entry["where"], entry["level"]) == (
        "age ~ children + C(school)",
        ["method"],
        "age > 0",
        1,
    )
    assert "comment" not in entry
    assert satisfied(frame, {**entry, "decimals": 5}).within


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"penalizer": 0.1}, "was fitted with a penalty"),
        ({"weights_col": "w"}, "was fitted with weights"),
        ({"entry_col": "w"}, "times of entry"),
        ({"robust": True}, "robust standard errors"),
        ({"event_col": None}, "does not know the name of its column of events"),
        ({"baseline_estimation_method": "spline"}, "only the semi-parametric"),
        ({"params_": None}, "was not fitted"),
    ],
)
def test_what_is_not_a_plain_cox_regression_is_said(changed, message):
    with pytest.raises(InputError, match=message):
        cox_of(CoxPHFitter(**changed), name="r", standard_errors=True)


def test_a_kaplan_meier_table_is_what_its_records_satisfy(frame, satisfied):
    entry = kaplan_meier_of(
        KaplanMeierFitter(frame), name="k", time="age", event="religion", level=1
    )
    assert (entry["times"][0], entry["at_risk"][0]) == (16, 1473)
    assert len(entry["survival"]) == len(entry["times"]) == frame["age"].nunique()
    assert satisfied(frame, entry).within
    some = kaplan_meier_of(
        KaplanMeierFitter(frame),
        name="k",
        time="age",
        event="religion",
        level=1,
        parts=("survival",),
    )
    assert "at_risk" not in some
    assert not satisfied(frame.assign(religion=frame["religion"].to_numpy()[::-1]), some).within


def test_other_objects_and_weights_are_refused(frame):
    fitter = KaplanMeierFitter(frame)
    with pytest.raises(
        InputError, match=r"must be a fitted CoxPHFitter of lifelines. Got KaplanMeierFitter"
    ):
        cox_of(fitter, name="r")
    with pytest.raises(InputError, match="weights or late entries"):
        kaplan_meier_of(
            KaplanMeierFitter(frame, event_table=fitter.event_table / 2),
            name="k",
            time="age",
            event="religion",
        )
    with pytest.raises(InputError, match="times of entry"):
        kaplan_meier_of(KaplanMeierFitter(frame, entry=[0]), name="k", time="age", event="religion")
    with pytest.raises(InputError, match=r"has at_risk, events and survival. Got 'risk'"):
        kaplan_meier_of(fitter, name="k", time="age", event="religion", parts=("risk",))


def test_the_objects_themselves_where_lifelines_is_installed(frame, satisfied):
    lifelines = pytest.importorskip(
        "lifelines", reason="lifelines is no dependency; it is read where it is there"
    )
    cox = lifelines.CoxPHFitter().fit(
        frame[["age", "religion", "children", "method"]], "age", "religion"
    )
    assert cox_of(cox, name="r")["coefficients"] == pytest.approx(PARAMS, abs=1e-6)
    assert satisfied(
        frame, {**cox_of(cox, name="r", standard_errors=True, loglik=True), "decimals": 5}
    ).within
    km = lifelines.KaplanMeierFitter().fit(frame["age"], frame["religion"])
    assert satisfied(
        frame, kaplan_meier_of(km, name="k", time="age", event="religion", level=1)
    ).within
