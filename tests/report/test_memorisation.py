"""Memorisation tests on a page."""

from __future__ import annotations

from chaffinch.report.risk import memorisation_tests
from chaffinch.report.sections import Details, Listing, PageTable, Paragraph
from chaffinch.risk.memorisation import MEMORISATION_TESTS, MemorisationFinding


def test_every_test_has_a_sentence_a_row_and_a_definition() -> None:
    findings = [
        MemorisationFinding(
            test=test.name,
            value=0.25,
            holdout=0.2,
            excess=0.05,
            p_value=0.01,
            p_family=0.04,
            n_people="<10",
        )
        for test in MEMORISATION_TESTS
    ]
    words, sentences, table, details = memorisation_tests(findings)
    assert isinstance(words, Paragraph)
    assert isinstance(sentences, Listing)
    assert isinstance(table, PageTable)
    assert isinstance(details, Details)
    assert len(sentences.items) == len(table.rows) == len(MEMORISATION_TESTS)
    assert all("more than chance gives" in sentence for sentence in sentences.items)
    assert all(row[-1] == "<10" for row in table.rows)
    (definitions,) = details.blocks
    assert isinstance(definitions, PageTable)
    assert any("no evidence of privacy" in str(row[2]) for row in definitions.rows)


def test_what_does_not_apply_says_why() -> None:
    _, sentences, table, _ = memorisation_tests(
        [MemorisationFinding(test="rare_level", reason="There are no rare values: none.")]
    )
    assert sentences.items == ("Rare level: There are no rare values: none.",)
    assert table.rows[0][1:7] == ("–",) * 6


def test_no_tests_no_blocks() -> None:
    assert list(memorisation_tests([])) == []
