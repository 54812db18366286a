"""Pages by the rules of accessibility: contrast in light and dark, words for pictures, heads of tables, one order of headings and of focus."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.svg import contrast
from chaffinch.report.compare import compare
from chaffinch.report.page import PageContent
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.report.sections import Col, Section, page_table

TEXT, SHAPES = 4.5, 3.0
"""The least contrast of text and of what a picture shows: WCAG 2.2, 1.4.3 and 1.4.11."""
GROUNDS = {
    "body": ("ink", "paper"),
    "soft": ("soft", "paper"),
    "soft on pale": ("soft", "pale"),
    "pale": ("ink", "pale"),
    "link": ("blue", "paper"),
    "alarm": ("warn-ink", "warn-pale"),
    "close": ("on-blue", "blue"),
    "fair": ("good-ink", "good-pale"),
    "weak": ("warn-ink", "warn-pale"),
}


def rgb(colour: str) -> tuple[int, ...]:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    return tuple(int(digits[i : i + 2], 16) for i in (0, 2, 4))


PROTECTED = {
    "network": {
        "method": "bayesnet",
        "nodes": ["a", "b"],
        "edges": [["a", "b"]],
        "strengths": [0.1],
        "sensitive": ["a", "b"],
    }
}


def drawn():
    """A study of two columns with pictures of both, and of the pair."""
    table = {"a": ["x", "y", "z"] * 40, "b": list(range(120))}
    return chaffinch.utility(
        pa.table(table),
        pa.table({**table, "a": ["x"] * 120}),
        measures=["jensen_shannon", "tvd", "phi_k"],
        seed=1,
    )


def styles(html: str) -> str:
    return re.search(r"<style>(.*?)</style>", html, flags=re.DOTALL)[1]


def schemes(css: str) -> dict[str, dict[str, str]]:
    """Return the colours that have names, in light and in dark."""
    light, dark = (
        dict(re.findall(r"--([\w-]+):(#\w+)", block))
        for block in re.findall(r":root\{([^}]*--[^}]*)\}", css)[:2]
    )
    return {"light": light, "dark": light | dark}


@pytest.fixture(scope="module")
def css() -> str:
    return styles(PageContent("t", []).html)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", GROUNDS)
def test_text_reads_on_its_ground(css, scheme, what):
    names = schemes(css)[scheme]
    ink, ground = (rgb(names[name]) for name in GROUNDS[what])
    assert contrast(ink, ground) >= TEXT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_badges_read_on_their_ground(css, scheme):
    names = schemes(css)[scheme]

    def colour(value: str) -> tuple[int, ...]:
        return rgb(names[value[6:-1]] if value.startswith("var(") else value)

    badges = re.findall(r"\.word-[\w-]+\{background:([^;]+);[^}]*[;{]color:([^;}]+)\}", css)
    assert len(badges) == 5
    assert all(contrast(colour(ground), colour(ink)) >= TEXT for ground, ink in badges)


def painted(css: str, attribute: str, value: str, text: bool) -> str:
    """Return what a dark page paints an attribute's colour with: its own unless a rule says otherwise."""
    names = schemes(css)["dark"]
    rules = re.findall(
        r"svg (text|rect)?\[(fill|stroke)=\"(#\w+)\"\](:not\(text\))?[^{]*\{(?:fill|stroke):([^}]+)\}",
        css,
    )
    for tag, name, colour, not_text, paint in rules:
        of_tag = tag == "text" if text else tag != "text"
        if (
            name == attribute
            and colour.lower() == value.lower()
            and (of_tag or not tag)
            and not (not_text and text)
        ):
            return names[paint[6:-1]] if paint.startswith("var(") else paint
    return value


def test_pictures_read_in_light_and_in_dark(css, study_of, risk_of):
    html = render(report_of(study_of(15), title="t", risk=risk_of(sizes=(4, 5)))) + render(
        report_of(drawn(), title="t", synthesis=PROTECTED)
    )
    dark = rgb(schemes(css)["dark"]["paper"])
    inks = set(re.findall(r'<text [^>]*fill="(#\w+)"', html))
    assert {"#1b1b1b", "#595959"} <= inks
    for ink in inks - {
        "#000",
        "#fff",
    }:  # those stand on coloured cells and are chosen for them, see `ink_on`
        assert contrast(rgb(ink), (255, 255, 255)) >= TEXT
        assert contrast(rgb(painted(css, "fill", ink, text=True)), dark) >= TEXT
    marks = {
        ("fill", mark)
        for mark in re.findall(r'<(?:circle|path)[^>]*fill="(#\w+)" stroke="#fff"', html)
    }
    marks |= {
        ("stroke", mark)
        for mark in re.findall(r'<path [^>]*stroke="(#\w+)" stroke-width="[23]', html)
    }
    assert len(marks) >= 6
    for attribute, mark in marks:
        assert contrast(rgb(mark), (255, 255, 255)) >= SHAPES
        assert contrast(rgb(painted(css, attribute, mark, text=False)), dark) >= SHAPES


