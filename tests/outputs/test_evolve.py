"""Evolving from a specification: every engine, confirmed by a refit; ensembles; and what is said when it does not get there."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from chaffinch import evolve
from chaffinch._base.errors import InputError
from chaffinch._base.results import RunFacts
from chaffinch.outputs import evolve as module
from chaffinch.outputs.document import read_outputs
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import CountTable, Problem, SumSystem, Terms
from chaffinch.outputs.evolve import (
    MOST_BYTES,
    EvolveAbout,
    EvolvedCopy,
    EvolveResult,
    OutputReport,
    ShownNumber,
    TracePoint,
    by_output,
    check_max_error,
    check_size,
    check_start,
    needs_max_error,
)
from chaffinch.outputs.numbers import Number
from chaffinch.outputs.readers.pandas import table_of
from chaffinch.outputs.readers.statsmodels import outputs_of, spec_of
from chaffinch.outputs.records import schema_of, table_of_codes
from chaffinch.outputs.solve.engine import Checkpoint
from chaffinch.outputs.solve.settings import MAX_COPIES, EvolveSettings
from chaffinch.outputs.solve.state import OutputError
from chaffinch.report.evolve import evolve_page, sentence

COLUMNS = [
    {"name": "sex", "levels": ["f", "m"]},
    {"name": "age", "from": 0, "to": 30},
    {"name": "rich", "levels": ["no", "yes"], "weights": [0.8, 0.2]},
    {"name": "height", "from": 1.0, "to": 2.0, "step": 0.1},
    {"name": "sick", "levels": [False, True]},
]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    n = 500
    sex, age = rng.choice(["f", "m"], n), rng.integers(0, 31, n)
    chance = 1 / (1 + np.exp(1.0 - 0.06 * age - 0.5 * (sex == "m")))
    return pd.DataFrame(
        {"sex": sex, "age": age, "rich": np.where(rng.random(n) < chance, "yes", "no")}
    )


@pytest.fixture(scope="module")
def spec(frame):
    fit = smf.logit("rich1 ~ age + sex", frame.assign(rich1=(frame["rich"] == "yes") * 1)).fit(
        disp=0, tol=1e-12
    )
    logit = {
        **outputs_of(fit, name="logit", success="yes"),
        "formula": "rich ~ age + sex",
        "decimals": 3,
    }
    logit["coefficients"] = {
        name: round(number, 3) for name, number in logit["coefficients"].items()
    }
    table = table_of(pd.crosstab(frame["sex"], frame["rich"]), name="table")
    return spec_of(COLUMNS, [logit, table], rows=len(frame))


def refitted(table):
    data = table.to_pandas()
    return (
        smf.logit("rich1 ~ age + sex", data.assign(rich1=(data["rich"] == "yes") * 1))
        .fit(disp=0, tol=1e-12)
        .params
    )


@pytest.mark.parametrize("engine", ["incremental", "maxent"])
def test_engines_reach_and_statsmodels_confirms(spec, frame, engine):
    evolved = evolve(spec, search_engine=engine, copies=2, seconds=30, seed=1, workers=1)
    assert evolved.reached
    wanted = spec.to_dict()["outputs"][0]["coefficients"]
    for copy in evolved.copies:
        found = refitted(copy.table)  # patsy's design on the words of the table: none of our code
        assert {name: round(found[name], 3) for name in wanted} == wanted
        data = copy.table.to_pandas()
        pd.testing.assert_frame_equal(
            pd.crosstab(data["sex"], data["rich"]),
            pd.crosstab(frame["sex"], frame["rich"]),
            check_dtype=False,
            check_index_type=False,
            check_column_type=False,
        )
        assert set(data["height"].round(6)) <= {round(1 + k / 10, 6) for k in range(11)}
        assert data["sick"].dtype == bool
        assert data["age"].between(0, 30).all()
    assert not evolved.copies[0].table.to_arrow().equals(evolved.copies[1].table.to_arrow())


def test_the_papers_algorithm_goes_through_the_same_interface(spec):
    easy = spec_of(
        COLUMNS,
        [{"name": "t", "kind": "table", "by": ["sex"], "counts": [[0, 0]][0], "base": 400}],
        rows=60,
    )
    evolved = evolve(easy, search_engine="ea", seed=1, seconds=20, generations=3, population_size=4)
    assert evolved.reached
    far = evolve(spec, search_engine="ea", seed=1, seconds=20, generations=3, population_size=4)
    assert not far.reached  # and is returned all the same
    assert far.copies[0].table.n_rows == 500
    assert [point.proposals for point in far.copies[0].trace] == [0, 3]


def test_copies_do_not_depend_on_workers_or_on_how_many_there_are(spec):
    one = evolve(spec, copies=2, seconds=30, seed=9, workers=2)
    two = evolve(spec, copies=3, seconds=30, seed=9, workers=1)
    for a, b in zip(one.copies, two.copies, strict=False):
        np.testing.assert_array_equal(a.codes, b.codes)


def test_no_data_are_opened(tmp_path):
    """The file of outputs names data that do not exist: nothing looks for them."""
    file = tmp_path / "outputs.toml"
    file.write_text(
        'format = "chaffinch-outputs"\nversion = 1\nrows = 40\ncomment = "made from /no/such/place/data.csv"\n'
        '[[columns]]\nname = "sex"\nlevels = ["f", "m"]\n'
        '[[outputs]]\nname = "t"\nkind = "table"\nby = ["sex"]\ncounts = [15, 25]\n'
    )
    evolved = evolve(read_outputs(file, numbers="required"), seed=1)
    assert np.bincount(evolved.copies[0].codes[:, 0]).tolist() == [15, 25]


def test_what_cannot_be_reached_is_returned_and_marked():
    """A mean that no twenty whole ages can have: their sum would lie between 12.1 and 12.3."""
    columns = [{"name": "age", "from": 0, "to": 1}, {"name": "sex", "levels": ["f", "m"]}]
    outputs = [
        {"name": "t", "kind": "table", "by": ["sex"], "counts": [10, 10]},
        {"name": "m", "kind": "mean", "of": "age", "value": "0.61"},
    ]
    evolved = evolve(spec_of(columns, outputs, rows=20), seed=1, seconds=0.5)
    assert not evolved.reached
    copy = evolved.copies[0]
    assert copy.table.n_rows == 20
    assert sum(output.outside for output in copy.outputs) >= 1
    said = json.loads(json.dumps(evolved.to_dict()))
    again = EvolveResult.from_dict(said)
    assert again.to_dict() == said
    assert not again.reached
    with pytest.raises(InputError, match="has no datasets"):
        again.tables  # noqa: B018
    assert said["reached"] is False
    assert {output["name"] for output in said["copies"][0]["outputs"]} == {"t", "m"}
    assert said["copies"][0]["trace"][-1]["outside"] >= 1


def test_outputs_that_contradict_each_other_are_named_before_any_search():
    columns = [{"name": "age", "from": 0, "to": 1}]
    outputs = [
        {"name": "t", "kind": "table", "by": ["age"], "counts": [10, 10]},
        {"name": "m", "kind": "mean", "of": "age", "value": "0.61"},
    ]
    with pytest.raises(InputError, match="Outputs 't' and 'm' cannot both hold"):
        evolve(spec_of(columns, outputs, rows=20), seed=1, seconds=0.5)


def test_a_refit_that_denies_it_wins(spec, monkeypatch):
    """The engine's coefficients are to first order; if the refit says no, it is no."""
    real = module.compare_numbers

    def denied(*args, **kwargs):
        from dataclasses import replace

        return tuple(replace(output, outside=1) for output in real(*args, **kwargs))

    monkeypatch.setattr(module, "compare_numbers", denied)
    assert not evolve(spec, seconds=30, seed=1).reached


