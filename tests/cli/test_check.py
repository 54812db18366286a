"""chaffinch check: a verdict with its exit code, what may leave and what may not, released outputs, ACRO folders, bad input."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMC = ROOT / "examples" / "data" / "cmc.csv"
ACRO = ROOT / "tests" / "data" / "acro" / "cmc"

HEAD = """
format = "chaffinch-outputs"
version = 1
"""
TABLE = """
[[outputs]]
name = "media by living"
kind = "table"
by = ["standard_of_living", "media_exposure"]
threshold = 10
"""
MEAN = """
[[outputs]]
name = "children by living"
kind = "mean"
of = "num_children"
by = ["standard_of_living"]
decimals = 2
"""
QUICK = ("--syntheses", 3, "--no-cumulative", "--threads", 1, "--seed", 1)
ASK = ("--data", CMC, "--keys", "standard_of_living", "--sensitive", "media_exposure")


@pytest.fixture
def run(run_here):
    """Run `chaffinch check ...` in this process."""
    return lambda *arguments: run_here("check", *arguments)


@pytest.fixture
def spec(tmp_path):
    def write(*parts):
        path = tmp_path / "wanted.toml"
        path.write_text("".join(parts))
        return path

    return write


@pytest.mark.parametrize(
    ("by", "records"), [("--threshold", 1475), ("--rules", 1475), (None, 1470)]
)
def test_the_threshold_is_an_option_or_the_policys(run, spec, tmp_path, by, records):
    told, policy = tmp_path / "c.json", tmp_path / "policy.toml"
    policy.write_text('format = "chaffinch-policy"\nversion = 1\nthreshold = 25\n')
    more = {"--threshold": (by, 25), "--rules": (by, policy), None: ()}[by]
    done = run(
        spec(HEAD, MEAN), *ASK[:4], "--sensitive", "num_children", *QUICK, "--json", told, *more
    )
    assert told.exists(), done.err
    left = json.loads(told.read_text())
    assert left["records"] == records
    assert left["exposed_classes"] in ({"<25", 0} if by else {"<10", 0})


def test_a_threshold_of_nothing_is_refused(run, spec):
    done = run(spec(HEAD, MEAN), *ASK, *QUICK, "--threshold", 0)
    assert done.code == 2
    assert "threshold must be a whole number of at least 1. Got 0." in done.err


def test_what_is_found_is_told_and_what_must_stay_stays(run, spec, tmp_path):
    told, page, confidential, known = (
        tmp_path / name for name in ("c.json", "c.html", "c.confidential.json", "released.json")
    )
    ask = (
        spec(HEAD, MEAN),
        "--data",
        CMC,
        "--keys",
        "standard_of_living",
        "--sensitive",
        "num_children",
        *QUICK,
    )
    done = run(
        *ask,
        "--json",
        told,
        "--html",
        page,
        "--confidential",
        confidential,
        "--released",
        known,
        "--record",
    )
    left = json.loads(told.read_text())
    assert done.code == (0 if left["passed"] else 1), done.err
    assert left["format"] == "chaffinch-check"
    assert done.out.splitlines()[0] == left["verdict"]["text"]
    assert not {"version", "results"} <= set(left)
    assert left["outputs"][0]["statbarn"] == "LinearAggregations"
    assert left["outputs"][0]["consistent"] is None
    assert left["outputs"][0]["fit"]["reached"] == 1.0
    assert {m["convention"] for m in left["all"]["measures"]} == {"matched_rows", "all_rows"}
    assert left["records"] == 1470  # rounded
    assert len(left["rules"]["policy_hash"]) == 64
    # Inside: the cells behind rules and the classes, for the owner alone.
    assert stat.S_IMODE(confidential.stat().st_mode) == 0o600
    assert json.loads(confidential.read_text())["confidential"] is True
    assert "exposed" in json.loads(confidential.read_text())
    for text in (told.read_text(), page.read_text(), done.out):
        assert "with_value" not in text
        assert not re.search(r'"(?:people|where)":', text)
    assert left["about"]["recorded"] == known.exists() == left["passed"]
    # The same seed, and the proposals that 20 seconds stand for, give the same account, but for how the run went.
    again = tmp_path / "again.json"
    most = left["settings"]["proposals"]
    assert f"--proposals {most} repeats this" in done.err
    assert run(*ask, "--json", again, "--quiet", "--proposals", most).out == ""
    same = json.loads(again.read_text())
    assert {**same, "run": 0, "about": 0} == {**left, "run": 0, "about": 0}


def test_recorded_outputs_count_the_next_time_and_keep_their_names(run, spec, tmp_path):
    from chaffinch.outputs.check.released import read_released

    known = tmp_path / "released.json"
    done = run(spec(HEAD, TABLE), *ASK, *QUICK, "--released", known, "--record")
    assert done.code == 0, done.out + done.err
    assert "recorded as released" in done.err
    (entry,) = read_released(known).entries
    # Every record is in some cell, and no cell is small enough to be withheld.
    assert sum(sum(row) for row in entry["counts"]) == 1473
    before = known.read_text()
    told = tmp_path / "second.json"
    done = run(spec(HEAD, MEAN), *ASK, *QUICK, "--released", known, "--record", "--json", told)
    found = json.loads(told.read_text())
    assert [(one["name"], one["released"]) for one in found["outputs"]] == [
        ("media by living", True),
        ("children by living", False),
    ]
    assert (known.read_text() != before) == (done.code == 0)
    again = run(spec(HEAD, TABLE), *ASK, *QUICK, "--released", known)
    assert again.code == 2
    assert "media by living" in again.err


def test_a_failed_rule_ends_with_1_and_is_not_recorded(run, spec, tmp_path):
    policy, known = tmp_path / "policy.toml", tmp_path / "released.json"
    policy.write_text(
        'format = "chaffinch-policy"\nversion = 1\nname = "strict"\nthreshold = 400\n'
    )
    done = run(
        spec(HEAD, TABLE.replace("threshold = 10\n", "")),
        *ASK,
        *QUICK,
        "--rules",
        policy,
        "--released",
        known,
        "--record",
    )
    assert done.code == 1, done.out + done.err
    assert "- fail: threshold, 'media by living'" in done.out
    assert "'strict'" in done.out
    assert "only if they pass" in done.err
    assert not known.exists()


def test_published_numbers_that_are_not_those_of_the_data(run, spec):
    wrong = TABLE.replace("threshold = 10", "counts = [[100, 29], [200, 29], [400, 31], [664, 20]]")
    done = run(spec(HEAD, wrong), *ASK, *QUICK)
    assert done.code == 1, done.out + done.err
    assert done.out.startswith("outputs inconsistent")


COLUMNS = """
[[columns]]
name = "standard_of_living"
levels = [1, 2, 3]

