"""Which figures are of all records and which of a sample."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from chaffinch.stats.sampled import SampledRecords, hash_key


def sampled(chosen: int, of: int, **more: int) -> SampledRecords:
    tables = [
        {"original": SimpleNamespace(n_rows=n), "synthetic": SimpleNamespace(n_rows=n)}
        for n in (chosen, of)
    ]
    for table, n in zip(tables, more.values(), strict=False):
        table["holdout"] = SimpleNamespace(n_rows=n)
    return SampledRecords.from_tables(*tables, "values", 10)


def test_sentences_say_what_is_of_what():
    assert sampled(1000, 50_000).with_notes(
        ["CAP", "TCAP"], ["GCAP"], "It is thin.", ""
    ).sentences == (
        "Of all records: CAP, TCAP.",
        "Of a sample: GCAP.",
        "The sample has 1,000 of 50,000 original, 1,000 of 50,000 synthetic records, chosen by a keyed hash of their values, so that equal rows of all "
        "tables are chosen together.",
        "It is thin.",
    )
    assert sampled(1000, 1000).with_notes(["CAP"], ["GCAP"], "It is thin.").sentences == (
        "Of all records: CAP, GCAP.",
    )
    assert sampled(1000, 50_000).with_notes(["CAP"], []).sentences == ("Of all records: CAP.",)
    assert sampled(1000, 50_000).with_notes([], ["GCAP"]).sentences[0] == "Of a sample: GCAP."


def test_small_numbers_are_masked_and_no_sample_is_called_whole_for_that():
    few = sampled(1001, 1004, first=3, second=2000)
    assert (few.original, few.of_original, few.holdout, few.of_holdout) == (1000, 1000, "<10", 2000)
    assert not few.all_records
    assert "<10 of 2,000 holdout" in few.with_notes([], ["GCAP"]).sentences[1]


def test_keys_differ_by_stream():
    keys = {hash_key(np.random.SeedSequence(1, spawn_key=(i,))) for i in range(50)}
    assert len(keys) == 50
    assert max(keys) < 1 << 128
