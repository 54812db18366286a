"""The result is the report's own words; a link that is forbidden or required is kept for the next run."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch.errors import InputError
from chaffinch.web.project import write_json
from chaffinch.web.screens.result import body_of, checked_fragment, crossed, links_of

from ..conftest import Visitor


def test_links_are_told_by_strength() -> None:
    network = {"edges": [["a", "b"], ["c", "b"], ["b", "d"]], "strengths": [0.1, 0.3, None]}
    links = links_of("b", network)
    assert (links.parents, links.children) == ((("c", 0.3), ("a", 0.1)), (("d", None),))
    assert links_of("a", {"edges": [["a", "b"]]}).children == (("b", None),)


def test_the_body_of_a_report_is_taken_whole(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text(
        '<html><body><header><p class="inside"><strong>Keep inside.</strong> x</p><h1>T</h1></header><main id="main"><p>x</p></main><footer>f</footer></body></html>'
    )
    assert (
        body_of(tmp_path / "r.html")
        == '<header><h2 class="title">T</h2></header><div class="report"><p>x</p></div>'
    )
    (tmp_path / "r.html").write_text("nothing")
    with pytest.raises(InputError):
        body_of(tmp_path / "r.html")
    with pytest.raises(InputError):
        body_of(tmp_path / "none.html")


@pytest.fixture
def reported(opened: Visitor) -> Visitor:
    """Return a visitor with a run whose report is as small as one can be."""
    (folder := opened.project.path("runs", "0001")).mkdir()
    (out := folder / "out" / "confidential").mkdir(parents=True)
    columns = [{"name": name} for name in ("age", "sex", "ill", "area")]
    write_json(
        out / "report.json",
        {
            "about": {"columns": columns},
            "synthesis": {"network": {"edges": [["age", "sex"]], "strengths": [0.2]}},
        },
    )
    (out / "report.html").write_text(
        '<header><h1>T</h1></header><main id="main"><p>words of the report</p></main>'
    )
    (folder / "out" / "to-release").mkdir()
    (folder / "out" / "to-release" / "synthetic.csv").write_text("age,sex\n" + "30,f\n40,m\n" * 30)
    write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", str(folder / "out")]})
    write_json(folder / "ended.json", {"code": 0, "said": "", "time": 1.0})
    return opened


def test_a_result_shows_the_report_and_the_links_of_a_column(reported: Visitor) -> None:
    assert "words of the report" in reported.get("/result")
    text = reported.get("/result/1?column=sex")
    assert "sex: drawn from" in text
    assert "0.200" in text
    assert "sex by age, in the synthetic table (60 rows, rounded)" in text
    assert "Unknown column" in reported.get("/result/1?column=none")


def test_the_report_is_served_as_it_is_and_runs_no_script(reported: Visitor) -> None:
    status, headers, text = reported.ask("GET", "/result/1/report")
    assert status == 200
    assert text.startswith("<header>")
    assert "script-src" not in headers["content-security-policy"]
    assert headers["content-security-policy"].startswith("default-src 'none'")


def test_links_are_forbidden_required_and_left_again(reported: Visitor) -> None:
    reported.post("/result/1/edge", parent="age", child="sex", what="forbid")
    assert reported.project.choices().forbid == ("age:sex",)
    assert "--forbid age:sex" in reported.get("/runs")
    reported.post("/result/1/edge", parent="age", child="sex", what="require")
    assert (reported.project.choices().forbid, reported.project.choices().require) == (
        (),
        ("age:sex",),
    )
    reported.post("/result/1/edge", parent="age", child="sex", what="clear")
    assert reported.project.choices().require == ()
    assert "Unknown column" in reported.post(
        "/result/1/edge", parent="age", child="none", what="forbid"
    )
    assert "leads from one column to another" in reported.post(
        "/result/1/edge", parent="age", child="age", what="forbid"
    )


GOOD = (
    '<p class="note">a &lt; b &amp; c</p>',
    '<details open><summary>s</summary><table><tbody><tr><td data-head="x &quot;y&quot;">1</td></tr></tbody></table></details>',
    '<svg viewBox="0 0 1 1" role="img" aria-labelledby="t"><title id="t">x</title><rect x="1" y="2" fill="none"/><path d="M0 0H1" marker-end="url(#tip)"></path></svg>',
    '<a href="#top">up</a><br>',
)
BAD = (
    "<script>alert(1)</script>",
    '<div hx-get="/runs"></div>',
    '<div data-hx-post="/decide/1" hx-include="[name=form_key]"></div>',
    '<form action="/runs"></form>',
    '<meta http-equiv="refresh" content="0;url=http://x.example">',
    '<a href="http://x.example">x</a>',
    '<a href="javascript:alert(1)">x</a>',
    '<p onclick="x()">x</p>',
    '<p style="position:fixed">x</p>',
    '<img src="x">',
    "<iframe></iframe>",
    "<p class='a'>x</p>",
    "</div></main><p>x</p>",
    "<div>",
    "<b><p></b></p>",
    "a < b",
    "a > b",
    '<p class="a" <b>',
    "<!-- x -->",
    "<!doctype html>",
    '<path fill="url(http://x.example/a)"/>',
    "<INPUT>",
    "<button>x</button>",
    "<textarea>",
    '<base href="#">',
    "<svg><style>*{}</style></svg>",
)


@pytest.mark.parametrize("html", GOOD)
def test_what_a_report_is_made_of_is_taken_as_it_is(html: str) -> None:
    assert checked_fragment(html) == html


@pytest.mark.parametrize("html", BAD)
def test_everything_else_is_refused(html: str) -> None:
    with pytest.raises(InputError, match="not as Chaffinch writes one"):
        checked_fragment(html)
    with pytest.raises(InputError):
        checked_fragment(f"{GOOD[0]}{html}{GOOD[2]}")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_counts_are_those_of_the_table(tmp_path: Path, ending: str) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.table(
        {
            "a": ["x"] * 52 + ["y"] * 48,
            "b": ["p"] * 34 + ["q"] * 18 + ["p"] * 4 + ["q"] * 44,
            "c": range(100),
        }
    )
    path = tmp_path / f"synthetic.{ending}"
    (csv.write_csv if ending == "csv" else parquet.write_table)(table, path)
    found = crossed(path, "b", "a")
    assert (found.column, found.by, found.head, found.counted) == ("b", "a", ("p", "q"), 100)
    assert found.rows == (("x", "30", "20"), ("y", "<10", "40"))
