"""Results of attacks show themselves in one way."""

from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from chaffinch.risk.shown import ShownResult


@dataclass(frozen=True)
class Toy(ShownResult):
    title: ClassVar[str] = "A <toy>"

    def table(self, *, page=False):
        return ["a"], [["page" if page else "screen"]]

    def said(self, *, page=False):
        return ("One.",) if page else ("One.", "Two.")

    def plot(self):
        return Markup("<svg></svg>")


def test_what_is_printed_and_what_a_notebook_shows(capsys):
    Toy().show()
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "a",
        "screen",
        "One.",
        "Two.",
    ]
    shown = Toy()._repr_html_()
    assert "<caption>One.</caption>" in shown
    assert "<td>page</td>" in shown
    assert shown.endswith("<svg></svg>")


def test_a_page_is_written_where_a_path_is_given(tmp_path):
    path = tmp_path / "page.html"
    page = Toy().to_html(path)
    assert path.read_text() == page
    assert "A &lt;toy&gt;" in page
