"""The result is the report's own words; a link that is forbidden or required is kept for the next run."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from chaffinch.report.result import report_of
from chaffinch.synth.account import ModelAccount
from chaffinch.utility.shapes import ColumnShape, PairShape, TableShapes
from chaffinch.web.project import write_json
from chaffinch.web.screens.result import cross_columns, links_of

from ...report.conftest import make_study
from ..conftest import Visitor

COLUMNS = ("age", "sex", "ill", "area")


def test_links_are_told_by_strength() -> None:
    edges = (("a", "b"), ("c", "b"), ("b", "d"))
    links = links_of("b", ModelAccount(edges=edges, strengths=(0.1, 0.3, None)))
    assert (links.parents, links.children) == ((("c", 0.3), ("a", 0.1)), (("d", None),))
    assert links_of("a", ModelAccount(edges=edges[:1])).children == (("b", None),)


def plain_report(title: str = "words of the report", columns: Any = COLUMNS) -> dict[str, Any]:
    """Return the JSON of a report on made-up figures, with a network of one link, from the first column to the second."""
    network = {
        "nodes": list(columns),
        "order": list(columns),
        "edges": [list(columns[:2])],
        "strengths": [0.2],
        "label": columns[2],
    }
    synthesis = {"network": network, "notes": [{"column": columns[0], "what": title, "why": title}]}
    return report_of(make_study(columns), title=title, synthesis=synthesis).to_dict()


def write_run(visitor: Visitor, number: int, report: dict[str, Any]) -> Path:
    """Write the folder of a run that ended, and return that of its report."""
    (folder := visitor.project.path("runs", f"{number:04d}")).mkdir()
    (out := folder / "out" / "confidential").mkdir(parents=True)
    write_json(out / "report.json", report)
    (out / "report.html").write_text("<header><h1>the page itself</h1></header>")
    (folder / "out" / "to-release").mkdir()
    (folder / "out" / "to-release" / "synthetic.csv").write_text("age,sex\n" + "30,f\n40,m\n" * 30)
    write_json(folder / "job.json", {"words": ["release", "a.csv", "-o", str(folder / "out")]})
    write_json(folder / "ended.json", {"code": 0, "said": "", "time": 1.0})
    return out


@pytest.fixture
def reported(opened: Visitor) -> Visitor:
    """Return a visitor with a run that has a report."""
    write_run(opened, 1, plain_report())
    return opened


def test_a_result_shows_the_report_and_the_links_of_a_column(reported: Visitor) -> None:
    screen = reported.get("/result")
    assert '<h2 class="title">words of the report</h2>' in screen
    assert "the page itself" not in screen
    assert "sex by age" not in screen
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


def test_columns_in_the_picture_of_the_network_lead_to_their_links(reported: Visitor) -> None:
    screen = reported.get("/result/1")
    picture = screen[screen.index('id="fig-network"') :].partition("</figure>")[0]
    assert 'role="group"' in picture
    for name in COLUMNS:
        address = f'href="/result/1?column={name}#links" aria-label="Links of {name}"'
        assert picture.count(address) == 1


def test_shapes_of_columns_are_shown_where_a_run_wrote_them(reported: Visitor) -> None:
    assert 'id="fig-shapes"' not in reported.get("/result/1")
    shape = ColumnShape("age", "bars", ("young", "old"), (0.5, 0.5), (0.4, 0.6))
    write_json(
        reported.project.path("runs", "0001", "out", "confidential", "shapes.json"),
        TableShapes((shape,), (), 4).to_dict(),
    )
    assert 'id="fig-shapes"' in reported.get("/result/1")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("report.json", {}, "must be of format &#39;chaffinch-report&#39;"),
        ("report.json", {"format": "chaffinch-report", "version": 1}, "reads version 3"),
        (
            "report.json",
            {"format": "chaffinch-report", "version": 3, "about": {"columns": 1}},
            "at &#39;columns&#39;",
        ),
        (
            "shapes.json",
            {"format": "chaffinch-shapes", "version": 1, "columns": [{}]},
            "at &#39;columns.0.name&#39;",
        ),
        ("shapes.json", {"format": "chaffinch-shapes", "version": 2}, "reads version 1"),
    ],
)
def test_files_that_are_not_as_a_run_writes_them_are_refused_in_words(
    reported: Visitor, name: str, data: dict[str, Any], says: str
) -> None:
    reported.get("/result/1")  # and what was read before is not shown instead
    write_json(reported.project.path("runs", "0001", "out", "confidential", name), data)
    assert says in reported.get("/result/1")


ELEMENTS = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "blockquote",
        "br",
        "button",
        "caption",
        "circle",
        "code",
        "col",
        "colgroup",
        "dd",
        "defs",
        "desc",
        "details",
        "div",
        "dl",
        "dt",
        "ellipse",
        "em",
        "figcaption",
        "figure",
        "footer",
        "form",
        "g",
        "h1",
        "h2",
        "h3",
        "h4",
        "header",
        "hr",
        "input",
        "li",
        "line",
        "main",
        "marker",
        "nav",
        "ol",
        "p",
        "path",
        "pattern",
        "polygon",
        "polyline",
        "pre",
        "rect",
        "section",
        "small",
        "span",
        "strong",
        "sub",
        "summary",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "tspan",
        "u",
        "ul",
        "use",
    ]
)
"""What a screen with a report is made of: words, tables, shapes, and the forms of the screen itself."""


class Elements(HTMLParser):
    """The elements between the ends of the main part of a screen."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = self.inside or tag == "main"
        if self.inside:
            self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "main"

    def handle_decl(self, decl: str) -> None:
        assert not self.inside

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")


