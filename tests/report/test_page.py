"""The page: balanced, escaped, self-contained, small, and nothing that the data hold or lack breaks it."""

from __future__ import annotations

import copy
import json
import re
from html import unescape

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.report.charts import Matrices
from chaffinch.report.page import PageContent
from chaffinch.report.release import release_page, render
from chaffinch.report.result import ReportResult, report_of
from chaffinch.report.sections import (
    Cell,
    Col,
    Details,
    Figure,
    Grid,
    Heading,
    Listing,
    Num,
    Paragraph,
    Section,
    page_table,
)
from chaffinch.utility.phi_k import PhiK

from .conftest import HOSTILE, Page, whole_figures, whole_page


def rendered(study, **options) -> Page:
    return whole_page(
        render(report_of(study, title=options.pop("title", "Synthetic Adult")), **options)
    )


def test_the_parser_sees_faults():
    assert Page("<p><b>x</p></b>").faults
    assert Page("<div>").faults
    assert Page('<p id="a" id="b"></p>').faults
    assert not Page("<p>x<br></p>").faults


# What is on it.


def test_the_sections_stand_in_their_order(study_of):
    found = rendered(study_of(15))
    order = [attrs["id"] for tag, attrs in found.tags if tag == "section" and "id" in attrs]
    assert order == [
        "verdict",
        "where",
        "columns",
        "relations",
        "learning",
        "delta",
        "regression",
        "sweep",
        "words",
        "limits",
        "data",
        "measures",
        "facts",
    ]
    said = found.said()
    for words in (
        "adult_train.parquet, about 32,560 rows, 15 columns",
        "adult_test.parquet",
        "chaffinch 0.1.0",
        "2025-11-15",
        "Relations of pairs (phi_k)",
        "0.014",
        "0.0126 to 0.0154",
        "0.121",
        "says nothing of what the synthetic table gives away",
        "Baak",
        "Snoke",
        "Karr",
        "Lin 1991",
        "Galloni",
        "Hittmeir",
        "jackknife over 50 groups",
        "3 rare levels were pooled",
        "<10",
    ):
        assert words in said, words


def test_every_figure_has_a_title_a_description_and_its_numbers(study_of, risk_of):
    assert whole_figures(render(report_of(study_of(15), title="t"))) == 8
    attacked = render(report_of(title="t", risk=risk_of(sizes=(4, 5))))
    assert whole_figures(attacked) == 2 + 2 + 2 + 1  # ladders, maps, funnels, records


def test_what_scrolls_can_be_reached_by_keyboard(study_of):
    found = rendered(study_of(15))
    for tag, attrs in found.tags:
        if tag in ("div", "pre") and set((attrs.get("class") or "").split()) & {
            "scroll",
            "picture",
        }:
            assert attrs["tabindex"] == "0"
            assert tag == "pre" or attrs["aria-label"]


def test_worst_columns_and_pairs_are_named(study_of):
    study = study_of(15)
    study["jensen_shannon"]["per_column"] = {"good": 0.001, "middling": 0.02, "bad": 0.4}
    study["phi_k"]["worst"] = [
        {"columns": ["sex", "age"], "original": 0.5, "synthetic": 0.1, "difference": -0.4}
    ]
    said = rendered(study).said()
    assert "nearest to the original: good, middling, bad. Farthest: bad, middling, good." in said
    assert "sex × age 0.500 0.100 −0.400" in said


def test_wide_tables_show_forty_columns_and_say_so(study_of):
    study = study_of(120)
    found = rendered(study)
    assert "the 40 of 120 columns with the largest differences" in found.said()
    assert "the 40 farthest of 120" in found.said()
    assert "the 40 that differ most of 60" in found.said()


