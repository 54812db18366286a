"""A release in plain Python: the same files as the command's, each table read and encoded once, clear errors for bad use, and a result that is read back."""

from __future__ import annotations

import html
import json
import os
import re
import stat
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import chaffinch as cf
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.risk.finding import column_findings, record_findings
from chaffinch.stats.intervals import LimitState
from chaffinch.table.domain import encode_column
from chaffinch.table.holdout import set_aside
from chaffinch.table.sources import open_source
from chaffinch.utility import UtilitySettings
from chaffinch.workflows import release as workflow
from chaffinch.workflows.release import ReleaseResult
from chaffinch.workflows.settings import ReleaseAttack, ReleaseSettings, SynthesisSettings

LABEL, KEYS = "contraceptive_method", ["wife_religion", "wife_education", "num_children"]
CHEAP = {"measures": ["tvd"], "attackers": ["matching", "memorisation"]}


@pytest.fixture(scope="module")
def halves(data, tmp_path_factory):
    """Two files of people of one population."""
    folder = tmp_path_factory.mktemp("halves")
    frame = pd.read_csv(data / "cmc.csv").sample(frac=1.0, random_state=1)
    for name, part in (("in.csv", frame[:700]), ("out.csv", frame[700:])):
        part.to_csv(folder / name, index=False)
    return folder / "in.csv", folder / "out.csv"


@pytest.fixture(scope="module")
def result(halves):
    return cf.release(
        halves[0],
        label=LABEL,
        sensitive=["wife_age"],
        keys=KEYS,
        holdout=halves[1],
        max_excess=0.9,
        seed=3,
        **CHEAP,
    )


def without_run(plain):
    if isinstance(plain, dict):
        return {key: without_run(value) for key, value in plain.items() if key != "run"}
    return [without_run(value) for value in plain] if isinstance(plain, list) else plain


def test_a_saved_release_is_what_the_command_writes(result, halves, run_here, tmp_path):
    done = run_here(
        "release",
        halves[0],
        "-o",
        tmp_path / "command",
        "--label",
        LABEL,
        "--sensitive",
        "wife_age",
        "--keys",
        ",".join(KEYS),
        "--holdout",
        halves[1],
        "--max-excess",
        0.9,
        "--measures",
        "tvd",
        "--attackers",
        "matching,memorisation",
        "--seed",
        3,
        "--quiet",
    )
    assert done.code == 0, done.err
    paths = result.save(tmp_path / "library")
    assert [path.relative_to(tmp_path / "library").as_posix() for path in paths] == [
        "confidential/model.chaffinch",
        "confidential/report.html",
        "confidential/report.json",
        "confidential/shapes.json",
        "to-release/synthetic.csv",
    ]
    one, other = tmp_path / "command", tmp_path / "library"
    for name in ("confidential/model.chaffinch", "to-release/synthetic.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    reports = [
        json.loads((folder / "confidential" / "report.json").read_text()) for folder in (one, other)
    ]
    assert (
        without_run(reports[0])
        == without_run(reports[1])
        == without_run(json.loads(json.dumps(result.to_dict())))
    )
    if os.name == "posix":
        for name in ("report.html", "report.json", "shapes.json", "model.chaffinch"):
            assert stat.S_IMODE((other / "confidential" / name).stat().st_mode) == 0o600


MASKED = re.compile(r"<(\d+)|fewer than (\d+) (?:records|people)|multiples of (\d+)")


