"""Plain data of a whole study, as the pages' tests make them, and two tables of linked columns."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

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