[[columns]]
name = "media_exposure"
levels = [0, 1]
"""


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ((HEAD, TABLE), ("--keys", "standard_of_livng"), "Did you mean 'standard_of_living'?"),
        ((HEAD, TABLE.replace("media_exposure", "media")), (), "media"),
        (
            (HEAD, COLUMNS, TABLE),
            (),
            "Column 'standard_of_living' of the data has values that are none of its levels",
        ),
        (
            (
                HEAD,
                COLUMNS.replace("media_exposure", "medium"),
                TABLE.replace("media_exposure", "medium"),
            ),
            ("--sensitive", "medium"),
            "medium",
        ),
        ((HEAD,), (), "no outputs"),
        (("= nonsense",), (), "not valid TOML"),
        ((HEAD, TABLE), ("--leave-one-out", "alway"), "Did you mean 'always'?"),
        ((HEAD, TABLE), ("--search-engine", "incrementl"), "Did you mean 'incremental'?"),
        ((HEAD, TABLE), ("--leave-one-out", "always"), "nothing to leave one out of"),
        ((HEAD, TABLE), ("--start", "marginal"), "Did you mean 'margins'?"),
        (
            (HEAD, MEAN),
            ("--sensitive", "num_children", "--start", "published"),
            "A start from published margins needs the margin of a column",
        ),
        (
            (HEAD, TABLE),
            ("--max-error", "0.1"),
            "for numbers without a printed precision, and here are none",
        ),
        ((HEAD, TABLE), ("--proposals", "0"), "proposals must lie between 1 and"),
        (
            (HEAD, TABLE),
            ("--proposals", "9", "--seconds", "9"),
            "Give seconds or proposals, not both",
        ),
        (
            (HEAD, TABLE),
            ("--syntheses", "1"),
            "syntheses must be a whole number of at least 2. Got 1.",
        ),
        (
            (HEAD, TABLE),
            ("--holdout-share", "0.7"),
            "holdout_share must be above 0 and at most 0.5. Got 0.7.",
        ),
        (
            (HEAD, TABLE),
            ("--key-sizes", "a-b"),
            "key_sizes must be a size or a range, as 4 or 3-6. Got 'a-b'.",
        ),
        ((HEAD, TABLE), ("--record",), "--record needs --released"),
        ((HEAD, TABLE), ("--released", "none.json"), "No such file"),
        ((HEAD, TABLE), ("--rules", "none.toml"), "No such file"),
        ((HEAD, TABLE), ("--recipes", "none.toml"), "--recipes is for an ACRO folder"),
        ((HEAD, TABLE), ("--acro-write-back", "back"), "--acro-write-back is for an ACRO folder"),
        ((HEAD, TABLE), ("--json", "wanted.toml"), "it is the input"),
        (
            (HEAD, TABLE),
            ("--only", "media by livin"),
            "Unknown output 'media by livin'. Did you mean 'media by living'?",
        ),
        (
            (HEAD, TABLE),
            ("--rules-only", "--except", "media by living, another"),
            "Unknown output 'another'",
        ),
        ((HEAD, TABLE), ("--except", "media by living"), "--except leaves no output to check"),
        (
            (HEAD, TABLE),
            ("--only", "media by living", "--except", "media by living"),
            "Give --only or --except, not both",
        ),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    run, spec, tmp_path, monkeypatch, parts, options, message
):
    monkeypatch.chdir(tmp_path)
    path = spec(*parts)
    done = run(
        path,
        *ASK,
        *QUICK,
        "--html",
        tmp_path / "p.html",
        "--confidential",
        tmp_path / "i.json",
        *options,
    )
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert list(tmp_path.iterdir()) == [path]


def test_a_recipe_that_a_fold_cannot_give_names_the_cell_unless_few_have_it(run, spec, tmp_path):
    data = tmp_path / "few.csv"
    rows = [
        f"{area},{home},{k % 7}"
        for k in range(40)
        for area in ("north", "south")
        for home in ("owned", "rented")
    ]
    data.write_text("area,home,rooms\n" + "\n".join([*rows, "islet,owned,3"]) + "\n")
    mean = '[[outputs]]\nname = "rooms"\nkind = "mean"\nof = "rooms"\nby = ["area", "home"]\ndecimals = 1\n'
    ask = ("--data", data, "--keys", "area", "--sensitive", "home", *QUICK)
    done = run(spec(HEAD, mean), *ask)
    assert done.code == 1, done.out + done.err
    assert "'rooms' cannot be computed on the" in done.out
    assert "islet" not in done.out + done.err
    # Also where the file itself declares the level: one record has it.
    columns = '[[columns]]\nname = "area"\nlevels = ["north", "south", "islet"]\n[[columns]]\nname = "home"\nlevels = ["owned", "rented"]\n[[columns]]\nname = "rooms"\nfrom = 0\nto = 6\n'
    done = run(spec(HEAD, columns, mean), *ask)
    assert done.code == 1
    assert done.out.startswith("nothing measured; not all outputs assessed\n1 output: 1 fail.")
    assert "cell '…|owned' has no records" in done.out
    assert "- fail: threshold, 'rooms'" in done.out
    typo = run(spec(HEAD, mean, "where = \"area != 'islt'\"\n"), *ask)
    assert typo.code == 2
    assert "Levels that 10 or more records have: north, south." in typo.err
    assert "islet" not in typo.err


def acro_of(folder, *uids):
    """A copy of an ACRO folder with a few of its results, and their files alone."""
    from chaffinch.outputs.readers.acro.read import read_acro

    shutil.copytree(ACRO, folder)
    results = json.loads((folder / "results.json").read_text())
    raw = json.dumps({**results, "results": {uid: results["results"][uid] for uid in uids}})
    (folder / "results.json").write_text(raw)
    (folder / "checksums" / "results.json.txt").write_text(hashlib.sha256(raw.encode()).hexdigest())
    for name in read_acro(folder, lenient=True).unlisted:
        (folder / name).unlink()
    return folder


def test_an_acro_folder_comes_back_with_the_result(run, tmp_path):
    folder, back, told = (
        acro_of(tmp_path / "acro", "counts", "output_33"),
        tmp_path / "back",
        tmp_path / "c.json",
    )
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    from chaffinch.outputs.readers.acro.read import read_acro

    columns = read_acro(folder)["counts"].independent[:2]
    done = run(
        folder,
        "--data",
        CMC,
        "--keys",
        columns[0],
        "--sensitive",
        columns[1],
        *QUICK,
        "--acro-write-back",
        back,
        "--json",
        told,
    )
    left = json.loads(told.read_text())
    assert done.code == (0 if left["passed"] else 1), done.err
    assert left["about"]["acro"] == "1.0.2"
    assert left["rules"]["policy"] == "ACRO"
    assert [one["name"] for one in left["about"]["skipped"]] == ["output_33"]
    assert "- Not assessed: 'output_33': a custom file" in done.out
    assert not left["passed"]  # nothing is said of a result that cannot be read
    made = read_acro(back)
    assert made.uids == ("counts", "output_33", "chaffinch_check")
    assert made["counts"].status == read_acro(folder)["counts"].status
    assert "All outputs together: " in made["counts"].comments[-1]
    assert made["counts"].comments[-1].startswith("Chaffinch: fail.")
    assert made["output_33"].comments[-1].startswith("Chaffinch: not assessed. a custom file")
    assert made["chaffinch_check"].status == "fail"
    assert {file.name for file in made["chaffinch_check"].files} == {
        "chaffinch_check.html",
        "chaffinch_check.json",
    }
    # The folder itself is as it was, and a second copy does not overwrite the first.
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    again = run(folder, *ASK, *QUICK, "--acro-write-back", back)
    assert again.code == 2
    assert "it exists" in again.err


def test_a_result_is_not_vouched_for_by_the_recipe_in_its_place(run, spec, tmp_path):
    from chaffinch.outputs.readers.acro.read import read_acro

    folder, back, told, page = (
        acro_of(tmp_path / "acro", "counts", "output_33"),
        tmp_path / "back",
        tmp_path / "c.json",
        tmp_path / "c.html",
    )
    harmless = '[[outputs]]\nname = "{}"\nkind = "table"\nby = ["{}"]\n'
    first, second = read_acro(folder)["counts"].independent[:2]
    ask = (folder, "--data", CMC, "--keys", first, "--sensitive", second, *QUICK)
    recipes = spec(
        HEAD,
        *(
            harmless.format(uid, column)
            for uid, column in (("counts", first), ("output_33", second))
        ),
    )
    done = run(*ask, "--recipes", recipes, "--acro-write-back", back, "--json", told)
    assert done.code == 2
    assert "Result 'counts' can be read" in done.err
    assert "--replace-readable" in done.err
    assert not back.exists()
    assert not told.exists()
    done = run(
        *ask,
        "--recipes",
        recipes,
        "--replace-readable",
        "--acro-write-back",
        back,
        "--json",
        told,
        "--html",
        page,
    )
    left = json.loads(told.read_text())
    assert done.code == (0 if left["passed"] else 1), done.err
    assert left["about"]["by_recipe"] == [
        {"name": "counts", "readable": True},
        {"name": "output_33", "readable": False},
    ]
    assert (
        "Not checked itself, though it can be read: counts: a recipe was judged in its place."
        in done.out
    )
    assert "Not checked itself: output_33" in done.out
    assert "2 results were judged by a recipe, not by the files" in page.read_text()
    made = read_acro(back)
    for uid, why in (("counts", "though it can be read"), ("output_33", "since it cannot be read")):
        comment = made[uid].comments[-1]
        assert f"Not this result was judged, {why}, but a recipe" in comment
        assert "No rule failed" not in comment
        assert "pass" not in comment
    assert "'counts', 'output_33' recipes were judged" in made["chaffinch_check"].summary
    # A recipe for what cannot be read needs no leave; the other result is judged by itself.
    alone = spec(HEAD, harmless.format("output_33", second))
    done = run(
        *ask,
        "--recipes",
        alone,
        "--acro-write-back",
        tmp_path / "second",
        "--json",
        told,
        "--overwrite",
    )
    assert json.loads(told.read_text())["about"]["by_recipe"] == [
        {"name": "output_33", "readable": False}
    ]
    assert "recipe" not in read_acro(tmp_path / "second")["counts"].comments[-1]
    # What would leave is not what was judged: it is not recorded.
    recipes = spec(HEAD, harmless.format("counts", first))
    done = run(
        *ask,
        "--recipes",
        recipes,
        "--replace-readable",
        "--released",
        tmp_path / "r.json",
        "--record",
    )
    assert done.code == 2
    assert "--record cannot record 'counts'" in done.err
    done = run(*ask, "--replace-readable")
    assert done.code == 2
    assert "--replace-readable needs --recipes" in done.err


def test_the_rules_alone_take_no_keys_and_stand_in_80_columns(run, spec, tmp_path):
    told, page = tmp_path / "c.json", tmp_path / "c.html"
    long = TABLE.replace("media by living", "media by living, " + "and so on, " * 8)
    done = run(
        spec(HEAD, TABLE, long),
        "--data",
        CMC,
        "--rules-only",
        "--except",
        "media by living",
        "--json",
        told,
        "--html",
        page,
    )
    assert done.code == 0, done.out + done.err
    first, second, *table = done.out.splitlines()[:4]
    assert (first, second) == ("rules only", "1 output: 1 pass.")
    assert table[0].split() == ["output", "kind", "rules", "marginal", "risk", "verdict"]
    assert table[1].startswith("media by living, and so on")
    assert max(map(len, table)) == 80
    assert "…  table  pass" in table[1]
    assert "Not asked for, and nothing is said of it: 'media by living'" in done.out
    assert "proposals" not in done.err
    left = json.loads(told.read_text())
    assert list(left)[:6] == ["format", "version", "about", "verdict", "passed", "summary"]
    assert left["summary"][0]["verdict"] == "pass"
    assert (left["all"], left["settings"]["rules_only"], left["about"]["not_asked"]) == (
        None,
        True,
        ["media by living"],
    )
    assert "Keep inside." in page.read_text()
    bare = run(spec(HEAD, TABLE), "--data", CMC)
    assert bare.code == 2
    assert (
        "A check needs keys. Got none. Name them with --keys; or ask for the rules alone"
        in bare.err
    )


def test_edited_numbers_of_an_acro_folder_are_not_vouched_for(run, tmp_path):
    """One person is moved from one cell to another. With the old checksum the file is not read, with a new one its numbers are not the data's."""
    from chaffinch.outputs.readers.acro.read import read_acro

    folder, told, page = (
        acro_of(tmp_path / "acro", "counts", "cut off"),
        tmp_path / "c.json",
        tmp_path / "c.html",
    )
    file = folder / "cut off_0.csv"
    head, first, *rest = file.read_text().splitlines()
    name, one, two = first.split(",")
    file.write_text("\n".join([head, f"{name},{int(one) + 1},{int(two) - 1}", *rest]) + "\n")
    data = tmp_path / "people.csv"
    rows = [line.split(",") for line in CMC.read_text().splitlines()]
    place = rows[0].index("contraceptive_method")
    uses = ["uses", *(str(int(row[place] != "1")) for row in rows[1:])]
    data.write_text(
        "\n".join(",".join([*row, word]) for row, word in zip(rows, uses, strict=True)) + "\n"
    )
    ask = (folder, "--data", data, "--rules-only", "--overwrite", "--json", told, "--html", page)
    done = run(*ask)
    left = json.loads(told.read_text())
    assert (done.code, left["passed"]) == (1, False), done.out + done.err
    assert {row["output"]: row["verdict"] for row in left["summary"]}["cut off"] == "not assessed"
    assert "does not have the checksum" in done.out
    refused = run(*ask, "--acro-write-back", tmp_path / "back")
    assert refused.code == 2
    assert "not as ACRO wrote it" in refused.err
    assert not (tmp_path / "back").exists()
    (folder / "checksums" / f"{file.name}.txt").write_text(
        hashlib.sha256(file.read_bytes()).hexdigest()
    )
    done = run(*ask, "--acro-write-back", tmp_path / "back")
    left = json.loads(told.read_text())
    assert (done.code, left["passed"], left["verdict"]["word"]) == (
        1,
        False,
        "outputs inconsistent",
    ), done.out + done.err
    row = next(row for row in left["summary"] if row["output"] == "cut off")
    assert (row["verdict"], row["why"][0]) == ("fail", "numbers are not the data's")
    assert "numbers are not the data" in page.read_text()
    made = read_acro(tmp_path / "back")
    assert made["cut off"].comments[-1].startswith("Chaffinch: fail. numbers are not the data's.")
    assert "No rule failed" not in made["cut off"].comments[-1]
    assert made["chaffinch_check"].status == "fail"


