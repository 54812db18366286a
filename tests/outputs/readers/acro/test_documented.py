"""The page about ACRO directories: what it shows runs."""

import re
import shutil
from pathlib import Path

import chaffinch

ROOT = Path(__file__).parents[4]


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, frame, loader_faults):
    page = (ROOT / "docs" / "acro.md").read_text("utf-8")
    reading, writing = re.findall(r"^```py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "tests" / "data" / "acro" / "cmc", "acro_outputs")
    names = {"table": chaffinch.read(frame)}
    exec(reading, names)
    assert len(names["found"].entries) == 39
    shutil.rmtree("acro_outputs")
    shutil.copytree(ROOT / "tests" / "data" / "acro" / "census", "acro_outputs")
    Path("check.html").write_text("<p></p>")
    Path("check.json").write_text("{}")
    exec(writing, {})
    assert loader_faults("acro_outputs_checked") == []
