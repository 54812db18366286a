"""Plain tables and pages: nothing that came from a file becomes markup, and a page is its owner's alone."""

from __future__ import annotations

import stat
from html.parser import HTMLParser

from chaffinch._base.results import KEEP_INSIDE, html_page, html_table, write_page


class Reader(HTMLParser):
    """The tags of a page and its words."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def test_every_cell_is_escaped():
    table = Reader(html_table(["<i>"], [["<script>", 3], [None, "&"]], caption="<b>"))
    assert table.words == ["<b>", "<i>", "<script>", "3", "None", "&"]
    assert set(table.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_a_page_is_to_be_kept_inside_and_loads_nothing():
    page = html_page("<title>", html_table(["a"], [[1]]))
    assert "default-src 'none'" in page
    assert Reader(page).words.count("<title>") == 2
    assert KEEP_INSIDE in Reader(page).words
    assert "script" not in Reader(page).tags


def test_a_page_is_readable_by_its_owner_alone(tmp_path):
    write_page(tmp_path / "p.html", html_page("t", ""))
    assert stat.S_IMODE((tmp_path / "p.html").stat().st_mode) == 0o600
