"""The experiments on P3's figures: compiled generators beside the library's own, and pages that hold what the CSV files say."""

from __future__ import annotations

import math
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from chaffinch import PrivBayes
from chaffinch._base.errors import InputError
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.shadows import Generator, Working, run_shadows
from chaffinch.table.schema import Column, Schema
from experiments.p3_singling_out.showing import success_figure

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
FOLDER = EXPERIMENTS / "p3_singling_out"
SIZES = (2, 3, 4, 2, 5)


@pytest.fixture(scope="module")
def compiled():
    from experiments.p3_singling_out import compiled

    return compiled


@pytest.fixture(scope="module")
def people():
    """120 records of five columns, each with a hand in the next."""
    import pandas as pd

    rng = np.random.default_rng(1)
    columns = {"a": rng.integers(2, size=120)}
    for name, before, size in zip("bcde", "abcd", SIZES[1:], strict=True):
        columns[name] = np.where(
            rng.random(120) < 0.6, columns[before] % size, rng.integers(size, size=120)
        )
    levels = (
        Column(name, "categorical", levels=tuple(map(str, range(size))))
        for name, size in zip("abcde", SIZES, strict=True)
    )
    return prepare(pd.DataFrame(columns).astype(str), Schema(tuple(levels), public=True, rows=60))


def seen(codes):
    """Sums of squared shares of every column and pair: how uneven they are, and how they go together."""
    out = []
    for table in codes:
        numbers = [
            np.bincount(table[:, j].astype(int) * 8 + table[:, i])
            for j in range(5)
            for i in range(j + 1)
        ]
        out.append([((one / len(table)) ** 2).sum() for one in numbers])
    return np.array(out)


@pytest.mark.slow  # compiles
@pytest.mark.parametrize("variant", ["dpart", "sdg"])
def test_compiled_fits_have_the_law_of_the_librarys(compiled, people, variant):
    """15 numbers, means of 100 fits each: one is 6 standard errors apart once in 100 million."""
    rng = np.random.default_rng(2)
    draws = np.stack([np.sort(rng.choice(120, 60, replace=False)) for _ in range(100)])
    library = Generator(PrivBayes(20.0, variant=variant, draw="independent"), people, "population")
    ours = compiled.CompiledGenerator(
        compiled.PackagePrivBayes(variant, 20.0, "declared"), people, "population"
    )
    one, other = (
        run_shadows(maker, draws, seed=3, working=Working(workers=1)).gather(seen)[:, 0]
        for maker in (library, ours)
    )
    error = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / 100)
    assert (abs(one.mean(axis=0) - other.mean(axis=0)) < 6 * error).all()


@pytest.mark.slow  # compiles
def test_levels_read_from_the_data_are_the_only_ones_drawn(compiled, people):
    codes = np.stack([people.code(name) for name in people.schema.names]).astype(np.int32)[
        :, :3
    ]  # fewer records than the last column has levels
    sizes = np.array(SIZES)
    for levels, closed in (("data", True), ("declared", False)):
        drawn = [
            compiled.fitted(
                compiled.PackagePrivBayes("dpart", 0.1, levels), codes, sizes, seed
            ).draw(200, seed + 1, np.uint8)
            for seed in range(5)
        ]
        every = np.concatenate(drawn)
        assert all(set(every[:, j]) <= set(codes[j]) for j in range(5)) is closed