@pytest.mark.parametrize("engine", ["incremental", "maxent", "ea"])
@pytest.mark.parametrize(
    "output",
    [
        {"kind": "sd", "of": "age", "value": 40},
        {"kind": "sd", "of": "age", "by": ["sex"], "values": [5, 23]},
        {"kind": "sd", "of": "age", "where": "age < 4", "value": 6},
        {"kind": "variance", "of": "age", "value": 1600.0},
        {"kind": "correlation", "of": ["age", "one"], "value": 0.5},
        {"kind": "mean", "of": "age", "by": ["sex"], "values": [10, 20], "where": "sex == 'f'"},
    ],
)
def test_engines_do_not_say_reached_of_what_no_dataset_has(engine, output):
    """Where all records agree a spread has no derivative, and where there are none a mean is not 0: an engine must not be taken in."""
    from chaffinch.outputs.numbers import compare_numbers
    from chaffinch.outputs.solve.engines import ea, incremental, maxent

    columns = [*COLUMNS, {"name": "one", "from": 3, "to": 3}]
    wrong = spec_of(columns, [{"name": "o", **output}], rows=100)
    solve = {"incremental": incremental, "maxent": maxent, "ea": ea}[engine].solve
    solved = solve(
        wrong.problem(),
        wrong.fields.start(100, seed=1),
        proposals=60_000 if engine != "ea" else 320,
        seed=1,
    )
    assert compare_numbers(wrong, solved.codes)[0].within is False
    assert not solved.reached