@pytest.mark.parametrize("door", ["python", "command"])
def test_one_threshold_reaches_everything_that_leaves(halves, run_here, tmp_path, door):
    """Of 25: words and roundings are of 25, and nothing is of ten."""
    options = {
        "measures": ["tvd", "learning", "impossible"],
        "attackers": ["matching", "memorisation"],
        "models": ["nb"],
        "repeats": 1,
    }
    if door == "python":
        release = cf.release(
            halves[0],
            label=LABEL,
            sensitive=["wife_age"],
            keys=KEYS,
            holdout=halves[1],
            threshold=25,
            seed=3,
            **options,
        )
        release.save(tmp_path / "out")
        assert release.report.threshold == 25
    else:
        words = (
            part
            for name, value in options.items()
            for part in (f"--{name}", value if name == "repeats" else ",".join(value))
        )
        done = run_here(
            "release",
            halves[0],
            "-o",
            tmp_path / "out",
            "--label",
            LABEL,
            "--sensitive",
            "wife_age",
            "--keys",
            ",".join(KEYS),
            "--holdout",
            halves[1],
            "--threshold",
            25,
            "--seed",
            3,
            *words,
        )
        assert done.code == 0, done.err
        assert not [m for m in MASKED.findall(done.out) if set(m) - {"", "25", "50"}]
    plain = json.loads((tmp_path / "out" / "confidential" / "report.json").read_text())
    counts = [plain["about"][side]["rows"] for side in ("original", "synthetic", "holdout")]
    counts += [
        count
        for matrix in plain["utility"]["learning"]["confusion"]
        for row in matrix["counts"]
        for count in row
    ]
    counts += [plain["utility"]["impossible"]["cells"]]
    counts += [
        finding[name] for finding in plain["risk"]["findings"] for name in ("n_people", "n_matched")
    ]
    counts += [one["people"] for one in plain["risk"]["classes"]]
    assert "<25" in counts
    assert all(count == "<25" or count is None or count % 25 == 0 for count in counts)
    page = html.unescape((tmp_path / "out" / "confidential" / "report.html").read_text())
    said = [number for match in MASKED.findall(page) for number in match if number]
    assert set(said) - {"3"} == {
        "25"
    }  # levels of fewer than three records are pooled, whatever the threshold
    assert "rounded to multiples of 25" in page
    assert workflow.ReleaseResult.from_dict(plain).to_dict() == plain


def test_a_release_has_one_threshold():
    synthesis = SynthesisSettings(method=cf.Independent())
    attack = ReleaseAttack(keys=("a",), sensitive=("b",))
    with pytest.raises(InputError, match="one threshold"):
        ReleaseSettings(synthesis=synthesis, utility=UtilitySettings(threshold=20), attack=attack)


@pytest.fixture
def counted(monkeypatch):
    """Count what is opened, and which columns are encoded from values."""
    opened, encoded = [], []

    def opening(source, **options):
        opened.append(Path(source).name)
        return open_source(source, **options)

    def encoding(column, values, *tokens):
        if len(values) > 200:  # one of each value is encoded too, to see what is new in a table
            encoded.append(column.name)
        return encode_column(column, values, *tokens)

    for name in [name for name in sys.modules if name.startswith("chaffinch.")]:
        for word, real, other in (
            ("open_source", open_source, opening),
            ("encode_column", encode_column, encoding),
        ):
            if getattr(sys.modules[name], word, None) is real:
                monkeypatch.setattr(sys.modules[name], word, other)
    assert sys.modules["chaffinch.table.align"].encode_column is encoding
    return opened, encoded


