"""What is said of a column names it; what is said of a table does not."""

from chaffinch.table import Note
from chaffinch.table.schema import note_lines


def test_notes_as_sentences():
    assert (
        str(Note("age", "empty", "every value is missing."))
        == "Column 'age': every value is missing."
    )
    assert str(Note("", "encoding", "The file is read as UTF-16.")) == "The file is read as UTF-16."


def test_what_is_said_of_many_columns_alike_is_one_line():
    """A table of a thousand columns has hundreds of the same note."""
    few = [Note(f"a{i}", "empty", "every value is missing.") for i in range(10)]
    many = [Note(f"b{i}", "pooled", "levels are pooled.") for i in range(300)]
    whole = [Note("", "zones", "Times are UTC.")]
    assert note_lines([*few, *whole]) == [str(note) for note in [*few, *whole]]
    lines = note_lines(
        [many[0], *few, *many[1:], *whole, Note("c", "pooled", "other levels are pooled.")]
    )
    assert (
        lines[0]
        == "Columns 'b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'b9' and 290 more: levels are pooled."
    )
    assert lines[1:] == [*map(str, few), "Times are UTC.", "Column 'c': other levels are pooled."]
    assert note_lines([]) == []
