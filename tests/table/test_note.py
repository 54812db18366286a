"""What is said of a column names it; what is said of a table does not."""

from chaffinch.table import Note


def test_notes_as_sentences():
    assert str(Note("age", "empty", "every value is missing.")) == "Column 'age': every value is missing."
    assert str(Note("", "encoding", "The file is read as UTF-16.")) == "The file is read as UTF-16."