HOSTILE = (
    "<script>alert(1)</script>",
    '<div hx-get="/runs"></div>',
    '"><div data-hx-post="/decide/1" hx-include="[name=form_key]">',
    '<form action="/runs"><button>x</button></form>',
    '<meta http-equiv="refresh" content="0;url=http://x.example">',
    '<a href="javascript:alert(1)">x</a>',
    "' onclick='x()' style='position:fixed",
    '" onload="x()" xlink:href="http://x.example/a',
    '<img src="x"><iframe></iframe>',
    "</title></svg></div></main><textarea>",
    "<!-- x --><!doctype html>",
    "url(http://x.example/a)",
    "]]><svg><style>*{}</style></svg>",
    "{{ 7 * 7 }}{% include 'x' %}",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_stranger_wrote_into_a_run_is_text_on_the_screen(opened: Visitor, text: str) -> None:
    columns = (text, f"b {text}", f"c {text}", f"d {text}")
    inside = write_run(opened, 1, plain_report(text, columns))
    (inside / "report.html").write_text(f"<header>{text}</header><main>{text}</main>")
    shape = ColumnShape(text, "bars", (text, "old"), (0.5, None), (0.4, 0.6))
    pair = PairShape(columns[:2], ((text,), (text,)), (1.0,), (1.0,), 0.5)
    write_json(inside / "shapes.json", TableShapes((shape,), (pair,), 4).to_dict())
    (inside.parent / "to-release" / "synthetic.csv").write_text("age,sex\n" + "30,f\n" * 30)
    screen = opened.get("/result/1")
    assert 'id="fig-shapes"' in screen
    found = Elements(screen)
    assert len(found.tags) > 200
    for tag, attributes in found.tags:
        assert tag in ELEMENTS, tag
        for name, value in attributes.items():
            assert not name.startswith(("on", "hx-", "data-hx", "xlink")), (tag, name)
            assert name not in ("src", "style", "http-equiv"), (tag, name)
            assert name != "href" or str(value).startswith(("#", "/")), value
            assert name not in ("fill", "stroke", "marker-end") or "http" not in str(value)
    assert "49" not in [tag for tag, _ in found.tags]


@pytest.mark.parametrize("column", ["title", "seed", "about", "utility", "verdict", "synthesis"])
@pytest.mark.parametrize("value", [0, "x", ["x"], {"x": [1]}, None])
def test_a_run_with_another_value_somewhere_is_shown_or_refused_in_words(
    opened: Visitor, column: str, value: Any
) -> None:
    write_run(opened, 1, json.loads(json.dumps({**plain_report(), column: value})))
    assert "Internal fault" not in opened.get("/result/1")


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
    found = cross_columns(path, "b", "a")
    assert (found.column, found.by, found.head, found.counted) == ("b", "a", ("p", "q"), 100)
    assert found.rows == (("x", "30", "20"), ("y", "<10", "40"))