@pytest.mark.slow  # compiles
def test_without_noise_to_speak_of_a_table_is_the_counts(compiled):
    """Two columns that are equal, epsilon a million: one is drawn, and the other is a copy of it."""
    codes = np.array([[0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 1]], dtype=np.int32)
    model = compiled.fitted(
        compiled.PackagePrivBayes("dpart", 1e6, "declared"), codes, np.array([2, 2, 2]), 1
    )
    drawn = model.draw(400, 2, np.uint8)
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 1])
    # 400 draws of a chance of one quarter: standard deviation 0.022, and six of them.
    assert abs(drawn[:, 0].mean() - 0.25) < 0.13
    for place in range(3):
        np.testing.assert_allclose(model.chances(place).sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.slow  # compiles
def test_a_flattened_model_is_its_adjacency_and_its_tables_in_order(compiled):
    from experiments.p3_singling_out.paper_attack import flattened

    codes = np.array([[0, 0, 0, 1], [0, 1, 2, 1], [0, 1, 0, 1]], dtype=np.int32)
    model = compiled.fitted(
        compiled.PackagePrivBayes("sdg", 1e6, "declared"), codes, np.array([2, 3, 2]), 4
    )
    for by_column in (False, True):
        flat = flattened(model, by_column=by_column)
        assert flat[:9].sum() == sum(int(mask).bit_count() for mask in model.parents)
        first = 0 if not by_column else int(np.flatnonzero(model.order == 0)[0])
        table = model.chances(first).ravel()
        np.testing.assert_allclose(flat[9 : 9 + len(table)], table, rtol=1e-6)


@pytest.mark.parametrize("name", ["p3_singling_out", "p3_utility"])
def test_pages_hold_what_the_results_say(name, tmp_path, monkeypatch):
    folder = EXPERIMENTS / name
    for file in folder.iterdir():
        if file.suffix in (".csv", ".md"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    spec = spec_from_file_location(f"showing_{name}", folder / "showing.py")
    showing = module_from_spec(spec)
    spec.loader.exec_module(showing)
    monkeypatch.setattr(showing, "HERE", tmp_path)
    figures = {
        12: ("adult", 1_000, 5_000),
        13: ("cardio", 100, 500),
        14: ("cardio", 1_000, 5_000),
        15: ("cardio", 6_000, 30_000),
    }
    asked = (figures, (0.1, 1.0, 10.0, 100.0, 1000.0)) if name == "p3_singling_out" else ()
    showing.tabulate(*asked)
    showing.draw(*asked)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == (folder / "README.md").read_text(
        encoding="utf-8"
    )
    pictures = sorted(tmp_path.glob("*.svg"))
    assert len(pictures) == 4
    for picture in pictures:
        assert picture.read_bytes() == (folder / picture.name).read_bytes()


def rows(*epsilons, names=("sdg", "dpart")):
    return [
        {
            "synthesiser": name,
            "epsilon": e,
            "success": 0.2 + 0.1 * i,
            "interval": [0.15 + 0.1 * i, 0.25 + 0.1 * i],
            "baseline": 0.2,
        }
        for name in names
        for i, e in enumerate(epsilons)
    ]


@pytest.mark.parametrize("epsilons", [(0.1, 1, 10, 1000, None), (1.0,), (None,), (0.1, 1000)])
def test_success_against_epsilon_has_a_mark_for_each_row(epsilons):
    drawn = str(success_figure(rows(*epsilons)))
    assert drawn.count("<g><title>") == 2 * len(epsilons)
    assert ("no promise" in drawn) == (None in epsilons)
    assert "a guess: |X| / |D|" in drawn
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_epsilon_stands_on_a_logarithmic_axis():
    drawn = str(success_figure(rows(0.1, 1, 10, names=("one",))))
    across = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)[:3]]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)


def test_no_line_leads_to_what_has_no_promise():
    drawn = str(success_figure(rows(1, 10, None, names=("one",))))
    blue = re.findall(r'<path d="(M[^"]*)" fill="none" stroke="#0072B2" stroke-width="2"', drawn)
    assert [path.count("L") for path in blue] == [1, 1]  # two budgets, and the sample in the legend


@pytest.mark.parametrize(
    ("epsilons", "names", "sentence"),
    [
        ((1.0,), ("one",), "1 synthesiser at 1 value of epsilon; a guess reaches 0.2."),
        ((1, 2, None), ("a", "b"), "2 synthesisers at 2 values of epsilon and without a promise;"),
        ((None,), ("one",), "1 synthesiser without a promise; a guess reaches 0.2."),
    ],
)
def test_the_description_counts_synthesisers_and_epsilons(epsilons, names, sentence):
    assert sentence in str(success_figure(rows(*epsilons, names=names)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.clear(), "needs rows"),
        (lambda r: r[0].pop("baseline"), "lacks 'baseline'"),
        (lambda r: r[0].update(epsilon=0), "above 0"),
        (lambda r: r[0].update(epsilon=math.nan), "above 0"),
        (lambda r: r[0].update(baseline=0.1), "several baselines"),
    ],
)
def test_a_figure_that_cannot_be_says_why(change, message):
    wrong = rows(1, 10)
    change(wrong)
    with pytest.raises(InputError, match=message):
        success_figure(wrong)
