"""Writing back: what ACRO's loader takes, what stays as it was, and nothing half-written."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

import chaffinch
from chaffinch.errors import ChaffinchError, FileError, InputError
from chaffinch.outputs.readers.acro import write as writing
from chaffinch.outputs.readers.acro.read import read_acro
from chaffinch.outputs.readers.acro.write import write_back

ROOT = Path(__file__).parents[4]


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("<p>evidence</p>")
    return path


@pytest.fixture
def report_json(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"format": "chaffinch-check", "version": 1, "outputs": []}))
    return path


def state(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


WORDS = {
    "summary": "no excess found (detectable: 0.01)",
    "assessed": {"output_0": "no excess found", "output_2": "see report"},
}


def test_a_copy_has_our_result_and_the_original_stays(
    copy, tmp_path, report, report_json, loader_faults
):
    before = state(copy)
    made = write_back(
        copy,
        tmp_path / "checked",
        report=[report, report_json],
        timestamp="2026-11-16T00:00:00",
        **WORDS,
    )
    assert made == tmp_path / "checked"
    assert state(copy) == before
    assert loader_faults(made) == []
    after = read_acro(made)
    ours = after["chaffinch_check"]
    assert (ours.status, ours.type, ours.summary) == (
        "review",
        "custom",
        "no excess found (detectable: 0.01)",
    )
    assert [file.name for file in ours.files] == ["chaffinch_check.html", "chaffinch_check.json"]
    assert after["output_0"].comments == ("main model", "no excess found")
    assert after["output_2"].comments == ("see report",)
    assert ours.timestamp == "2026-11-16T00:00:00"
    assert leftovers(tmp_path) == []


def test_only_what_is_ours_changes(copy, tmp_path, report):
    made = write_back(copy, tmp_path / "checked", report=report, **WORDS)
    before, after = state(copy), state(made)
    ours = {"chaffinch_check.html", "checksums/chaffinch_check.html.txt"}
    assert set(after) - set(before) == ours
    assert {name for name in before if before[name] != after[name]} == {
        "results.json",
        "checksums/results.json.txt",
    }
    old, new = (json.loads((folder / "results.json").read_text()) for folder in (copy, made))
    new["results"].pop("chaffinch_check")
    for uid in WORDS["assessed"]:
        new["results"][uid]["comments"].pop()
    assert new == old
    assert list(new["results"]) == list(old["results"])


def test_what_is_not_ours_keeps_its_bytes(copy, tmp_path, report):
    made = write_back(copy, tmp_path / "checked", report=report, summary="none", assessed={})
    old, new = ((folder / "results.json").read_text() for folder in (copy, made))
    end = "\n    }\n}"
    assert old.endswith(end)
    assert new.startswith(f'{old.removesuffix(end)},\n        "chaffinch_check": {{')


@pytest.mark.parametrize("failed", [False, True])
def test_no_status_is_changed(copy, tmp_path, report, failed):
    made = read_acro(write_back(copy, tmp_path / "checked", report=report, failed=failed, **WORDS))
    assert {one.uid: one.status for one in made.results} == {
        **{one.uid: one.status for one in read_acro(copy).results},
        "chaffinch_check": "fail" if failed else "review",
    }
    assert made["output_2"].status == "fail"
    assert made["output_2"].exception == "small ETHGROUP cell: category is public"


def test_it_can_be_done_twice(copy, tmp_path, report, loader_faults):
    first = write_back(copy, tmp_path / "first", report=report, **WORDS)
    second = write_back(first, tmp_path / "second", report=report, **WORDS)
    assert read_acro(second).uids[-2:] == ("chaffinch_check", "chaffinch_check_2")
    assert loader_faults(second) == []


def test_a_file_of_our_name_is_not_overwritten(copy, tmp_path, report):
    (copy / "chaffinch_check.html").write_text("mine")
    made = write_back(copy, tmp_path / "checked", report=report, **WORDS)
    assert (made / "chaffinch_check.html").read_text() == "mine"
    assert read_acro(made).uids[-1] == "chaffinch_check_2"


def test_two_reports_of_one_ending_have_different_names(copy, tmp_path, report):
    other = tmp_path / "other.html"
    other.write_text("<p>more</p>")
    made = read_acro(write_back(copy, tmp_path / "checked", report=[report, other], **WORDS))
    assert [file.name for file in made["chaffinch_check"].files] == [
        "chaffinch_check_0.html",
        "chaffinch_check_1.html",
    ]


def test_in_place_only_if_asked(copy, tmp_path, report, loader_faults):
    before = state(copy)
    with pytest.raises(InputError, match="Name a new folder"):
        write_back(copy, None, report=report, **WORDS)
    with pytest.raises(InputError, match="not both"):
        write_back(copy, tmp_path / "checked", report=report, in_place=True, **WORDS)
    assert state(copy) == before
    assert write_back(copy, None, report=report, in_place=True, **WORDS) == copy
    assert loader_faults(copy) == []
    assert read_acro(copy).uids[-1] == "chaffinch_check"
    assert leftovers(tmp_path) == []


def test_a_read_only_directory_can_be_copied(copy, tmp_path, report):
    for path in sorted(copy.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    copy.chmod(0o555)
    made = write_back(copy, tmp_path / "checked", report=report, **WORDS)
    assert os.access(made / "results.json", os.W_OK)
    for path in (copy, copy / "checksums"):
        path.chmod(0o755)


def test_folders_inside_are_copied(copy, tmp_path, report):
    (copy / "more").mkdir()
    (copy / "more" / "notes.txt").write_text("mine")
    made = write_back(copy, tmp_path / "checked", report=report, **WORDS)
    assert (made / "more" / "notes.txt").read_text() == "mine"


def refused(error, words, copy, out, **what):
    """Nothing is written where writing back is refused."""
    before, there = state(copy), sorted(copy.parent.iterdir())
    with pytest.raises(error, match=words):
        write_back(copy, out, **what)
    assert state(copy) == before
    assert sorted(copy.parent.iterdir()) == there


def test_unknown_results_are_refused(copy, tmp_path, report):
    refused(
        InputError,
        "Did you mean 'output_7'",
        copy,
        tmp_path / "new",
        report=report,
        summary="",
        assessed={"output_77": "x"},
    )
    uid = "2ndary_risk_summary_json-DONT_RELEASE"
    refused(
        InputError,
        "Unknown ACRO result",
        copy,
        tmp_path / "new",
        report=report,
        summary="",
        assessed={uid: "x"},
    )


def test_reports_that_cannot_be_taken_are_refused(copy, tmp_path, report):
    def attempt(name, text, words, error=InputError):
        path = tmp_path / name
        path.write_text(text)
        refused(error, words, copy, tmp_path / "new", report=path, **WORDS)

    attempt("a.svg", "<svg/>", "ACRO takes no files that end with .svg")
    attempt("b.SVG", "<svg/>", "ACRO takes no files that end with .SVG")
    attempt("a.json", '{"version": 1, "results": {}}', "both keys version and results")
    attempt("b.json", '{"confidential": true}', "confidential")
    attempt("c.json", "no", "not valid JSON")
    refused(
        FileError, "Cannot read", copy, tmp_path / "new", report=tmp_path / "none.html", **WORDS
    )
    refused(InputError, "must be a report", copy, tmp_path / "new", report=[], **WORDS)
    refused(
        InputError,
        "at most 4000 characters",
        copy,
        tmp_path / "new",
        report=report,
        summary="x" * 5000,
        assessed={},
    )


def test_places_that_cannot_be_written_are_refused(copy, tmp_path, report):
    (tmp_path / "there").mkdir()
    refused(InputError, "it exists", copy, tmp_path / "there", report=report, **WORDS)
    refused(InputError, "it exists", copy, copy, report=report, **WORDS)
    refused(InputError, "in the directory itself", copy, copy / "checked", report=report, **WORDS)
    refused(
        FileError, "there is no folder", copy, tmp_path / "none" / "checked", report=report, **WORDS
    )


def test_a_broken_directory_is_not_written(copy, tmp_path, report):
    (copy / "output_3_0.csv").write_text("a,b\n1,2\n")
    refused(
        InputError, "does not have the checksum", copy, tmp_path / "new", report=report, **WORDS
    )


def test_links_in_the_directory_are_refused(copy, tmp_path, report):
    os.symlink(report, copy / "linked.html")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="no link"):
        write_back(copy, tmp_path / "new", report=report, **WORDS)
    assert sorted(tmp_path.iterdir()) == before


STEPS = [(step, place) for step in ("copyfile", "rename", "read_acro") for place in (False, True)]


@pytest.mark.parametrize(("step", "in_place"), [*STEPS, ("second rename", True)])
def test_a_fault_midway_leaves_nothing(copy, tmp_path, report, monkeypatch, in_place, step):
    before, there = state(copy), sorted(tmp_path.iterdir())
    done = []

    def broken(*args, **kwargs):
        done.append(args)
        raise OSError(28, "No space left on device")

    rename, calls = os.rename, []

    def second(source, target):
        calls.append(source)
        if len(calls) == 2:
            broken()
        rename(source, target)

    if step == "copyfile":
        monkeypatch.setattr(shutil, "copyfile", broken)
    elif step == "rename":
        monkeypatch.setattr(os, "rename", broken)
    elif step == "second rename":
        monkeypatch.setattr(os, "rename", second)
    else:
        readings = iter([read_acro, broken])
        monkeypatch.setattr(writing, "read_acro", lambda folder: next(readings)(folder))
    with pytest.raises(ChaffinchError, match="No space left"):
        write_back(
            copy, None if in_place else tmp_path / "new", report=report, in_place=in_place, **WORDS
        )
    assert done
    assert state(copy) == before
    assert sorted(tmp_path.iterdir()) == there


def test_acros_own_loader_takes_it(copy, tmp_path, report, report_json):
    record = pytest.importorskip(
        "acro.record", reason="ACRO is installed in an environment of its own"
    )
    made = write_back(
        copy, tmp_path / "checked", report=[report, report_json], failed=True, **WORDS
    )
    records = record.load_records(str(made))
    assert records.get("chaffinch_check").status == "fail"
    assert records.get("output_0").comments == ["main model", "no excess found"]
    assert Path(made / "chaffinch_check.html").exists()


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, frame, loader_faults):
    page = (ROOT / "docs" / "acro.md").read_text("utf-8")
    reading, writing = re.findall(r"^```py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "tests" / "data" / "acro" / "cmc", "acro_outputs")
    names = {"table": chaffinch.read(frame)}
    exec(reading, names)
    assert len(names["found"].entries) == 40
    shutil.rmtree("acro_outputs")
    shutil.copytree(ROOT / "tests" / "data" / "acro" / "census", "acro_outputs")
    Path("check.html").write_text("<p></p>")
    Path("check.json").write_text("{}")
    exec(writing, {})
    assert loader_faults("acro_outputs_checked") == []