def test_what_was_not_assessed_is_said_everywhere_and_ends_with_1(run, spec, tmp_path, monkeypatch):
    """The second table is made of unions of cells of the first, which are not looked at here."""
    from chaffinch.outputs.readers.acro.read import read_acro
    from chaffinch.outputs.rules import differencing

    monkeypatch.setattr(differencing, "MAX_STEPS", -1)
    monkeypatch.setattr(
        differencing, "MAX_SMALL_CELLS", 0
    )  # small tables are looked at whole, which takes no limit
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'format = "chaffinch-policy"\nversion = 1\nthreshold = 2\nzeros_are_disclosive = false\n'
    )
    folder, back, told, page, known = (
        acro_of(tmp_path / "acro", "counts", "output_33"),
        *(tmp_path / name for name in ("back", "c.json", "c.html", "r.json")),
    )
    first, second = read_acro(folder)["counts"].independent[:2]
    recipes = spec(HEAD, f'[[outputs]]\nname = "output_33"\nkind = "table"\nby = ["{second}"]\n')
    ask = (
        folder,
        "--data",
        CMC,
        "--keys",
        first,
        "--sensitive",
        second,
        *QUICK,
        "--recipes",
        recipes,
        "--rules",
        policy,
    )
    done = run(
        *ask,
        "--acro-write-back",
        back,
        "--json",
        told,
        "--html",
        page,
        "--released",
        known,
        "--record",
    )
    left = json.loads(told.read_text())
    statuses = {one["status"] for one in left["rules"]["findings"]}
    assert "not assessed" in statuses
    assert "fail" not in statuses
    assert (done.code, left["passed"], left["rules"]["worst"]) == (1, False, "not assessed"), (
        done.out + done.err
    )
    assert left["verdict"]["not_assessed"] == [{"rule": "differencing", "output": "counts"}]
    assert left["verdict"]["text"].endswith("; not all rules assessed")
    assert done.out.splitlines()[0] == left["verdict"]["text"]
    assert "- not assessed: differencing, 'counts' and 'output_33'" in done.out
    assert "1 was not assessed to the end: that is no pass" in done.out
    assert "Not everything was looked at" in page.read_text()
    assert not known.exists()
    made = read_acro(back)
    assert made["chaffinch_check"].status == (
        "review" if left["verdict"]["word"] == "no excess found" else "fail"
    )
    assert "not assessed" in made["chaffinch_check"].summary
    for uid in ("counts", "output_33"):
        assert "not assessed (differencing" in made[uid].comments[-1]
        assert "No rule failed" not in made[uid].comments[-1]
        assert "breaks no rule" not in made[uid].comments[-1]


