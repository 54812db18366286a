"""synth, fit, release and ledger under a promise: what they write, what they refuse, and that they say nothing of a record."""

from __future__ import annotations

import gzip
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.privacy.ledger import Budget
from chaffinch.table.formats import Source

SCHEMA = """
format = "chaffinch-schema"
version = 1
public = true
rows = 200

[columns.word]
kind = "categorical"
levels = ["x", "y", "z"]
other = true

[columns.age]
kind = "integer"
bounds = [0, 99]
bins = 5

[columns.ill]
kind = "categorical"
levels = ["no", "yes"]
"""


def rows_of(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return [
        f"{rng.choice(['x', 'y', 'z'])},{rng.integers(100)},{rng.choice(['no', 'yes'], p=[0.8, 0.2])}"
        for _ in range(n)
    ]


def write_csv(path, rows):
    path.write_text("\n".join(["word,age,ill", *rows]) + "\n")
    return path


@pytest.fixture
def work(tmp_path):
    write_csv(tmp_path / "in.csv", rows_of())
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# What is written


@pytest.mark.parametrize(
    "method",
    [["--method", "privbayes"], ["--method", "privbayes:dpart"], ["--delta", "1e-6"], []],
    ids=" ".join,
)
def test_synth_with_a_promise(run_here, work, method):
    done = run_here(
        "synth",
        work / "in.csv",
        "-o",
        work / "out.csv",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
        *method,
        "--model",
        work / "m.chaffinch",
        "--json",
        work / "a.json",
    )
    assert done.code == 0, done.err
    lines = (work / "out.csv").read_text().splitlines()
    assert lines[0] == "word,age,ill"
    assert len(lines) == 201
    account = chaffinch.load(work / "m.chaffinch").fitted.privacy
    assert account.sentence in done.err
    assert not account.test_only
    assert "confidential" not in done.err
    told = json.loads((work / "a.json").read_text())
    assert told["network"]["privacy"] == account.to_dict()
    assert "rows_equal_to_an_original" not in told  # a figure of the data that was not paid for
    shown = run_here("ledger", work / "m.chaffinch", "--json", work / "l.json")
    assert shown.code == 0
    assert account.sentence in " ".join(shown.out.split())
    assert json.loads((work / "l.json").read_text())["privacy"] == account.to_dict()


def test_fit_with_a_promise_and_with_a_seed(run_here, work):
    fit = [
        "fit",
        work / "in.csv",
        "-o",
        work / "m.chaffinch",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
    ]
    done = run_here(*fit)
    assert done.code == 0, done.err
    assert "Differentially private (epsilon 1; add or remove one record)" in done.err
    assert "confidential" not in done.err
    done = run_here(*fit, "--seed", 3, "--overwrite")
    assert done.code == 2
    assert (
        "with --epsilon (epsilon= in Python) nothing is overwritten, since a privacy budget is spent once"
        in done.err
    )
    done = run_here("fit", work / "in.csv", "-o", work / "m.chaffinch", "--overwrite")
    assert done.code == 2
    assert "it exists, and a privacy budget was spent on it" in done.err
    (work / "m.chaffinch").unlink()
    done = run_here(*fit, "--seed", 3)
    assert done.code == 0
    assert "TEST ONLY: the noise was drawn from a seed" in done.err
    assert "confidential" in done.err
    assert "TEST ONLY" in run_here("ledger", work / "m.chaffinch").out


def test_release_with_a_promise(run_here, work):
    done = run_here(
        "release",
        work / "in.csv",
        "-o",
        work / "rel",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
        "--measures",
        "tvd",
        "--repeats",
        1,
        "--label",
        "ill",
    )
    assert done.code == 0, done.err
    assert names(work / "rel" / "to-release") == ["model.chaffinch", "synthetic.csv"]
    assert names(work / "rel" / "confidential") == ["report.html", "report.json", "shapes.json"]
    assert "Differentially private (epsilon 1" in done.err
    assert (
        chaffinch.load(work / "rel" / "to-release" / "model.chaffinch").fitted.privacy.epsilon == 1
    )


def test_a_model_without_a_promise_says_so(run_here, work):
    assert run_here("fit", work / "in.csv", "-o", work / "m.chaffinch").code == 0
    assert "carries no promise" in run_here("ledger", work / "m.chaffinch").out


def test_persons(run_here, work):
    rows = [f"{row},p{i // 4}" for i, row in enumerate(rows_of())]
    (work / "p.csv").write_text("\n".join(["word,age,ill,who", *rows]) + "\n")
    (work / "p.toml").write_text(SCHEMA + '\n[columns.who]\nkind = "identifier"\n')
    done = run_here(
        "synth",
        work / "p.csv",
        "-o",
        work / "out.csv",
        "--schema",
        work / "p.toml",
        "--epsilon",
        1,
        "--person-id",
        "who",
        "--rows-per-person",
        2,
        "--model",
        work / "m.chaffinch",
    )
    assert done.code == 0, done.err
    assert "person (at most 2 rows each)" in done.err
    assert chaffinch.load(work / "m.chaffinch").fitted.privacy.unit.rows_per_person == 2


# Timings


def test_no_private_result_says_how_long_it_took(run_here, work, timings_in):
    """Not in any nested place, and not with seeded noise either; results without a promise may."""
    for private in (
        [],
        ["--epsilon", 1],
        ["--epsilon", 1, "--delta", "1e-6", "--seed", 1],
        ["--epsilon", 1, "--method", "fieldgroups"],
    ):
        base = [work / "in.csv", "--schema", work / "s.toml", *private]
        study = [
            "--measures",
            "tvd",
            "--repeats",
            1,
            "--keys",
            "word",
            "--sensitive",
            "ill",
            "--attackers",
            "matching,memorisation",
        ]
        protect = [] if "fieldgroups" in private else ["--label", "age"]
        for name in ("out.csv", "m.chaffinch", "f.chaffinch"):
            (work / name).unlink(missing_ok=True)
        shutil.rmtree(work / "rel", ignore_errors=True)
        for words in (
            [
                "synth",
                *base,
                "-o",
                work / "out.csv",
                "--model",
                work / "m.chaffinch",
                "--json",
                work / "synth.json",
            ],
            ["fit", *base, "-o", work / "f.chaffinch", "--json", work / "fit.json"],
            [
                "sample",
                work / "m.chaffinch",
                "-o",
                work / "out.csv",
                "--json",
                work / "sample.json",
            ],
            ["inspect", work / "m.chaffinch", "--json", work / "inspect.json"],
            [
                "release",
                *base,
                *study,
                *protect,
                "-o",
                work / "rel",
                "--json",
                work / "release.json",
            ],
        ):
            done = run_here(*words, "--overwrite")
            assert done.code == 0, done.err
        timed = (
            {"synth.json", "sample.json", "release.json", "rel/confidential/report.json"}
            if not private
            else set()
        )
        written = (
            "synth.json",
            "fit.json",
            "sample.json",
            "inspect.json",
            "release.json",
            "rel/confidential/report.json",
        )
        assert {name for name in written if timings_in(work / name)} == timed
        told = json.loads((work / "rel" / "confidential" / "report.json").read_text())
        assert {"versions", "date", "command"} <= set(told["run"])
        assert "cross_fit" in told["risk"]


# The preview


@pytest.mark.parametrize("command", ["synth", "fit", "release"])
@pytest.mark.parametrize(
    "method", [["--method", "privbayes"], ["--delta", "1e-6"]], ids=["privbayes", "bayesnet"]
)
def test_a_dry_run_reads_nothing_and_shows_the_split(run_here, work, command, method):
    before = names(work)
    done = run_here(
        command,
        work / "nowhere.csv",
        "-o",
        work / "out.csv",
        "--schema",
        work / "s.toml",
        "--epsilon",
        2,
        *method,
        "--dry-run",
        "--json",
        work / "plan.json",
    )
    assert done.code == 0, done.err
    assert "Budget: epsilon 2" in done.out
    assert "Nothing has been spent." in " ".join(done.out.split())
    plan = json.loads((work / "plan.json").read_text())
    budget = Budget(2.0, None if "privbayes" in method else 1e-6)
    assert sum(step["total"] for step in plan["steps"]) == pytest.approx(budget.total, rel=1e-6)
    assert sum(step["each"] * step["times"] for step in plan["steps"]) == pytest.approx(
        plan["total"]
    )
    assert names(work) == sorted([*before, "plan.json"])


# Refusals


REFUSED = {
    "no schema": (["--epsilon", 1], False, "needs a declared domain"),
    "epsilon zero": (["--epsilon", 0], True, "epsilon must be"),
    "epsilon negative": (["--epsilon", -1], True, "epsilon must be"),
    "epsilon nan": (["--epsilon", "nan"], True, "epsilon must be"),
    "epsilon inf": (["--epsilon", "inf"], True, "epsilon must be"),
    "delta one": (["--epsilon", 1, "--delta", 1], True, "delta must lie between 0 and 1"),
    "delta alone": (["--delta", "1e-6"], True, "give epsilon too"),
    "privbayes without epsilon": (
        ["--method", "privbayes"],
        True,
        "privbayes is a private method: give --epsilon",
    ),
    "unknown variant": (
        ["--method", "privbayes:dprat", "--epsilon", 1],
        True,
        "Did you mean 'dpart'",
    ),
    "unknown relation": (
        ["--epsilon", 1, "--neighbours", "replace"],
        True,
        "Unknown neighbours",
    ),
    "independent": (["--epsilon", 1, "--method", "independent"], True, "makes no promise"),
    "greedy": (
        ["--epsilon", 1, "--search", "greedy"],
        True,
        "Greedy search under a promise is PrivBayes",
    ),
    "rows of a person": (
        ["--epsilon", 1, "--rows-per-person", 2],
        True,
        "--rows-per-person needs --person-id",
    ),
    "privbayes with rules": (
        ["--epsilon", 1, "--method", "privbayes", "--root", "age"],
        True,
        "chooses its own network",
    ),
    "dry run without": (["--dry-run"], True, "give --epsilon"),
    "ledger without": (["--ledger", "LEDGER"], True, "give epsilon too"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_why_and_leave_nothing(run_here, work, case):
    options, with_schema, words = REFUSED[case]
    options = [work / "l.json" if option == "LEDGER" else option for option in options]
    if "--ledger" in options:
        assert run_here("ledger", work / "l.json", "--new", "--epsilon", 1).code == 0
    before = names(work)
    schema = ["--schema", work / "s.toml"] if with_schema else []
    done = run_here(
        "synth", work / "in.csv", "-o", work / "out.csv", "--model", work / "m", *schema, *options
    )
    assert done.code == 2, done.err
    assert words in " ".join(done.err.split())
    assert names(work) == before


def test_the_wrong_number_of_rows_under_replace_one(run_here, work):
    write_csv(work / "in.csv", rows_of(199))
    before = names(work)
    for command, output in (("synth", "out.csv"), ("fit", "m.chaffinch"), ("release", "rel")):
        done = run_here(
            command,
            work / "in.csv",
            "-o",
            work / output,
            "--schema",
            work / "s.toml",
            "--epsilon",
            1,
            "--method",
            "privbayes",
        )
        assert done.code == 2
        assert "declares rows = 200, but the table has another number" in done.err
        assert "199" not in done.err
        assert names(work) == before


def test_a_schema_that_is_not_public(run_here, work):
    (work / "s.toml").write_text(SCHEMA.replace("public = true", "public = false"))
    done = run_here(
        "synth",
        work / "in.csv",
        "-o",
        work / "out.csv",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
    )
    assert done.code == 2
    assert "lacks: public = true" in done.err
    assert not (work / "out.csv").exists()


# The project ledger


def test_a_project_ledger_refuses_what_is_too_much(run_here, work):
    ledger = work / "project.json"
    assert (
        run_here(
            "ledger", ledger, "--new", "--epsilon", 1.5, "--delta", "1e-5", "--data", "clinic"
        ).code
        == 0
    )
    synth = [
        "synth",
        work / "in.csv",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
        "--ledger",
        ledger,
    ]
    assert run_here(*synth, "-o", work / "one.csv").code == 0
    after = ledger.read_bytes()
    before = names(work)
    done = run_here(*synth, "-o", work / "two.csv", "--model", work / "two.chaffinch")
    assert done.code == 1
    assert "The project ledger says no" in done.err
    assert names(work) == before
    assert ledger.read_bytes() == after  # a release that was not made is not entered
    shown = run_here("ledger", ledger)
    assert shown.code == 0
    assert "one.csv" in shown.out
    assert "two.csv" not in shown.out
    assert "clinic" in shown.out


def test_a_refused_release_leaves_the_folder_as_it_was(run_here, work):
    ledger = work / "project.json"
    assert run_here("ledger", ledger, "--new", "--epsilon", 0.5).code == 0
    before = names(work)
    done = run_here(
        "release",
        work / "in.csv",
        "-o",
        work / "rel",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
        "--ledger",
        ledger,
    )
    assert done.code == 1
    assert names(work) == before


WORDS = 'levels = ["x", "y", "z"]\nother = true'
METHODS = {
    "zCDP": ["--delta", "1e-6"],
    "pure": [],
    "genetic": ["--delta", "1e-6", "--search", "genetic"],
    "privbayes": ["--method", "privbayes", "--delta", "1e-6"],
    "fieldgroups": ["--method", "fieldgroups", "--delta", "1e-6"],
}
DOMAINS = {
    "declared": SCHEMA,
    "words": SCHEMA.replace(WORDS, "discover = true"),
    "two columns of words": SCHEMA.replace(WORDS, "discover = true").replace(
        'levels = ["no", "yes"]', "discover = true"
    ),
    "numbers": SCHEMA.replace("bounds = [0, 99]", "discover = true"),
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("method", METHODS)
def test_preview_project_ledger_and_account_are_one(run_here, work, method, domain):
    (work / "s.toml").write_text(DOMAINS[domain])
    assert run_here("ledger", work / "l.json", "--new").code == 0
    fit = [
        "fit",
        work / "in.csv",
        "-o",
        work / "m.chaffinch",
        "--schema",
        work / "s.toml",
        "--epsilon",
        2,
        *METHODS[method],
    ]
    done = run_here(*fit, "--dry-run", "--json", work / "plan.json")
    if method == "pure" and "words" in domain:
        assert (done.code, run_here(*fit, "--ledger", work / "l.json").code) == (2, 2)
        assert "to discover them takes a delta above 0" in done.err
        assert json.loads((work / "l.json").read_text())["releases"] == []
        return
    assert done.code == 0, done.err
    done = run_here(*fit, "--ledger", work / "l.json")
    assert done.code == 0, done.err
    account = chaffinch.load(work / "m.chaffinch").fitted.privacy.to_dict()
    (entry,) = json.loads((work / "l.json").read_text())["releases"]
    plan = json.loads((work / "plan.json").read_text())
    names = sorted(set(entry) - {"label", "when", "test_only"})
    assert names == [
        "accounting",
        "by_person",
        "delta",
        "epsilon",
        "neighbours",
        "reserved_delta",
        "rows_per_person",
    ]
    for name in names:
        assert entry[name] == account[name] == plan[name]
    found = [charge["what"] for charge in account["charges"] if charge["why"] == "discover = true"]
    assert found == [step["what"] for step in plan["steps"] if step["why"] == "discover = true"]
    assert bool(found) == (domain != "declared")


def test_a_limit_on_delta_counts_what_discovery_takes(run_here, work):
    (work / "s.toml").write_text(DOMAINS["words"])
    # A tenth of a fit's delta is kept for words: of 1.9e-7 that leaves none for a second fit to turn rho into epsilon.
    assert (
        run_here("ledger", work / "l.json", "--new", "--epsilon", 10, "--delta", "1.9e-7").code == 0
    )
    options = [
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
        "--delta",
        "1e-6",
        "--ledger",
        work / "l.json",
    ]
    assert run_here("fit", work / "in.csv", "-o", work / "one.chaffinch", *options).code == 0
    done = run_here("fit", work / "in.csv", "-o", work / "two.chaffinch", *options)
    assert done.code == 1
    assert "the deltas would add up to 2e-06" in done.err
    assert not (work / "two.chaffinch").exists()


# Paths, options, header and schema are checked, then the ledger is charged, then records are read

COMMANDS = {"synth": "out.csv", "fit": "m.chaffinch", "release": "rel"}


def entries(ledger):
    return [release["label"] for release in json.loads(ledger.read_text())["releases"]]


def call(work, command, *options, data="in.csv"):
    """Return the words of a private command that charges the ledger l.json."""
    outputs = [
        "-o",
        work / COMMANDS[command],
        "--schema",
        work / "s.toml",
        "--ledger",
        work / "l.json",
    ]
    return [command, work / data, *outputs, "--epsilon", 1, *options]


@pytest.fixture
def charged(run_here, work):
    """A folder with a project ledger l.json without a limit."""
    assert run_here("ledger", work / "l.json", "--new").code == 0
    return work


def broken_csv(folder):
    """Write a compressed text file that ends in the middle of its records."""
    text = "\n".join(["word,age,ill", *rows_of(20_000)])
    whole = gzip.compress(text.encode(), mtime=0)
    (folder / "broken.csv.gz").write_bytes(whole[: len(whole) // 2])
    return "broken.csv.gz"


def broken_parquet(folder):
    """Write a Parquet file whose names can be read, and whose records cannot."""
    path = folder / "broken.parquet"
    pq.write_table(
        pa.table({"word": ["x"] * 200, "age": [5] * 200, "ill": ["no"] * 200}),
        path,
        compression="none",
    )
    whole = bytearray(path.read_bytes())
    whole[4:60] = b"\xff" * 56
    path.write_bytes(whole)
    return path.name


@pytest.mark.parametrize("breaking", [broken_csv, broken_parquet])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_fails_while_records_are_read_is_charged(run_here, charged, command, breaking):
    data = breaking(charged)
    before = names(charged)
    done = run_here(*call(charged, command, data=data))
    assert done.code == 2, done.err
    assert "damaged" in done.err
    assert entries(charged / "l.json") == [COMMANDS[command]]
    assert names(charged) == before


@pytest.mark.parametrize("domain", ["declared", "words"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_ledger_is_charged_before_a_record_is_read(
    run_here, charged, monkeypatch, command, domain
):
    """At the first record, the ledger already has the entry; a crash there is not free."""
    (charged / "s.toml").write_text(DOMAINS[domain])
    seen = []

    def table(self):
        seen.append(entries(charged / "l.json"))
        raise KeyboardInterrupt

    monkeypatch.setattr(Source, "table", table)
    run_here(*call(charged, command, "--delta", "1e-6"))
    assert seen == [[COMMANDS[command]]]
    assert entries(charged / "l.json") == [COMMANDS[command]]


FREE = {
    "no such file": ([], "nowhere.csv", {}, "No such file"),
    "an empty file": ([], "empty.csv", {}, "is empty"),
    "a column that the header lacks": ([], "short.csv", {}, "Unknown column 'ill'"),
    "a column that the schema lacks": ([], "long.csv", {}, "The schema lacks columns"),
    "a file that is not read": ([], "a.sav", {}, "may stop at a value"),
    "an encoding": (["--encoding", "klingon"], "in.csv", {}, "Unknown encoding"),
    "a delimiter": (["--delimiter", ";;"], "in.csv", {}, "delimiter must be one character"),
    "a schema that is not public": (
        [],
        "in.csv",
        {"public = true": "public = false"},
        "lacks: public = true",
    ),
    "an undeclared column": ([], "in.csv", {"bounds = [0, 99]": ""}, "age: bounds"),
    "bounds that hold nothing": (
        [],
        "in.csv",
        {"[0, 99]": "[0.2, 0.8]"},
        "fewer than two whole numbers",
    ),
    "words without a delta": ([], "in.csv", {WORDS: "discover = true"}, "takes a delta above 0"),
    "no rows under replace-one": (
        ["--neighbours", "replace-one"],
        "in.csv",
        {"rows = 200": ""},
        "must be declared",
    ),
    "a label": (["--label", "incme"], "in.csv", {}, "'incme'"),
    "an edge": (["--require", "age:incme"], "in.csv", {}, "'incme'"),
    "groups": (["--method", "fieldgroups", "--groups", "age,incme"], "in.csv", {}, "'incme'"),
    "a score": (
        ["--method", "privbayes", "--score", "F", "--neighbours", "add-remove"],
        "in.csv",
        {},
        "Score F",
    ),
    "a person": (["--person-id", "whose"], "in.csv", {}, "'whose'"),
    "a person under replace-one": (
        ["--person-id", "word", "--neighbours", "replace-one"],
        "in.csv",
        {},
        "With a person's identifier",
    ),
    "a seed": (["--seed", "-3"], "in.csv", {}, "seed must be"),
    "where to write": (["--json", "nowhere/x.json"], "in.csv", {}, "no folder"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", FREE)
def test_what_can_be_known_to_fail_beforehand_costs_nothing(
    run_here, charged, monkeypatch, command, case
):
    options, data, edits, words = FREE[case]
    monkeypatch.chdir(charged)
    write_csv(charged / "short.csv", rows_of()).write_text("word,age\nx,1\n")
    (charged / "long.csv").write_text("word,age,ill,more\nx,1,no,1\n")
    (charged / "empty.csv").touch()
    (charged / "a.sav").write_bytes(b"$FL2" + b"\0" * 600)
    text = SCHEMA
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    (charged / "s.toml").write_text(text)
    before = names(charged)
    monkeypatch.setattr(Source, "table", lambda self: pytest.fail("a record was read"))
    done = run_here(*call(charged, command, *options, data=data))
    assert done.code == 2, done.err
    assert words in " ".join(done.err.split())
    assert entries(charged / "l.json") == []
    assert names(charged) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--measures", "tdv"], "Did you mean 'tvd'"),
        (["--models", "fr"], "Unknown model 'fr'"),
        (["--formula", "age ~ incme"], "incme"),
        (["--repeats", "0"], "repeats must be a whole number of at least 1"),
        (["--svm-rows", "3"], "svm_rows must be a whole number of at least 10"),
        (["--holdout", "nowhere.csv"], "No such file"),
        (["--holdout", "short.csv"], "'ill'"),
        (["--keys", "incme"], "'incme'"),
        (["--keys", "age", "--sensitive", "ill", "--attackers", "gpac"], "Unknown attacker 'gpac'"),
        (["--keys", "age", "--sensitive", "ill", "--key-sizes", "4"], "key"),
        (["--max-excess", "0.1"], "max_excess needs an attack"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_release_checks_what_it_will_measure_before_it_pays(
    run_here, charged, monkeypatch, options, words
):
    monkeypatch.chdir(charged)
    (charged / "short.csv").write_text("word,age\nx,1\n")
    before = names(charged)
    done = run_here(*call(charged, "release", *options))
    assert done.code == 2, done.err
    assert words in " ".join(done.err.split())
    assert entries(charged / "l.json") == []
    assert names(charged) == before


def test_options_of_a_new_ledger_need_new(run_here, work):
    done = run_here("ledger", work / "p.json", "--epsilon", 1)
    assert done.code == 2
    assert "Add --new" in done.err


# Nothing that is said depends on a record

BASE = rows_of()
NEIGHBOURS = {
    "one less": BASE[:-1],
    "one more": [*BASE, "x,5,yes"],
    "an unseen word": [*BASE[:-1], "secretword,5,yes"],
    "far outside": [*BASE[:-1], "x,8675309,yes"],
    "not a number": [*BASE[:-1], "x,secretword,yes"],
    "empty cells": [*BASE[:-1], ",,"],
    "too many cells": [*BASE[:-1], "x,5,yes,secretword"],
    "too few cells": [*BASE[:-1], "x"],
    "odd letters": [*BASE[:-1], "\u00e9\u2603,5,yes"],
}


@pytest.mark.parametrize(
    "method", [["--delta", "1e-6"], ["--method", "privbayes"]], ids=["bayesnet", "privbayes"]
)
def test_no_message_depends_on_a_record(run_here, work, method):
    """Real noise, and the same words to the letter: nothing about the record, and nothing about how the fit went either."""

    def said(rows):
        write_csv(work / "in.csv", rows)
        for path in (
            work / "out.csv",
            work / "m.chaffinch",
        ):  # a budget was spent on them: they are not overwritten
            path.unlink(missing_ok=True)
        done = run_here(
            "synth",
            work / "in.csv",
            "-o",
            work / "out.csv",
            "--schema",
            work / "s.toml",
            "--epsilon",
            1,
            *method,
            "--neighbours",
            "add-remove",
            "--model",
            work / "m.chaffinch",
        )
        assert (
            len((work / "out.csv").read_text().splitlines()) == 201
        )  # the declared number, whatever there was
        return done.code, done.out, done.err

    first = said(BASE)
    assert first[0] == 0
    for case, rows in NEIGHBOURS.items():
        assert said(rows) == first, case
        for path in (work / "out.csv", work / "m.chaffinch"):
            content = path.read_bytes()
            assert b"secretword" not in content
            assert b"8675309" not in content


def test_the_dictionary_of_a_parquet_file_is_not_handed_on(run_here, work):
    """A dictionary column stores its words apart from its rows; one that is not declared must not come out with the type."""
    column = pa.array([*(["x", "y"] * 99), "z", "secretword"]).dictionary_encode()
    frame = pa.table({"word": column, "age": pa.array([5] * 200), "ill": ["no"] * 200})
    pq.write_table(frame, work / "in.parquet")
    declared = (
        (work / "s.toml")
        .read_text()
        .replace("[columns.word]", '[columns.word]\ntype = "dictionary<int32, string>"')
    )
    (work / "s.toml").write_text(declared)
    done = run_here(
        "synth",
        work / "in.parquet",
        "-o",
        work / "out.parquet",
        "--schema",
        work / "s.toml",
        "--epsilon",
        1,
        "--model",
        work / "m.chaffinch",
    )
    assert done.code == 0, done.err
    assert pa.types.is_dictionary(pq.read_table(work / "out.parquet")["word"].type)
    for name in ("out.parquet", "m.chaffinch"):
        assert b"secretword" not in (work / name).read_bytes()