def test_rows_starts_and_settings(spec):
    small = spec_of(COLUMNS, [{"name": "m", "kind": "mean", "of": "age", "value": "15"}])
    with pytest.raises(InputError, match="number of rows is missing"):
        evolve(small)
    with pytest.raises(InputError, match=r"must be a file of outputs.*Got list"):
        evolve([small])
    seen = []
    evolved = evolve(
        small, rows=800, start="margins", seed=1, progress=lambda what, share: seen.append(share)
    )
    assert evolved.rows == evolved.copies[0].table.n_rows == 800
    assert abs((evolved.copies[0].codes[:, 2] == 0).mean() - 0.8) < 5 * np.sqrt(0.16 / 800)
    assert seen == [0.0, 1.0]
    for wrong, message in (
        ({"copies": 0}, "copies must lie"),
        ({"search_engine": "eaa"}, "Unknown search engine 'eaa'"),
        ({"start": "x"}, "Unknown start"),
        ({"selection": "roulette"}, "is for the search engine 'ea'"),
    ):
        with pytest.raises(InputError, match=message):
            evolve(spec, **wrong)


def test_sizes_that_no_memory_holds_are_refused_before_any_work(spec):
    with pytest.raises(InputError, match="rows x columns x 24 bytes must be at most 8 GiB"):
        evolve(spec, rows=10**12)
    file = {**spec.to_dict(), "rows": 10**12}
    with pytest.raises(InputError, match="With 5 columns there can be at most 71,582,788 rows"):
        evolve(type(spec).from_dict(file))
    assert 71_582_788 * 5 * 24 <= 8 << 30 < 71_582_789 * 5 * 24


def test_a_start_and_an_error_that_change_nothing_are_refused(spec):
    plain = spec_of(
        [{"name": "age", "levels": [1, 2]}],
        [{"name": "t", "kind": "mean", "of": "age", "value": "1.5"}],
        rows=10,
    )
    with pytest.raises(InputError, match="needs the margin of a column, and none is known"):
        evolve(plain, start="margins")
    with pytest.raises(InputError, match="max_error is for numbers without a printed precision"):
        evolve(spec, max_error=0.01)  # counts, and coefficients of three decimals


