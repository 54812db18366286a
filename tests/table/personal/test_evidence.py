"""IdentifierEvidence says what a column seems to hold and by what."""

from __future__ import annotations

from chaffinch.table.schema import IdentifierEvidence, Reason


def test_it_reads_as_a_sentence():
    assert str(IdentifierEvidence("surnames", Reason.NAME, "surname")) == "surnames, by its name"
    assert {str(reason).split()[0] for reason in Reason} == {"its"}
