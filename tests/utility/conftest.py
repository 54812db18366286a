"""Plain data of a whole study, as the pages' tests make them, and two tables of linked columns."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch

_spec = spec_from_file_location("pages", Path(__file__).parents[1] / "report" / "conftest.py")
_pages = module_from_spec(_spec)
_spec.loader.exec_module(_pages)
study_of, no_value = _pages.study_of, _pages.no_value

SIZES = (3, 4, 2, 5)


@pytest.fixture
def tables(coded):
    return coded(draw(1, 300), SIZES), coded(draw(2, 170), SIZES)


@pytest.fixture(scope="session", name="draw")
def draw_fixture():
    return draw


def draw(seed: int, n_rows: int, sizes=SIZES) -> list[np.ndarray]:
    """Return columns of codes with falling shares; each is linked to the one before."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for size in sizes:
        column = np.minimum(rng.geometric(0.4, n_rows) - 1, size - 1)
        if columns:
            column = np.where(rng.random(n_rows) < 0.5, columns[-1] % size, column)
        columns.append(column)
    return columns


def patients(n: int, seed: int) -> pa.Table:
    """Return a label 'ill' (rarer: yes) that depends on two of four columns, and a number 'cost' that depends on them too."""
    rng = np.random.default_rng(seed)
    age, sex, town = (
        rng.normal(50, 12, n).round(2),
        rng.choice(["f", "m"], n),
        rng.choice(["a", "b", "c"], n),
    )
    signal = (age - 50) / 12 + (sex == "m") + 0.6 * rng.normal(size=n)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "town": town,
            "cost": (100 * signal + rng.normal(size=n)).round(1),
            "ill": np.where(signal > 0.7, "yes", "no"),
            "stage": np.where(signal > 1.5, "late", np.where(signal > 0, "early", "none")),
        }
    )


ORIGINAL = chaffinch.read(patients(300, 1))
GOOD = patients(300, 2)
HOLDOUT = patients(200, 3)


def features(table: pa.Table, label: str) -> np.ndarray:
    """Features written out: numbers as they are, levels by their place in the alphabet."""
    columns = [name for name in table.column_names if name != label]
    values = [table[name].to_pylist() for name in columns]
    levels = [sorted(set(GOOD[name].to_pylist())) for name in columns]
    return np.array(
        [
            [float(v) if isinstance(v, float) else levels[j].index(v) for v in held]
            for j, held in enumerate(values)
        ]
    ).T


def adult(data: Path, rows: int) -> pa.Table:
    return pq.read_table(data / "adult_train.parquet").slice(0, rows)