def test_searches_start_from_the_margins_that_outputs_tell():
    """Nobody lives in the south, which the table tells: no record is drawn there, and none of the age that the weights leave out."""
    columns = [
        {"name": "area", "levels": ["north", "south"]},
        {"name": "age", "levels": [1, 2, 3], "weights": [1, 1, 0]},
        {"name": "sex", "levels": ["f", "m"]},
    ]
    spec = spec_of(
        columns, [{"name": "t", "kind": "table", "by": ["area"], "counts": [40, 0]}], rows=40
    )
    told, asked, uniform = (
        evolve(spec, seed=1, workers=1, **options)
        for options in ({}, {"start": "margins"}, {"start": "uniform"})
    )
    assert (told.about.settings.start, told.about.margins) == ("margins", ("age", "area"))
    assert np.array_equal(told.copies[0].codes, asked.copies[0].codes)
    assert told.copies[0].proposals == 0  # the start has what was published
    assert 2 not in told.copies[0].codes[:, 1]
    assert (uniform.about.settings.start, uniform.about.margins) == ("uniform", ())
    assert uniform.copies[0].proposals > 0
    assert 2 in uniform.copies[0].codes[:, 1]


def test_tables_hold_the_words_and_numbers_of_the_columns(spec, tmp_path):
    schema = schema_of(spec.fields)
    assert schema.sizes == spec.fields.sizes
    codes = spec.fields.start(50, seed=1)
    table = table_of_codes(spec.fields, codes)
    back = spec.fields.codes(
        {name: table.to_arrow().column(name).to_pylist() for name in table.columns}
    )
    np.testing.assert_array_equal(back, codes)
    np.testing.assert_array_equal(
        np.stack([table.code(name) for name in schema.names], axis=1), codes
    )
    table.write(tmp_path / "t.parquet")
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "t.parquet").num_rows == 50


def test_what_has_no_equations_has_no_part_in_it_and_is_named(spec):
    """On the terminal and on the page, and in the JSON."""
    bare = {
        "name": "curved",
        "kind": "ols",
        "formula": "age ~ poly(height, 2)",
        "coefficients": {"Intercept": 1, "poly(height, 2)[0]": 1, "poly(height, 2)[1]": 2},
    }
    together = spec_of(COLUMNS, [*spec.to_dict()["outputs"], bare], rows=500)
    evolved = evolve(together, seconds=20, seed=1, workers=1)
    assert evolved.reached
    why = "the numbers of poly(height, 2) come from the data; give them, as raw=True"
    assert evolved.to_dict()["about"]["rules_only"] == [{"name": "curved", "reason": why}]
    assert EvolveResult.from_dict(evolved.to_dict()).about.rules_only == evolved.about.rules_only
    assert sentence(evolved).endswith(f"'curved' had no part in it (rules only): {why}.")
    assert "had no part in it (rules only)" in evolve_page(evolved)


SHOWN = ShownNumber("f", 10.0, 10.0, 10.0, 12.0, False)
REPORT = OutputReport("by sex", "table", False, 2, 1, True, 2.0, None, 1.0, (SHOWN,))
COPY = EvolvedCopy(
    False,
    ("by sex",),
    500,
    (REPORT,),
    (TracePoint(0, None, 1, {"by sex": 1.0}),),
    1.5,
    (0.1,),
)
RESULT = EvolveResult(
    EvolveAbout(
        seed=3,
        settings=EvolveSettings.from_options(
            search_engine="ea", population_size=8, rows=30, proposals=500
        ),
    ),
    (COPY, replace(COPY, reached=True, missed=())),
    2.0,
    RunFacts(versions={"numpy": "2"}, date="2025-01-01", command="chaffinch evolve"),
)


def test_a_result_is_read_back_as_it_was_without_its_records():
    plain = json.loads(json.dumps(RESULT.to_dict()))
    again = EvolveResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.about == RESULT.about
    assert (again.copies[0].missed, again.copies[0].outputs, again.copies[0].trace) == (
        ("by sex",),
        (REPORT,),
        COPY.trace,
    )
    assert (again.copies[0].seconds, again.copies[0].seconds_of_trace) == (1.5, (0.1,))
    assert not again.reached
    with pytest.raises(InputError, match="has no datasets"):
        again.copies[0].codes  # noqa: B018