class Outline(HTMLParser):
    """What a screen reader walks along: headings, pictures, tables, and what takes the focus."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.faults: list[str] = []
        self.landmarks: list[str] = []
        self.focus: list[str] = []
        self.pictures = 0
        self.named = set(re.findall(r"(<svg[^>]*>)<title>[^<]+</title>", html))
        self.ids = set(re.findall(r' id="([^"]+)"', html))
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.pictures += tag == "svg"
        named = (
            self.get_starttag_text() in self.named
            or set(str(said.get("aria-labelledby")).split()) <= self.ids
        )
        if tag == "svg" and not (said.get("role") == "img" and named):
            self.faults.append(f"a picture without words: {said}")
        if tag == "th" and said.get("scope") not in ("col", "row", "rowgroup"):
            self.faults.append(f"a head of a table without a scope: {said}")
        if tag == "section" and said.get("aria-labelledby") not in self.ids:
            self.faults.append(f"a section without a name: {said}")
        if tag in ("header", "main", "footer", "nav"):
            self.landmarks.append(tag)
        if tag in ("a", "summary") or "tabindex" in said:
            self.focus.append(tag)
        if said.get("tabindex", "0") != "0":
            self.faults.append(f"focus out of the order of reading: {said}")
        if "tabindex" in said and tag == "div" and not said.get("aria-label"):
            self.faults.append(f"what takes the focus has no name: {said}")
        if tag == "html" and not said.get("lang"):
            self.faults.append("no language")


def outline(html: str) -> Outline:
    found = Outline(html)
    assert found.faults == []
    assert found.headings.count(1) == 1
    assert all(
        later - earlier <= 1
        for earlier, later in zip(found.headings, found.headings[1:], strict=False)
    )
    assert found.landmarks == ["header", "main", "footer", "nav"]
    assert found.focus[0] == "a"
    assert html.index('class="skip"') < html.index("<header>")
    assert all(
        "<caption>" in table and "<thead>" in table
        for table in re.findall(r"<table>.*?</table>", html, flags=re.DOTALL)
    )
    return found


def test_reports_are_walked_in_order(study_of, risk_of):
    outline(render(report_of(study_of(15), title="t", risk=risk_of())))
    outline(render(report_of(study_of(1, holdout=False, label=False), title="t")))
    outline(render(report_of(title="t", risk=risk_of(holdout=False, extras=False))))
    table = chaffinch.read(pa.table({"a": ["x", "y"] * 40, "b": ["p", "q"] * 40}))
    network = chaffinch.BayesNet().fit(table, seed=1).to_dict()
    account = {**PROTECTED, "network": {**network, **PROTECTED["network"]}}
    whole = outline(render(report_of(drawn(), title="t", synthesis=account)))
    assert whole.pictures >= 5
    outline(compare(study_of(6), study_of(6, noise=2.0)).to_html())


def test_faults_are_seen():
    html = PageContent("t", [Section("a", "A", (page_table("c", [("y",)], Col("x")),))]).html
    assert Outline(html).faults == []
    for good, bad in (
        (' scope="row"', ""),
        (' scope="col"', ""),
        ('tabindex="0"', 'tabindex="3"'),
        ('lang="en"', ""),
        ('aria-labelledby="a-title"', ""),
    ):
        assert good in html
        assert Outline(html.replace(good, bad)).faults
    assert Outline('<svg viewBox="0 0 1 1"></svg>').faults


def test_nothing_moves_and_nothing_is_told_by_colour_alone(css):
    assert "animation" not in css
    assert "transition" not in css
    words = set(re.findall(r"\.(word-[\w-]+)", css))
    signs = {
        word
        for rule in re.findall(r"((?:\.word-[\w-]+::before,?)+)\{content", css)
        for word in re.findall(r"word-[\w-]+", rule)
    }
    assert words == signs