@pytest.mark.parametrize("door", ["python", "command"])
def test_each_table_is_read_and_encoded_once(halves, counted, run_here, tmp_path, door):
    opened, encoded = counted
    if door == "python":
        cf.release(
            halves[0],
            label=LABEL,
            sensitive=["wife_age"],
            keys=KEYS,
            holdout=halves[1],
            seed=3,
            copies=2,
            **CHEAP,
        )
    else:
        done = run_here(
            "release",
            halves[0],
            "-o",
            tmp_path / "out",
            "--label",
            LABEL,
            "--sensitive",
            "wife_age",
            "--keys",
            ",".join(KEYS),
            "--holdout",
            halves[1],
            "--measures",
            "tvd",
            "--attackers",
            "matching,memorisation",
            "--copies",
            2,
            "--seed",
            3,
            "--quiet",
        )
        assert done.code == 0, done.err
    assert sorted(opened) == ["in.csv", "out.csv"]
    columns = list(pd.read_csv(halves[0], nrows=1).columns)
    times = {name: encoded.count(name) for name in columns}
    numbers = {
        "wife_age",
        "num_children",
    }  # cut finer once, where trees are learnt; what is drawn has those finer codes, and is put on the original's; the holdout's once more, from the grid on which it was compared with the input
    assert {name: times[name] for name in columns if name not in numbers} == {
        name: 2 for name in columns if name not in numbers
    }, "the original and the holdout"
    assert all(times[name] <= 2 + 1 + 2 * 2 + 1 for name in numbers), times


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_people_who_are_set_aside_are_the_holdout(data, tmp_path, engine):
    """Nothing of them is learnt: a level that they alone have is in no schema; and `risk` sets the same people aside."""
    frame = pd.read_csv(data / "cmc.csv")
    places = (
        set_aside(open_source(pd.DataFrame({"place": range(len(frame))})), 0.25, seed=3)[1]
        .table()["place"]
        .to_pylist()
    )
    frame["town"] = "u"
    frame.loc[frame.index % 3 == 0, "town"] = "v"
    frame.loc[places[::2], "town"] = "w"
    frame.to_csv(tmp_path / "in.csv", index=False)
    result = cf.release(
        tmp_path / "in.csv", holdout_share=0.25, engine=engine, measures=["tvd"], seed=3
    )
    assert result.risk.cross_fit is None
    assert result.risk.about.holdout.rows == pytest.approx(len(places), abs=10)  # as masked
    assert result.model.n_rows == len(frame) - len(places)
    assert "w" not in result.model.schema["town"].codec.levels
    assert (
        result.risk.about.notes[0]
        == result.utility.about.notes[0]
        == "Holdout: 25% of the people of the input, set aside by the seed."
    )
    paths = result.save(tmp_path / "out")
    again = cf.risk(
        tmp_path / "in.csv",
        next(path for path in paths if path.suffix == ".csv"),
        holdout_share=0.25,
        seed=3,
    )
    assert again.about.holdout == result.risk.about.holdout
    with pytest.raises(InputError, match="not both"):
        cf.release(tmp_path / "in.csv", holdout=tmp_path / "in.csv", holdout_share=0.25)


def test_a_holdout_with_rows_of_the_data_is_refused_before_anything_is_learnt(halves, monkeypatch):
    frame = pd.read_csv(halves[1])
    leaking = pd.concat([frame[40:], pd.read_csv(halves[0])[:40]])
    monkeypatch.setattr(cf.BayesNet, "fit", lambda *_, **__: pytest.fail("it was learnt"))
    for holdout in (leaking, halves[0]):
        with pytest.raises(InputError, match=r"--holdout-share 0\.25"):
            cf.release(halves[0], holdout=holdout, **CHEAP)
    with pytest.raises(InputError, match=r"--holdout-share 0\.25"):
        cf.frontier(
            halves[0], holdout=leaking, keys=KEYS, sensitive=["wife_age"], label=LABEL, budget=1
        )


def test_the_attack_sees_the_values_that_the_synthesiser_pooled(halves):
    """Unique keys are counted from the file: the schema has ages in bins and rare towns as (other), the attack has neither."""
    frame = pd.read_csv(halves[0])
    frame["town"] = [f"t{i}" for i in [*range(60), *[7, 8, 9] * 300][: len(frame)]]
    keys = ["wife_age", "town", "wife_education"]
    result = cf.release(frame, sensitive=["wife_religion"], keys=keys, seed=1, **CHEAP)
    assert result.model.schema["town"].codec.other
    unique = (frame.groupby(keys)[keys[0]].transform("size") == 1).mean()
    assert result.risk.funnel[0].UiO == pytest.approx(unique)
    for about in (result.risk.about, result.risk.cross_fit.about):
        assert (about.settings["numeric"], about.settings["rare"], about.comparison) == (
            "values",
            "keep",
            (),
        )


def test_the_drawn_table_has_the_figures_of_its_file(result, halves, tmp_path):
    result.save(tmp_path)
    again = cf.utility(
        halves[0],
        tmp_path / "to-release" / "synthetic.csv",
        halves[1],
        label=LABEL,
        measures=["tvd"],
        seed=3,
    )
    assert again["tvd.2"].value == result.utility["tvd.2"].value
    assert again["tvd.3"].interval == result.utility["tvd.3"].interval