def test_options_stand_among_the_facts():
    about = RESULT.to_dict()["about"]
    assert list(about)[:3] == ["spec", "seed", "margins"]
    assert (about["population_size"], about["search_engine"]) == (8, "ea")
    assert "generations" not in about


def test_seconds_that_a_file_lacks_are_none():
    plain = RESULT.to_dict()
    del plain["run"]
    again = EvolveResult.from_dict(plain)
    assert [copy.seconds for copy in again.copies] == [0.0, 0.0]
    assert again.copies[1].seconds_of_trace == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "x"}, "must be of format 'chaffinch-evolved', version 2"),
        ({"copies": [{"reached": True}]}, "at 'copies.0.missed': field required"),
        ({"about": {"rows": "many"}}, "rows must be a whole number of at least 1. Got 'many'"),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(change, words):
    with pytest.raises(InputError, match=words):
        EvolveResult.from_dict({**RESULT.to_dict(), **change})


def test_errors_of_a_regression_on_the_way_are_those_of_its_coefficients():
    """Beside the coefficients, off by 0.5 and by 1.5, stands a log-likelihood that is off by 40."""
    errors = (OutputError("r", 2, 1, 1.5, 1.0, 9.0), OutputError("r loglik", 1, 1, 40.0, 40.0, 1.0))
    source = {"r": "r", "r loglik": "r"}
    assert by_output(errors, source) == {"r": list(errors)}
    assert TracePoint.from_checkpoint(Checkpoint(7, 0.1, 10.0, errors), source) == TracePoint(
        7, 10.0, 2, {"r": 1.0}
    )


def test_a_number_is_published_where_it_was_printed():
    exact, interval = Number("f", 10.0, 10.0, 12.0), Number("m", 1.0, 9.0, 3.0)
    assert ShownNumber.from_number(exact, 1e-3).published == 10.0
    assert ShownNumber.from_number(interval, 1e-3) == ShownNumber("m", None, 1.0, 9.0, 3.0, True)


ONE_COLUMN = OutputDomain((OutputColumn("a", tuple("01")),))
TABLE = CountTable("t", ((0, np.array([0, 1])),), np.array([1, 2]), np.array([1, 2]))


def sums(half: float) -> SumSystem:
    terms = Terms.dense((0,), (2,), np.array([[0.0], [1.0]]))
    return SumSystem("s", 1, (terms,), np.array([5.0 - half]), np.array([5.0 + half]))


def test_copies() -> None:
    assert EvolveSettings(copies=MAX_COPIES).copies == MAX_COPIES


@pytest.mark.parametrize(
    ("options", "per_cell"),
    [({}, 24), ({"cell_bytes": 120}, 120), ({"copies": 100}, 4 * 100)],
)
def test_the_most_rows_are_those_that_the_message_names(
    options: dict[str, int], per_cell: int
) -> None:
    most = MOST_BYTES // (5 * per_cell)
    check_size(most, 5, **options)
    with pytest.raises(InputError, match=f"at most {most:,} rows"):
        check_size(most + 1, 5, **options)


def test_a_start_from_margins_needs_some() -> None:
    check_start("uniform", ONE_COLUMN)
    check_start("margins", OutputDomain((OutputColumn("a", tuple("01"), weights=(1.0, 2.0)),)))
    with pytest.raises(InputError, match="A start from margins needs the margin of a column"):
        check_start("margins", ONE_COLUMN)


def test_an_allowed_error_is_for_numbers_that_are_known_in_full() -> None:
    counts, exact, printed = (Problem(ONE_COLUMN, (one,)) for one in (TABLE, sums(0.0), sums(0.5)))
    assert [needs_max_error(one) for one in (counts, exact, printed)] == [False, True, False]
    check_max_error(None, counts)
    check_max_error(0.0, counts, exact)
    with pytest.raises(InputError, match="Leave it out"):
        check_max_error(0.001, counts, printed)
