"""Reading a directory: what it says, and every way in which it may be broken."""

import json
import os

import pytest

from chaffinch.errors import ChaffinchError, InputError
from chaffinch.outputs.readers.acro import read as reading
from chaffinch.outputs.readers.acro.read import read_acro


def test_a_directory_says_what_acro_wrote(census):
    assert census.version == "1.0.2"
    assert census.uids == tuple(f"output_{k}" for k in range(8))
    assert census.threshold == 10
    assert census.zeros_withheld
    assert census.round_base == 5
    assert census.blocked_extensions == (".svg", ".gph")
    first = census["output_0"]
    assert (first.status, first.type, first.method) == ("pass", "regression", "logitr")
    assert first.comments == ("main model",)
    assert first.statbarn == "CorrelationCoefficients"
    assert first.dependent == "TENURE"
    assert first.timestamp.startswith("2026-11-15")
    assert [file.name for file in first.files] == ["output_0_0.csv", "output_0_1.csv"]
    assert census["output_2"].status == "fail"
    assert census["output_2"].exception == "small ETHGROUP cell: category is public"
    assert census["output_2"].dependent is None


def test_what_is_for_the_checker_alone_is_skipped(census):
    assert census.withheld == (
        "2ndary_risk_summary_json-DONT_RELEASE",
        "2ndary_risk_summary_csv-DONT_RELEASE",
    )
    assert not any("DONT_RELEASE" in uid for uid in census.uids)


def test_files_that_belong_to_no_result_are_named(copy):
    assert read_acro(copy).unlisted == ()
    (copy / "people.csv").write_text("age,ill\n34,yes\n")
    (copy / ".notes").write_text("x")
    (copy / "more").mkdir()
    assert read_acro(copy).unlisted == (".notes", "more", "people.csv")


def test_the_text_of_a_result_holds_no_command_or_number(census):
    assert "logitr(" not in repr(census)
    assert "0.0224" not in repr(census)


@pytest.mark.parametrize(
    "name", ["output_0_1.csv", "histogram_0.png", "results.json", "session_summary.json"]
)
def test_a_changed_file_is_found(copy, name):
    with open(copy / name, "ab") as handle:
        handle.write(b" ")
    with pytest.raises(InputError, match=f"{name}.*does not have the checksum"):
        read_acro(copy)


@pytest.mark.parametrize("name", ["output_0_1.csv", "results.json"])
def test_a_missing_checksum_is_found(copy, name):
    (copy / "checksums" / f"{name}.txt").unlink()
    with pytest.raises(InputError, match=f"{name}' has no checksum"):
        read_acro(copy)


def test_a_checksum_that_is_none_is_found(copy):
    (copy / "checksums" / "output_2_0.csv.txt").write_text("yes")
    with pytest.raises(InputError, match=r"output_2_0\.csv"):
        read_acro(copy)


def test_config_needs_no_checksum_but_one_that_is_there_must_fit(copy):
    assert not (copy / "checksums" / "config.json.txt").exists()
    (copy / "checksums" / "config.json.txt").write_text("0" * 64)
    with pytest.raises(InputError, match=r"config\.json"):
        read_acro(copy)


def test_a_missing_file_is_found(copy):
    (copy / "output_3_0.csv").unlink()
    with pytest.raises(InputError, match=r"output_3_0\.csv' is missing"):
        read_acro(copy)


@pytest.mark.parametrize("version", ["1.0.0", "1.0.3", "1.0.12", "1.0"])
def test_a_patch_of_the_version_is_no_matter(copy, version, rewritten):
    assert read_acro(rewritten(copy, lambda data: data.update(version=version))).version == version


@pytest.mark.parametrize(
    ("version", "words"),
    [
        *(
            (version, r"this release reads 1\.0")
            for version in ("0.4.8", "2.0.0", "1.1.0", "10.0.1", "1.01", "", "one")
        ),
        ("0.4.8", "do not name their variables"),
        *((version, "which version") for version in (None, 1, ["1.0.2"])),
    ],
)
def test_another_version_is_refused(copy, version, words, rewritten):
    with pytest.raises(InputError, match=words):
        read_acro(rewritten(copy, lambda data: data.update(version=version)))


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "/etc/passwd", "a/b.csv", "..", ".", "", "a\\b.csv", "a\0.csv", None, 7],
)
def test_no_path_leaves_the_folder(copy, name, rewritten):
    (copy.parent / "secret.csv").write_text("a,b\n1,2\n")

    def change(data):
        data["results"]["output_2"]["files"][0]["name"] = name

    with pytest.raises(InputError, match="names may have no path"):
        read_acro(rewritten(copy, change))