def test_pooled_numbers_count_as_their_file_says(tmp_path):
    """A pooled level of a column of numbers is written as missing; so it is measured, also where the table was never read."""
    table = pd.DataFrame(
        {"a": pd.array([1, 2, None] * 60 + [7, 8], dtype="Int64"), "b": ["x", "y"] * 91}
    )
    columns = (cf.Column("a", "categorical", nullable=True), cf.Column("b", "categorical"))
    options = {"measures": ["jensen_shannon", "tvd"], "seed": 1}
    result = cf.release(table, schema=cf.Schema(columns), rows=4000, **options)
    result.save(tmp_path)
    again = cf.utility(
        cf.read(table, cf.Schema(columns)), tmp_path / "to-release" / "synthetic.csv", **options
    )
    assert again["jensen_shannon"].value == result.utility["jensen_shannon"].value


def test_a_frame_comes_back_as_a_frame(halves):
    frame = pd.read_csv(halves[0])[:300]
    result = cf.release(frame, label=LABEL, copies=2, rows=50, seed=1, measures=["tvd"])
    assert list(result.synthetic.to_native().columns) == list(frame.columns)
    assert isinstance(result.synthetic.to_native(), pd.DataFrame)
    assert [len(table) for table in result.tables] == [50, 50]
    assert result.names == ("synthetic-1.csv", "synthetic-2.csv")
    assert column_findings(result.risk.findings) == ()
    assert result.risk.cross_fit.together.tables == 2


def test_the_decision_says_what_there_is_and_no_score(result, capsys):
    decision = result.decision
    assert {row.id for row in decision.good_for} == {"tvd_1", "tvd_2", "tvd_3"}
    assert any("wife_age" in sentence for sentence in decision.gives_away)
    assert "without epsilon" in decision.promise
    # a limit of 0.9: a test about a handful of people has no upper bound below it
    assert (decision.limit.state, decision.allowed) == ("undecided", None)
    assert any("membership inference" in sentence for sentence in decision.not_tested)
    result.show()
    assert "What it gives away" in capsys.readouterr().out
    assert "What was not tested" in result._repr_html_()


def test_without_keys_whole_records_are_tested_all_the_same(halves):
    held = cf.release(halves[0], holdout=halves[1], measures=["tvd"], seed=1)
    assert column_findings(held.risk.findings) == ()
    names = [test.attacker for test in record_findings(held.risk.findings)]
    assert "copied_row" in names
    assert "k_map" not in names
    assert held.risk.family.p_value is not None
    assert held.decision.gives_away
    assert any(
        "needs columns that an outsider knows" in sentence for sentence in held.decision.not_tested
    )
    assert "Copied row" in held.to_html()
    assert workflow.ReleaseResult.from_dict(held.to_dict()).decision == held.decision
    crossed = cf.release(halves[0], measures=["tvd"], seed=1).risk
    assert crossed.family.p_value is None
    assert crossed.cross_fit.family.p_value is not None
    assert [test.attacker for test in record_findings(crossed.cross_fit.findings)] == names


def test_a_library_prints_nothing(halves, capsys):
    cf.release(halves[0], measures=["tvd"], rows=20, seed=1)
    assert capsys.readouterr() == ("", "")


def test_a_note_is_kept_in_the_record_and_on_the_page(halves):
    result = cf.release(halves[0], measures=["tvd"], rows=20, note="for <class> 3", seed=1)
    plain = result.to_dict()
    assert plain["synthesis"]["given"] == {"rows": "20", "measures": "tvd", "note": "for <class> 3"}
    assert workflow.ReleaseResult.from_dict(plain).to_dict() == plain
    assert all("for &lt;class&gt; 3" in result.to_html(public=public) for public in (True, False))


SMALL = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})