@pytest.mark.parametrize("name", ["<&>\"'" * 60, "名" * 300])
def test_a_page_of_500_columns_stays_small(study_of, name):
    study = study_of([f"{name}_{i}" for i in range(500)])
    study["about"]["notes"] = [f"Column '{name}_{i}': pooled." for i in range(500)]
    study["phi_k"]["settings"]["columns"] = study["phi_k"]["columns"]
    study["delta"]["skipped"] = [{"label": f"{name}_{i}", "why": name} for i in range(500)]
    study["regression"]["rows"] = study["regression"]["rows"] * 500
    levels = [str(i) for i in range(200)]
    study["learning"]["confusion"].append(
        {"model": "rf", "trained_on": "original", "levels": levels, "counts": [[10] * 200] * 200}
    )
    columns = [column["name"] for column in study["about"]["columns"]]
    star = [(columns[0], column) for column in columns[1:60]]
    account = {"network": {"nodes": columns, "order": columns, "edges": star}}
    html = render(report_of(study, title=name, synthesis=account))
    assert "The picture of this network is too large for a page." in html
    assert len(html.encode()) < 2_000_000
    whole_page(html)


# What is missing.


def test_any_key_may_be_missing_or_without_a_value(study_of, no_value):
    whole = study_of(3)
    for key in whole:
        if key in ("format", "version"):
            continue
        less = {k: v for k, v in whole.items() if k != key}
        rendered(less)
        if key not in ("about", "run", "sweep"):
            said = rendered({**whole, key: no_value("reasons & such")}).said()
            assert "Not applicable: reasons & such." in said, key


def nodes(data, path=()):
    """Yield the path to everything in plain data."""
    for key, value in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    ):
        yield (*path, key)
        yield from nodes(value, (*path, key))


def without(data, path, *, null: bool):
    """Return plain data without what stands at a path, or with null in its place; as they are where the path leads nowhere."""
    out = copy.deepcopy(data)
    at = out
    for key in path[:-1]:
        at = at.get(key) if isinstance(at, dict) else at[key] if at else None
    if null and at is not None:
        at[path[-1]] = None
    elif at is not None:
        at.pop(path[-1], None)
    return out


def test_what_is_missing_deep_inside_makes_a_page_or_is_refused_by_its_place(study_of):
    study = study_of(3)
    study["learning"]["rows"] = study["learning"]["rows"][:4]
    study["learning"]["confusion"] = study["learning"]["confusion"][:1]
    study["sweep"]["rows"] = study["sweep"]["rows"][:2]
    study["run"]["command"] = ["chaffinch", "utility", "a b.csv"]
    kinds = {kind(path): path for path in nodes(study) if path[0] not in ("format", "version")}
    paths = [path for path in kinds.values() if isinstance(path[-1], str)]
    assert len(paths) > 100
    refusals: list[str] = []
    for start in range(
        20
    ):  # a few at a time: every kind of thing is missing in one page and null in another
        for null in (True, False):
            less = study
            for path in paths[start::20]:
                less = without(less, path, null=null)
            try:
                rendered(less)
            except chaffinch.errors.InputError as error:  # named by its place
                refusals.append(str(error))
    assert len(refusals) < 40
    assert all(re.search(r"not as they should be( at '[\w.]+')?: ", words) for words in refusals)


def kind(path):
    """Return a path without what makes it one of many alike: places in lists, names of columns, which measure it is of."""
    common = (
        "value",
        "interval",
        "direction",
        "identical",
        "references",
        "settings",
        "worst",
        "columns",
        "original",
        "synthetic",
    )
    plain = tuple(
        0 if isinstance(key, int) or key in ("workclass", "fnlwgt") else key for key in path
    )
    return (
        ("*", *plain[1:])
        if len(plain) > 1 and plain[1] in common and plain[0] != "about"
        else plain
    )


def test_one_column_and_none_make_a_page(study_of):
    rendered(study_of(1))
    assert Matrices(PhiK.from_dict({"columns": []})).pairs() == []


def test_an_empty_study_makes_a_page():
    found = rendered({"format": "chaffinch-utility", "version": 1})
    assert "verdict" not in found.ids
    assert "limits" in found.ids


# What strangers write.


