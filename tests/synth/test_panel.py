"""Sequences that are drawn: ids that repeat, orders that rise, constants that stay, chains that move as the original's do."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import chaffinch
from chaffinch import BayesNet, Panel
from chaffinch.synth import SYNTHESISERS
from chaffinch.synth.panel import LENGTH, before, sequences_of, step
from chaffinch.workflows.engines import synthesiser_for


def chain(n_persons: int, seed: int) -> pd.DataFrame:
    """Six visits; a state that is kept nine times in ten, and changed else."""
    rng = np.random.default_rng(seed)
    state = np.empty((n_persons, 6), dtype=np.int64)
    state[:, 0] = rng.random(n_persons) < 0.3
    for t in range(1, 6):
        state[:, t] = np.where(rng.random(n_persons) < 0.9, state[:, t - 1], 1 - state[:, t - 1])
    return pd.DataFrame(
        {
            "who": np.repeat(np.arange(n_persons), 6),
            "visit": np.tile(np.arange(1, 7), n_persons),
            "state": np.array(["well", "ill"])[state.ravel()],
            "sex": np.repeat(np.array(["f", "m"])[np.arange(n_persons) % 2], 6),
        }
    )


@pytest.fixture(scope="module")
def model():
    return Panel().fit(chaffinch.read(made(400), person="who", order="year"), seed=1)


def test_structure_of_what_is_drawn(model):
    rows = model.sample(3000, seed=2)
    frame = rows.to_pandas()
    original = made(400).to_pandas()
    assert len(frame) == 3000
    assert list(frame.columns) == list(original.columns)
    assert (frame.dtypes == original.dtypes).all()
    groups = frame.groupby("who")
    assert (groups["sex"].nunique() == 1).all()
    assert (groups["height"].nunique() == 1).all()
    assert set(groups.size()) <= {1, 2, 3, 4}
    steps = groups[["year", "age"]].diff().dropna()
    assert (steps == 2).all().all()
    assert set(frame["year"]) <= set(original["year"])
    assert rows.n_persons == frame["who"].nunique()
    assert (
        np.abs(
            groups.size().value_counts(normalize=True)
            - original.groupby("who").size().value_counts(normalize=True)
        ).max()
        < 0.1
    )
    assert not rows.data.column("who").null_count


def test_codes_are_those_of_the_values(model):
    rows = model.sample(800, seed=3)
    again = chaffinch.read(rows.data, rows.schema)
    for name in rows.schema.names:
        assert (again.code(name) == rows.code(name)).all(), name


def test_a_chain_moves_as_it_did():
    """4,000 persons, 20,000 steps: a share of 0.9 has a standard error of 0.002 in the original and in the synthesis; 0.015 is five."""
    table = chaffinch.read(chain(4000, seed=1), person="who", order="visit")
    drawn = Panel().fit(table, seed=1).sample(seed=2).to_pandas()
    before = drawn.groupby("who")["state"].shift()
    stays = (before == drawn["state"])[before.notna()].mean()
    assert stays == pytest.approx(0.9, abs=0.015)
    assert (drawn[drawn["visit"] == 1]["state"] == "ill").mean() == pytest.approx(0.3, abs=0.05)
    rows_alone = BayesNet().fit(chaffinch.read(chain(4000, seed=1).drop(columns="who")), seed=1)
    flat = rows_alone.sample(seed=2).to_pandas()["state"]
    assert (flat.shift() == flat)[1:].mean() < 0.6  # which the test would see


def test_seeds_and_batches_and_files_change_nothing(model, tmp_path):
    one = model.sample(500, seed=5)
    assert one.data.equals(model.sample(500, seed=5).data)
    assert not one.data.equals(model.sample(500, seed=6).data)
    assert pa.concat_tables([batch.data for batch in model.batches(500, seed=5)]).equals(one.data)
    model.save(tmp_path / "panel.chaffinch")
    again = chaffinch.load(tmp_path / "panel.chaffinch")
    assert again.sample(500, seed=5).data.equals(one.data)
    assert again.n_persons == model.n_persons == 400
    assert again.to_dict() == model.to_dict()
    assert model.sample(0, seed=1).n_rows == 0


def test_ids_go_on_from_batch_to_batch(model, monkeypatch):
    monkeypatch.setattr("chaffinch.synth.panel.BATCH_ROWS", 100)
    ids = model.sample(1000, seed=1).data["who"].to_numpy()
    assert (np.diff(ids) >= 0).all()
    assert (np.diff(ids) <= 1).all()


def test_dates_words_and_missing_values():
    frame = made(200).to_pandas()
    frame["year"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(
        7 * (frame["year"] - 2000), unit="D"
    )
    frame["who"] = "P" + frame["who"].astype(str)
    frame["pay"] = frame["pay"].where(frame.index % 5 > 0)
    frame["score"] = frame["score"].map({0: "low", 1: "mid", 2: "high"}).astype("category")
    drawn = (
        Panel()
        .fit(chaffinch.read(frame, person="who", order="year"), seed=1)
        .sample(seed=2)
        .to_pandas()
    )
    assert (drawn.dtypes == frame.dtypes).all()
    assert (drawn.groupby("who")["year"].diff().dropna().dt.days == 14).all()
    assert drawn["pay"].isna().mean() == pytest.approx(0.2, abs=0.08)
    assert not set(drawn["who"]) & set(frame["who"])


def test_it_says_what_it_is(model):
    description = model.describe()
    assert description.summary.startswith("400 persons with 2.")
    details = {column.name: column.detail for column in description.columns}
    assert details["sex"].endswith("constant within a person")
    assert "400 persons" in repr(model)
    assert model.plot() is not None
    with pytest.raises(chaffinch._base.errors.InputError, match="cannot be given values"):
        model.sample(5, given={"sex": "f"})


@pytest.mark.parametrize("damage", ["dynamics", "steps", "learnt_rows"])
def test_a_damaged_file_is_refused(model, tmp_path, damage, monkeypatch):
    from chaffinch.synth import model_file

    parts = model_file.file_parts

    def damaged(model):
        header, arrays = parts(model)
        header[damage] = {
            "dynamics": {**header["dynamics"], "free": ["pay"]},
            "steps": None,
            "learnt_rows": "many",
        }[damage]
        return header, arrays

    monkeypatch.setattr(model_file, "file_parts", damaged)
    model.save(tmp_path / "bad.chaffinch")
    with pytest.raises(chaffinch._base.errors.FileError, match="its parts do not fit together"):
        chaffinch.load(tmp_path / "bad.chaffinch")


def test_release_counts_persons():
    """The battery compares one row of each person, and halves are halves of the people."""
    frame = chain(200, seed=4)
    result = chaffinch.release(
        frame,
        person="who",
        order="visit",
        keys=["sex"],
        sensitive=["state"],
        measures=["tvd"],
        seed=1,
    )
    about = result.report.risk.about
    assert about.original.rows == 200
    assert any("one row, drawn at random" in note for note in about.notes)
    crossed = result.report.risk.cross_fit.about
    assert crossed.holdout.rows == 200
    assert result.synthetic.to_pandas().groupby("who").size().eq(6).mean() > 0.9


def test_made_up_values_belong_to_a_person():
    rows = {
        "pid": np.repeat([f"P{i:03d}" for i in range(60)], 3),
        "nachname": np.repeat(["Huber", "Maier", "Gruber"] * 20, 3),
        "wave": np.tile([1, 2, 3], 60),
        "pay": np.random.default_rng(1).integers(10, 30, 180),
    }
    table = chaffinch.read(
        pa.table(rows),
        {"pid": {"role": "person", "output": "fake"}, "nachname": "fake", "wave": "order"},
    )
    drawn = chaffinch.Panel().fit(table, seed=1).sample(120, seed=2).to_pandas()
    assert list(drawn) == ["pid", "nachname", "wave", "pay"]
    assert not set(drawn["pid"]) & set(rows["pid"])
    assert not set(drawn["nachname"]) & set(rows["nachname"])
    assert drawn.groupby("pid")["nachname"].nunique().max() == 1
    assert drawn["pid"].nunique() > 20


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
    kept = sequences_of(chaffinch.read(frame, person="who", order="year")).dynamics.repeat_shares[
        "pay"
    ]
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
        chaffinch._base.errors.InputError, match=r"names that a panel needs for itself: \(rows\)"
    ):
        sequences_of(chaffinch.read(frame, person="who", order="year"))


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (BayesNet(epsilon=1.0), "epsilon"),
        (BayesNet(keep=("pay",)), "keep"),
        (BayesNet(root="pay"), "root"),
        (BayesNet(order=("pay", "age")), "order"),
    ],
)
def test_what_it_cannot_follow_is_refused(rows, word):
    with pytest.raises(chaffinch._base.errors.InputError, match=f"leave out {word}"):
        Panel(rows)
    with pytest.raises(chaffinch._base.errors.InputError, match="must be a BayesNet"):
        Panel("bayesnet")


def test_options_are_those_of_its_networks():
    settings = SYNTHESISERS["panel"].from_options(parents=2, label="pay")
    assert settings == Panel(BayesNet(parents=2, label="pay"))


def test_a_table_of_rows_is_refused_and_named():
    table = chaffinch.read(made(), person="who", order="year")
    with pytest.raises(chaffinch._base.errors.InputError, match=r"fit chaffinch.Panel\(BayesNet"):
        BayesNet().fit(table)
    with pytest.raises(chaffinch._base.errors.InputError, match="No column says whose row it is"):
        Panel().fit(chaffinch.read(made()))
    assert synthesiser_for(BayesNet(parents=2), table.schema) == Panel(BayesNet(parents=2))


def test_constraints_are_refused_not_forgotten():
    from dataclasses import replace

    table = chaffinch.read(made(), person="who", order="year")
    table = replace(table, schema=replace(table.schema, rules=("score == 0 implies sex == 'f'",)))
    with pytest.raises(chaffinch._base.errors.InputError, match="does not keep rules yet"):
        Panel().fit(table)


def test_nothing_is_drawn_from_a_sensitive_column_of_either_row():
    rows = BayesNet(label="sex", sensitive=("score",))
    model = Panel(rows).fit(chaffinch.read(made(300), person="who", order="year"), seed=1)
    for network in (model.first.network, model.steps.network):
        for child, parents in zip(network.order, network.parents, strict=True):
            assert not {"score", "(before) score"} & set(parents), child
        assert network["score"] == ("sex",)
    with pytest.raises(chaffinch._base.errors.InputError, match="cannot be sensitive"):
        Panel(BayesNet(sensitive=("year",))).fit(chaffinch.read(made(), person="who", order="year"))