@pytest.mark.parametrize(
    ("data", "options", "error", "words"),
    [
        ([1, 2, 3], {}, InputError, "Cannot read a list"),
        ("nowhere.csv", {}, cf.errors.FileError, "No such file: 'nowhere.csv'"),
        (SMALL, {"label": "c"}, UnknownNameError, "'c'. .*a, b"),
        (SMALL, {"keys": ["c"], "sensitive": ["a"]}, UnknownNameError, "'c'"),
        (SMALL, {"keys": "a", "sensitive": ["b"]}, InputError, "keys must be a list of names"),
        (SMALL, {"holdout": SMALL[["a"]]}, UnknownNameError, "column of the holdout 'b'"),
        (SMALL, {"holdout": {"a": 1}}, InputError, "Cannot read a dict"),
        (SMALL, {"method": 3}, InputError, "method must be a synthesiser"),
        (SMALL, {"method": "bayes"}, UnknownNameError, "Unknown method 'bayes'"),
        (SMALL, {"rows": -1}, InputError, "rows must be a whole number of at least 0"),
        (SMALL, {"copies": 0}, InputError, "copies must be a whole number of at least 1"),
        (SMALL, {"max_excess": 0.1}, InputError, "max_excess needs an attack"),
        (
            SMALL,
            {"max_excess": 5.0, "keys": ["a"], "sensitive": ["b"]},
            InputError,
            "max_excess must lie between 0 and 1",
        ),
        (SMALL, {"measures": ["mean"]}, UnknownNameError, "'mean'"),
        (SMALL, {"ledger": "l.json"}, InputError, "give epsilon too"),
        (SMALL, {"method": cf.BayesNet(epsilon=1.0)}, cf.errors.PrivacyError, "schema"),
    ],
)
def test_bad_use_is_named(data, options, error, words):
    with pytest.raises(error, match=words):
        cf.release(data, **{"measures": ["tvd"], **options})


def test_a_model_is_no_data():
    with pytest.raises(InputError, match="This is a model, and data are needed"):
        cf.release(cf.Independent().fit(SMALL))


def test_a_promise_from_a_frame_a_prepared_table_and_a_file(data, tmp_path):
    method = cf.BayesNet(epsilon=2.0, delta=1e-6)
    schema = data / "cmc_declared.toml"
    frame = pd.read_csv(data / "cmc.csv")
    options = {"method": method, "measures": ["tvd"], "seed": 5}
    tables = [
        cf.release(data / "cmc.csv", schema=schema, **options),
        cf.release(cf.prepare(data / "cmc.csv", schema), **options),
    ]
    assert cf.release(frame, schema=schema, **options).decision.promise.startswith("TEST ONLY")
    assert tables[0].synthetic.data.equals(tables[1].synthetic.data)
    assert not tables[0].to_dict()["run"].get("seconds")


def test_a_ledger_that_says_no(data, tmp_path, run_here):
    ledger = tmp_path / "l.json"
    assert run_here("ledger", ledger, "--new", "--epsilon", 1, "--delta", "1e-5").code == 0
    method = cf.BayesNet(epsilon=2.0, delta=1e-6)
    with pytest.raises(cf.errors.LedgerError):
        cf.release(
            data / "cmc.csv",
            schema=data / "cmc_declared.toml",
            method=method,
            ledger=ledger,
            measures=["tvd"],
        )


def test_copies_are_attacked_together():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": rng.integers(0, 40, 300),
            "sex": rng.choice(["f", "m"], 300),
            "ill": rng.choice(["no", "yes"], 300),
        }
    )
    options = {
        "keys": ["age", "sex"],
        "sensitive": ["ill"],
        "measures": ["tvd"],
        "attackers": ["matching", "memorisation"],
        "method": cf.Independent(),
        "seed": 1,
    }
    crossed = cf.release(table, copies=2, **options)
    assert crossed.risk is not None
    assert crossed.risk.cross_fit.together.tables == 2
    assert (
        "was not seen to find more" in crossed.risk.cross_fit.together.sentence
    )  # once in twenty it would; seeded
    fresh = pd.DataFrame(
        {
            "age": rng.integers(0, 40, 300),
            "sex": rng.choice(["f", "m"], 300),
            "ill": rng.choice(["no", "yes"], 300),
        }
    )
    held = cf.release(table, copies=2, holdout=fresh, **options)
    assert held.risk.together.names == ("synthetic-1.csv", "synthetic-2.csv")
    assert held.risk.together.sentence in html.unescape(held.to_html())
    assert cf.release(table, holdout=fresh, **options).risk.together is None