def test_an_acro_folder_with_a_broken_checksum_or_another_version(run, tmp_path):
    folder = tmp_path / "acro"
    shutil.copytree(ACRO, folder)
    ask = (
        folder,
        *ASK,
        *QUICK,
        "--acro-write-back",
        tmp_path / "back",
        "--json",
        tmp_path / "c.json",
    )
    results = json.loads((folder / "results.json").read_text())
    first = next(file["name"] for one in results["results"].values() for file in one["files"])
    with open(folder / first, "a") as handle:
        handle.write(" ")
    done = run(*ask)
    assert done.code == 2
    assert first in done.err
    shutil.rmtree(folder)
    shutil.copytree(ACRO, folder)
    raw = json.dumps({**results, "version": "7.0.0"})
    (folder / "results.json").write_text(raw)
    (folder / "checksums" / "results.json.txt").write_text(hashlib.sha256(raw.encode()).hexdigest())
    done = run(*ask)
    assert done.code == 2
    assert "7.0.0" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["acro"]


def test_a_stranger_in_an_acro_folder_is_not_assessed(run, tmp_path):
    folder, told = acro_of(tmp_path / "acro", "counts"), tmp_path / "c.json"

    def verdicts(*options):
        told.unlink(missing_ok=True)
        run(folder, "--data", CMC, "--rules-only", "--json", told, *options)
        return {row["output"]: row["verdict"] for row in json.loads(told.read_text())["summary"]}

    alone = verdicts()
    assert set(alone) == {"counts"}
    (folder / "people.csv").write_text("age,ill\n34,yes\n")
    assert verdicts() == {**alone, "people.csv": "not assessed"}
    assert verdicts("--except", "people.csv") == alone


