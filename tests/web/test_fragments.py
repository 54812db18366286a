"""A page in a project's folder may be a stranger's: what could load, send, run or reach beyond its place never comes into a screen."""

from __future__ import annotations

import pytest

from chaffinch.errors import InputError
from chaffinch.web.fragments import checked_fragment

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
