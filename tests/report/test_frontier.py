"""The page of a frontier: it opens with the choice, shows both figures, and holds no script."""

from __future__ import annotations

import re

from chaffinch._base.svg import contrast
from chaffinch.report.frontier import BLUE, ORANGE, PALE, front_picture, frontier_page
from chaffinch.report.frontier_result import FrontierResult

from .test_frontier_result import frontier_result


def test_the_page_shows_the_choice_on_both_parts_and_the_release() -> None:
    page = frontier_page(frontier_result())
    assert "200 people of the search, who it was chosen on" in page
    assert "200 people the search never saw" in page
    assert "everybody, those included whom it was chosen on" in page
    assert "UNDECIDED" in page
    assert "Leaves of 300 instead of 100 take 2 points off." in page
    assert "<script" not in page
    assert page.count('id="fig-front-0"') == 1


def test_the_picture_has_the_front_the_limit_and_the_references() -> None:
    svg = str(front_picture(frontier_result(), "accuracy", key="k"))
    assert "the limit, 0.05" in svg
    assert "the original itself (excess 0.9, above the scale)" in svg
    assert "a fresh sample" in svg
    assert len(re.findall(r"<circle[^>]*r=\"3\"", svg)) == 1  # the one that is beaten
    assert ">chosen<" in svg


def test_nothing_to_draw_says_so() -> None:
    empty = FrontierResult(about=frontier_result().about, evaluations=(), worths=("accuracy",))
    assert "No settings could be measured." in str(front_picture(empty, "accuracy", key="k"))
    assert "Nothing was chosen" in frontier_page(empty)


def test_curves_of_one_setting_have_their_numbers() -> None:
    page = frontier_page(frontier_result())
    assert "mu, delta, G and the largest excess over parents" in page
    assert "default" in page


def test_the_page_is_readable_by_the_rules_of_accessibility() -> None:
    """Every picture has a title and a description, every table a caption and heads, and marks stand out from the paper (WCAG 1.4.11)."""
    page = frontier_page(frontier_result())
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) == 2
    for svg in pictures:
        assert 'role="img"' in svg
        assert re.search(
            r"<title id=\"[\w-]+-title\">[^<]+</title><desc id=\"[\w-]+-desc\">[^<]+</desc>", svg
        )
    assert page.count("<table") == page.count("<caption")
    for colour in (BLUE, ORANGE, PALE):
        shade = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
        assert contrast(shade, (255, 255, 255)) >= 3.0