def test_a_weighted_release_is_weighted_throughout():
    """Shares of the people, not of the records: 6,000 records, so a share is off by 0.04 at most (five standard errors, twice)."""
    rng = np.random.default_rng(3)
    sex = np.array(["f", "m"])[np.arange(6000) % 2]
    frame = pd.DataFrame(
        {
            "sex": sex,
            "ill": np.where(rng.random(6000) < np.where(sex == "f", 0.6, 0.2), "yes", "no"),
            "w": np.where(sex == "f", 30.0, 10.0),
        }
    )
    result = cf.release(frame, weight="w", measures=["tvd", "jensen_shannon"], seed=1)
    utility = result.report.utility
    assert utility["tvd.1"].value < 0.04
    assert utility["tvd.2"].value < 0.05
    unweighted = cf.utility(
        frame.drop(columns="w"),
        result.synthetic.to_pandas().drop(columns="w"),
        measures=["tvd"],
        seed=1,
    )
    assert unweighted["tvd.1"].value > 0.1, "which the test would see"
    assert any("counted by it" in str(note) for note in result.report.synthesis.notes)
    exact = next(
        test
        for test in record_findings(result.report.risk.findings)
        if test.attacker == "exact_row"
    )
    assert exact.value is not None, (
        "the weight, which is the same in all synthetic rows, hides no copy"
    )


@pytest.fixture(scope="module")
def attacked_release(data):
    table = cf.read(data / "cmc.csv")
    return cf.release(
        table[:700],
        label="contraceptive_method",
        sensitive=["wife_age"],
        keys=["wife_religion", "wife_education"],
        holdout=table[700:],
        max_excess=0.9,
        seed=3,
        measures=["tvd"],
        attackers=["matching", "memorisation"],
    )


def test_the_json_of_a_release_is_read_back_into_results(attacked_release, tmp_path):
    plain = json.loads(json.dumps(attacked_release.to_dict()))
    again = ReleaseResult.from_dict(plain)
    assert again.to_dict() == plain
    assert (again.utility, again.risk, again.lower_bound) == (
        attacked_release.utility,
        attacked_release.risk,
        attacked_release.lower_bound,
    )
    assert str(again.decision) == str(attacked_release.decision)
    assert repr(again) == repr(attacked_release)
    with pytest.raises(InputError, match="no model to write"):
        again.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="a study alone"):
        ReleaseResult.from_dict({**plain, "synthesis": None})
    with pytest.raises(InputError, match=r"at 'rows': input should be a valid integer"):
        ReleaseResult.from_dict({**plain, "synthesis": {**plain["synthesis"], "rows": "many"}})


def test_a_save_that_fails_leaves_nothing(attacked_release, tmp_path, monkeypatch):
    monkeypatch.setattr("chaffinch.workflows.release.render", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        attacked_release.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_exceeds_its_limit_is_saved_among_what_was_refused(
    attacked_release, tmp_path
):
    assert (attacked_release.refused, attacked_release.limit.state) == (
        False,
        "undecided",
    )
    attacked_release.save(tmp_path / "folder")
    over = replace(attacked_release.limit, state=LimitState.EXCEEDS)
    refused = replace(
        attacked_release,
        report=replace(
            attacked_release.report,
            risk=replace(attacked_release.risk, policy=over.to_dict()),
        ),
    )
    assert refused.refused
    paths = refused.save(
        tmp_path / "folder", overwrite=True
    )  # over an earlier release of the same name
    assert tmp_path / "folder" / "confidential" / "refused" / "synthetic.csv" in paths
    assert not (tmp_path / "folder" / "to-release").exists()
    assert (tmp_path / "folder" / "confidential" / "refused").stat().st_mode & 0o077 == 0
    attacked_release.save(tmp_path / "folder", overwrite=True)
    assert (tmp_path / "folder" / "to-release" / "synthetic.csv").exists()
    assert not (tmp_path / "folder" / "confidential" / "refused").exists()
