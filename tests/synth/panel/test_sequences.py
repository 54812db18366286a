"""What columns do within a person, found by hand on tables made so."""

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.synth.panel.sequences import LENGTH, before, sequences_of, step


def made(n_persons: int = 60, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, n_persons)
    who = np.repeat(np.arange(n_persons), lengths)
    visit = np.concatenate([np.arange(n) for n in lengths])
    return pa.table(
        {
            "who": who,
            "year": 2000 + 2 * visit,
            "sex": np.array(["f", "m"])[who % 2],
            "height": np.repeat(rng.normal(170, 9, n_persons).round(1), lengths),
            "age": np.repeat(rng.integers(20, 60, n_persons), lengths) + 2 * visit,
            "score": rng.integers(0, 3, len(who)),
            "pay": rng.normal(100, 10, len(who)).round(2),
        }
    )


def test_each_column_is_told_for_what_it_is():
    table = chaffinch.read(made(), person="who", order="year")
    dynamics = sequences_of(table).dynamics
    assert dynamics.order == "year"
    assert dynamics.constant == ("sex", "height")
    assert dynamics.stepped == ("age",)
    assert dynamics.free == ("score", "pay")


def test_first_rows_and_steps_hold_the_codes_of_the_table():
    frame = made().to_pandas()
    table = chaffinch.read(frame, person="who", order="year")
    sequences = sequences_of(table)
    firsts = frame.groupby("who").head(1).index.to_numpy()
    assert (sequences.first.code("pay") == table.code("pay")[firsts]).all()
    lengths = frame.groupby("who").size().to_numpy()
    codec = sequences.first.schema[LENGTH].codec
    assert (codec.encode(lengths) == sequences.first.code(LENGTH)).all()
    later = frame.index[frame.groupby("who").cumcount() > 0].to_numpy()
    assert (sequences.steps.code("pay") == table.code("pay")[later]).all()
    assert (sequences.steps.code(before("pay")) == table.code("pay")[later - 1]).all()
    gap = sequences.steps.schema[step("year")].codec
    assert gap.ranges()[0].tolist() == [2]


def test_a_step_that_few_persons_make_is_not_shown():
    """Nine persons who grow five years older at once: the amount is theirs alone, so ages are drawn, not stepped."""
    frame = made(120).to_pandas()
    second = frame.index[frame.groupby("who").cumcount() == 1][:9]
    for row in second:
        rows = (frame["who"] == frame.loc[row, "who"]) & (frame.index >= row)
        frame.loc[rows, "age"] += 3
    assert sequences_of(chaffinch.read(frame, person="who", order="year")).dynamics.stepped == ()


def test_values_that_stay_are_counted():
    frame = made(200).to_pandas()
    stays = (frame.groupby("who").cumcount() > 0) & (frame.index % 2 == 0)
    frame.loc[stays, "pay"] = frame["pay"].shift()[stays]
    kept = sequences_of(chaffinch.read(frame, person="who", order="year")).dynamics.kept["pay"]
    codes = chaffinch.read(frame, person="who", order="year").code("pay")
    later = frame.index[frame.groupby("who").cumcount() > 0].to_numpy()
    alike = codes[later] == codes[later - 1]
    same = (frame["pay"].to_numpy()[later] == frame["pay"].to_numpy()[later - 1])[alike]
    assert kept == pytest.approx(same.mean())


def test_one_row_each_has_no_steps():
    frame = made().to_pandas().drop_duplicates("who")
    assert sequences_of(chaffinch.read(frame, person="who", order="year")).steps is None


def test_names_that_are_needed_are_refused():
    frame = made().to_pandas().rename(columns={"pay": LENGTH})
    with pytest.raises(
        chaffinch.errors.InputError, match=r"names that a panel needs for itself: \(rows\)"
    ):
        sequences_of(chaffinch.read(frame, person="who", order="year"))