def test_hostile_names_are_text(study_of):
    study = study_of(HOSTILE)
    study["about"]["synthetic"]["name"] = study["about"]["notes"][0] = HOSTILE[0]
    study["learning"]["confusion"][0]["levels"] = HOSTILE[:2]
    study["regression"]["formula"] = study["sweep"]["setting"] = study["mu"]["settings"]["note"] = (
        HOSTILE[0]
    )
    study["delta"]["not_applicable"] = None
    study["run"] = {
        "date": HOSTILE[0],
        "versions": {HOSTILE[0]: HOSTILE[2]},
        "command": f"chaffinch {HOSTILE[0]}",
    }
    for row in study["regression"]["rows"]:
        row["term"] = HOSTILE[2]
    found = rendered(study, title=HOSTILE[0])
    said = found.said()
    for name in (
        HOSTILE[0],
        HOSTILE[1],
        HOSTILE[2],
        "عمر المريض",
        "naïve 名前 🐦",
        "{{ 7*7 }}",
        "' onmouseover='alert(1)",
    ):
        assert name in said, name
    assert "\u202e" not in said
    assert "\x00" not in said
    assert sum(tag == "h1" for tag, _ in found.tags) == 1


def test_a_verdict_of_a_strangers_report_is_text(study_of):
    report = report_of(study_of(3), title="t").to_dict()
    for row in report["verdict"]:
        row.update(
            measure=HOSTILE[0],
            question=HOSTILE[0],
            sentence=HOSTILE[0],
            word=HOSTILE[0],
            direction=HOSTILE[0],
            section=HOSTILE[0],
            id="x",
        )
    assert HOSTILE[0] in whole_page(render(report)).said()


# Contract.


def test_a_report_is_the_study_with_its_verdict(study_of):
    study = study_of(4)
    report = report_of(study, title="T", synthesis={"seed": 3}).to_dict()
    assert set(report) == {
        "format",
        "version",
        "title",
        "about",
        "synthesis",
        "utility",
        "decision",
        "verdict",
        "run",
    }
    assert (report["format"], report["version"], report["title"]) == ("chaffinch-report", 3, "T")
    assert set(report["utility"]) == set(study) - {"format", "version", "about", "run"}
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert render(report) == render(json.loads(json.dumps(report)))


def test_other_data_are_refused_with_the_next_step(study_of):
    with pytest.raises(
        chaffinch.errors.InputError,
        match=r"must be of format 'chaffinch-report'\. Got 'chaffinch-utility'\. Make one",
    ):
        render(study_of(3))
    with pytest.raises(chaffinch.errors.InputError, match="version 1"):
        report_of({"format": "chaffinch-utility", "version": 2}, title="t")
    with pytest.raises(chaffinch.errors.InputError, match="chaffinch utility"):
        report_of([], title="t")  # type: ignore[arg-type]


def test_a_later_stage_adds_sections_and_rows_without_a_new_template(study_of):
    report = report_of(study_of(3), title="t").to_dict()
    risk = {
        "section": "risk",
        "id": "tcap",
        "measure": "TCAP",
        "question": "Who?",
        "value": 0.2,
        "word": "review",
        "sentence": "So.",
    }
    said = whole_page(render({**report, "verdict": [*report["verdict"], risk], "risk": {}})).said()
    assert "Risk TCAP" in said
    assert "Read the risk sections" in said
    table = page_table("c", [Heading("h"), ("x", Cell("y", "z"))], Col("a"), Num("b"))
    blocks = (
        Paragraph("p"),
        Listing(("q",)),
        table,
        Grid((table,)),
        Details("more", (Paragraph("r"),)),
        Figure("f", "cap", (), table),
    )
    found = whole_page(PageContent("t", [Section("own", "Own", blocks)]).html)
    assert "own" in found.ids


# The network's picture.


