"""Results of attacks show themselves in one way."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
from markupsafe import Markup

from chaffinch.errors import InputError
from chaffinch.risk import Finding
from chaffinch.risk.shown import ShownResult


@dataclass(frozen=True)
class Toy(ShownResult):
    TITLE: ClassVar[str] = "A <toy>"

    def table(self, *, page=False):
        return ["a"], [["page" if page else "screen"]]

    def lines(self, *, page=False):
        return ("One.",) if page else ("One.", "Two.")

    def plot(self):
        return Markup("<svg></svg>")


TOY = Toy(findings=(Finding(attacker="exact_row", value=0.5),))


def test_a_result_without_findings_is_refused():
    with pytest.raises(InputError, match=r"The data of a result have no findings\."):
        Toy()


def test_what_is_printed_and_what_a_notebook_shows(capsys):
    TOY.show()
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "a",
        "screen",
        "One.",
        "Two.",
    ]
    shown = TOY._repr_html_()
    assert "<caption>One.</caption>" in shown
    assert "<td>page</td>" in shown
    assert shown.endswith("<svg></svg>")


def test_a_page_is_written_where_a_path_is_given(tmp_path):
    path = tmp_path / "page.html"
    page = TOY.to_html(path)
    assert path.read_text() == page
    assert "A &lt;toy&gt;" in page