def test_output_files_are_checked_without_records_by_the_rules_alone(run, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("sex,n\nf,40\nm,60\n")
    bad.write_text("sex,n\nf,4\nm,60\n")
    done = run(good, "--rules-only")
    assert done.code == 0
    assert (
        "- Read: 'good.csv' (good.csv, line 1). table: a table of counts of 'sex', 2 cells."
        in done.out
    )
    done = run(
        good, bad, "--rules-only", "--json", tmp_path / "c.json", "--html", tmp_path / "c.html"
    )
    assert done.code == 1
    data = json.loads((tmp_path / "c.json").read_text())
    assert {row["output"]: row["verdict"] for row in data["summary"]} == {
        "bad.csv": "fail",
        "good.csv": "pass",
    }
    assert [one["place"] for one in data["about"]["read"]] == [
        "good.csv, line 1",
        "bad.csv, line 1",
    ]
    done = run(tmp_path / "good.csv", "--only", "good.csv", "--rules-only")
    assert done.code == 0


def test_output_files_that_are_misused_say_what_to_do(run, spec, tmp_path):
    (tmp_path / "t.csv").write_text("sex,n\nf,40\nm,60\n")
    for arguments, words in [
        ((tmp_path / "t.csv",), "--rules-only"),
        ((spec(HEAD, TABLE), "--rules-only"), "--data FILE"),
        ((spec(HEAD, TABLE), tmp_path / "t.csv", "--rules-only"), "Check it by itself"),
        (
            (tmp_path, "--rules-only", "--acro-write-back", tmp_path.parent / "copy"),
            "--acro-write-back is for an ACRO folder",
        ),
    ]:
        done = run(*arguments)
        assert done.code == 2
        assert words in done.err.replace("\n", " ")


SMALL = TABLE.replace("threshold = 10\n", "margins = true\n").replace(
    "standard_of_living", "num_children"
)


def test_mitigations_are_shown_and_written_and_the_exit_code_is_about_what_came(
    run, spec, tmp_path
):
    told, folder = tmp_path / "c.json", tmp_path / "mended"
    done = run(
        spec(HEAD, SMALL, MEAN),
        "--data",
        CMC,
        "--rules-only",
        "--mitigate",
        "--write",
        folder,
        "--json",
        told,
    )
    assert done.code == 1
    assert (
        "Mitigation: 1 output changed. Checked anew as a whole, by the same rules: rules only. 2 outputs: 2 pass."
        in done.out
    )
    assert "What else was tried and breaks no rule, least loss first:" in done.out
    plan = json.loads(told.read_text())["mitigation"]
    assert plan["passed"]
    assert [step["output"] for step in plan["steps"]] == ["media by living"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "01-media-by-living.csv",
        "02-children-by-living.csv",
        "mitigated.json",
    ]
    assert run(folder / "mitigated.json", "--data", CMC, "--rules-only").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--data", CMC, "--rules-only", "--write", "new"),
            "--write is for mitigated outputs: add --mitigate.",
        ),
        (
            ("--data", CMC, "--rules-only", "--mitigate", "--write", "."),
            "it exists. Name a new folder.",
        ),
    ],
)
def test_bad_use_of_mitigations_is_named(run, spec, options, message):
    done = run(spec(HEAD, TABLE), *options)
    assert done.code == 2
    assert message in done.err


def test_mitigations_need_the_records(run):
    done = run(
        ROOT / "examples" / "outputs" / "brought" / "pandas_crosstab.csv",
        "--rules-only",
        "--mitigate",
    )
    assert done.code == 2
    assert "--mitigate needs the records behind the outputs: --data FILE." in done.err


def test_of_many_ways_to_mend_an_output_a_few_are_shown():
    from chaffinch.cli.check import mitigation_lines
    from chaffinch.outputs.check.mitigation import Loss, MitigationOption, MitigationPlan

    options = tuple(
        MitigationOption("t", "band", f"way {k}", "pass", Loss(k / 10, 10, 10 - k))
        for k in range(1, 8)
    )
    lines = mitigation_lines(
        MitigationPlan(
            (), options, {"u": "it could not be read: no file"}, "fail", None, False, None, 7, True
        )
    )
    assert lines[1] == "Mitigation: Nothing could be mended."
    assert [line.split(" (")[0] for line in lines[3:7]] == [f"- 't': way {k}" for k in range(1, 5)]
    assert lines[7:] == [
        "- 't': 3 more, on the page (--html) and in the JSON.",
        "- Not mended: 'u': it could not be read: no file.",
    ]