def test_the_network_is_shown_with_its_edges(study_of):

    table = chaffinch.read(pa.table({"<b>": ["x", "y"] * 40, "c": ["p", "q"] * 40}))
    model = chaffinch.BayesNet(parents=1).fit(table, seed=1)
    account = {"seed": 1, "network": model.to_dict(), "rows_equal_to_an_original": 0.25}
    html = render(report_of(study_of(3), title="t", synthesis=account))
    assert model.plot().svg.strip() in html  # drawn anew from what the model writes of itself
    found = whole_page(html)
    assert "fig-network" in found.ids
    assert "25 %, codes compared" in found.said()


def test_a_network_of_a_strangers_report_becomes_text_and_shapes(study_of):
    names = [*HOSTILE[:4], "b"]
    network = {"nodes": names, "order": names, "edges": [(name, "b") for name in names[:-1]]}
    network |= {"label": names[0], "sensitive": names[1:2], "strengths": [float("nan"), -1.0]}
    account = {"network": network}
    html = render(report_of(study_of(3), title="t", synthesis=account))
    assert "fig-network" in whole_page(html).ids
    shapes = ["svg", "title", "desc", "rect", "defs", "marker", "path", "text"]
    picture = html[html.index('id="fig-network"') :].partition("<svg")[2].partition("</svg>")[0]
    assert set(re.findall(r"<(\w+)", picture)) <= set(shapes)
    for order, edges in ((names[:3], network["edges"]), (names, [("b", "b")]), (["b", "b"], [])):
        with pytest.raises(chaffinch.errors.InputError):
            render(
                report_of(
                    study_of(2),
                    title="t",
                    synthesis={"network": {**network, "order": order, "edges": edges}},
                )
            )


def test_columns_in_the_picture_of_the_network_lead_to_addresses(study_of):
    network = {"nodes": ["a", "b"], "order": ["a", "b"], "edges": [("a", "b")], "strengths": [0.1]}
    report = report_of(study_of(3), title="t", synthesis={"network": network})
    address = "/x?column=a&b#links"
    html = release_page(report, link_of=lambda name: address if name == "a" else "").fragment
    (found,) = re.findall(r'<a href="(/x[^"]*)" aria-label="Links of a"><rect ', html)
    assert unescape(found) == address
    assert 'role="group"' in html
    assert "<a href" not in release_page(report).fragment


def test_a_part_of_another_page_has_no_frame_of_its_own():
    content = PageContent("T", [Section("s", "S", (Paragraph("\u202e<b>"),))], alarm="A")
    assert content.html.count("<main") == content.html.count("<h1>T</h1>") == 1
    for frame in ("<html", "<main", "<h1", "<footer", "Keep inside"):
        assert frame not in content.fragment
    assert '<h2 class="title">T</h2>' in content.fragment
    assert "<p>\ufffd&lt;b&gt;</p>" in content.fragment
    between = content.html.partition('<section id="s"')[2].partition("</section>")[0]
    assert between in content.fragment


def test_a_row_has_as_many_cells_as_the_head():
    assert page_table("c", [Heading("h"), ("x", "y")], Col("a"), Col("b")).rows[1] == ("x", "y")
    with pytest.raises(ValueError, match="2 columns"):
        page_table("c", [("x",)], Col("a"), Col("b"))


def test_a_report_is_read_back(study_of):
    study = study_of(3)
    report = report_of(
        study, title="T", synthesis={"seed": 3, "network": {"method": "m"}}
    ).to_dict()
    result = ReportResult.from_dict(report)
    assert result.title == "T"
    assert result.synthesis.seed == 3
    assert result.synthesis.model.method == "m"
    assert [row.to_dict() for row in result.rows] == [
        row for row in report["verdict"] if row["section"] != "promise"
    ]
    assert result.risk is None
    assert result.to_dict() == report


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "Got 'list'"),
        ({"format": "x"}, "Got 'x'"),
        ({"format": "chaffinch-report"}, "version 3"),
    ],
)
def test_anything_else_is_refused(data, words):
    with pytest.raises(InputError, match=words):
        ReportResult.from_dict(data)