@pytest.mark.parametrize(
    ("name", "words"), [("output_2_0.csv", "no link"), ("checksums", "no checksum")]
)
def test_links_are_refused(copy, name, words):
    (copy / name).rename(copy.parent / "elsewhere")
    os.symlink(copy.parent / "elsewhere", copy / name)
    with pytest.raises(InputError, match=words):
        read_acro(copy)


def test_large_files_are_refused(copy, monkeypatch):
    monkeypatch.setattr(reading, "MOST_TABLE_BYTES", 100)
    with pytest.raises(InputError, match=r"output_0_0.csv' is over 0 MiB"):
        read_acro(copy)
    monkeypatch.undo()
    monkeypatch.setattr(reading, "MOST_JSON_BYTES", 100)
    with pytest.raises(InputError, match=r"results.json' is over"):
        read_acro(copy)
    monkeypatch.undo()
    monkeypatch.setattr(reading, "MOST_FILE_BYTES", 100)
    with pytest.raises(InputError, match=r"histogram_0.png' is over"):
        read_acro(copy)
    monkeypatch.undo()
    monkeypatch.setattr(reading, "MOST_RESULTS", 3)
    with pytest.raises(InputError, match="has 10 results, over 3"):
        read_acro(copy)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "not valid JSON"),
        ("[1]", "must hold an object"),
        ("{}", "which version"),
        ('{"version": "1.0.2"}', "results by name"),
        ('{"version": "1.0.2", "version": "1.0.3", "results": {}}', "stands in it twice"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_json_that_is_none_of_acros_is_refused(copy, text, words, sealed):
    (copy / "results.json").write_text(text)
    sealed(copy)
    with pytest.raises(InputError, match=words):
        read_acro(copy)


def test_json_that_is_no_text_is_refused(copy, sealed):
    (copy / "results.json").write_bytes(b"\xff\xfe\x00")
    sealed(copy)
    with pytest.raises(InputError, match="not UTF-8"):
        read_acro(copy)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("status", "passed", "Unknown status 'passed'. Did you mean 'pass'?"),
        ("uid", "output_9", "its own name"),
        ("files", "a.csv", "list of files"),
        ("files", ["a.csv"], "list of files"),
        ("comments", "words", "list of comments"),
        ("command", ["words"], "its command must be words"),
    ],
)
def test_results_must_be_as_acro_writes_them(copy, key, value, words, rewritten):
    with pytest.raises(InputError, match=words):
        read_acro(rewritten(copy, lambda data: data["results"]["output_2"].update({key: value})))


def test_a_result_without_files_or_status_is_refused(copy, rewritten):
    with pytest.raises(InputError, match="lacks status"):
        read_acro(rewritten(copy, lambda data: data["results"]["output_2"].pop("status")))


@pytest.mark.parametrize("threshold", [0, -1, "10", True, 2.5])
def test_the_threshold_must_be_a_count(copy, threshold):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "safe_threshold": threshold}))
    with pytest.raises(InputError, match="safe_threshold must be a whole number"):
        read_acro(copy)


def test_a_folder_that_is_none_of_acros(tmp_path):
    with pytest.raises(ChaffinchError, match="No such folder"):
        read_acro(tmp_path / "none")
    with pytest.raises(InputError, match=r"has no results\.json"):
        read_acro(tmp_path)
    (tmp_path / "results.xlsx").write_text("")
    with pytest.raises(InputError, match='finalise the session as "json"'):
        read_acro(tmp_path)
    (tmp_path / "results.xlsx").unlink()
    (tmp_path / "evidence.json").write_text("{}")
    with pytest.raises(InputError, match="federated"):
        read_acro(tmp_path)


def test_a_table_that_is_none(copy, sealed):
    (copy / "output_2_0.csv").write_bytes(b"\xff\xff")
    sealed(copy, "output_2_0.csv")
    with pytest.raises(InputError, match=r"output_2_0\.csv' is not a table"):
        read_acro(copy)


def test_reading_changes_nothing(copy):
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    read_acro(copy)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_an_unknown_result_is_named(census):
    with pytest.raises(InputError, match="Did you mean 'output_7'"):
        census["output_77"]
