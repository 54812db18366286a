"""Kernels: imported late, loaded without what only compiling needs, and said when they are compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch._base.compiled import COMPILING, CompiledFunction, jit, told_of_compiling

SUMS = """
import numpy as np
from chaffinch._base.compiled import jit

SCALE = 3

@jit(inline="always")
def _scaled(value):
    return value * SCALE

@jit
def _added(total, value):
    if value < 0:
        raise ValueError("a negative value")
    return total + _scaled(value)

@jit
def scaled_sum(values):
    total = 0.0 * values.sum()  # from a part of numba that is not loaded with it
    for value in values:
        total = _added(total, value)
    return total
"""

RUN = """
import json, sys
import numpy as np
from chaffinch._base.compiled import told_of_compiling
import sums
before = "numba" in sys.modules
sentences = []
with told_of_compiling(sentences.append):
    answers = [sums.scaled_sum(np.array([2, 1], dtype=kind)) for kind in sys.argv[1:]]
loaded = {name: name in sys.modules for name in ("numba", "numba.np.arraymath", "numba.np.arrayobj", "scipy.linalg")}
try:
    sums.scaled_sum(np.array([-1.0]))
except ValueError as error:
    refused = str(error)
print(json.dumps({"before": before, "answers": answers, "sentences": sentences, "loaded": loaded, "refused": refused}))
"""


def run(folder: Path, *kinds: str, **environment: str) -> Mapping[str, Any]:
    """Return what a process says that calls the kernels of a folder."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *(kinds or ["float64"])],
        cwd=folder,
        env=known | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ended.stdout)


def test_a_kernel_is_compiled_once_and_then_loaded_without_what_compiling_needs(
    tmp_path: Path,
) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    first, second = run(tmp_path), run(tmp_path)
    for answer in (first, second):
        assert not answer["before"]
        assert answer["answers"] == [9.0]
        assert answer["refused"] == "a negative value"
        assert answer["loaded"]["numba"]
    assert first["sentences"] == [COMPILING]
    assert first["loaded"]["numba.np.arraymath"]
    assert second["sentences"] == []
    assert second["loaded"] == {
        "numba": True,
        "numba.np.arraymath": False,
        "numba.np.arrayobj": False,
        "scipy.linalg": False,
    }


def test_what_is_compiled_beside_loaded_kernels_can_be_loaded_too(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    run(tmp_path)
    second, third = (run(tmp_path, "float64", "int64") for _ in range(2))
    assert second["answers"] == third["answers"] == [9.0, 9.0]
    assert second["sentences"] == [COMPILING]
    assert third["sentences"] == []


def test_interpreted_kernels_answer_alike(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    answer = run(tmp_path, NUMBA_DISABLE_JIT="1")
    assert answer["answers"] == [9.0]
    assert answer["sentences"] == []


def test_a_kernel_looks_like_its_function() -> None:
    @jit
    def twice(values: np.ndarray) -> np.ndarray:
        """Return each value twice."""
        return values + values

    assert isinstance(twice, CompiledFunction)
    assert twice.__name__ == "twice"
    assert twice.__doc__ == "Return each value twice."
    assert twice.py_func(21) == 42
    with pytest.raises(AttributeError):
        twice.__array__  # noqa: B018


def test_who_left_is_not_told() -> None:
    sentences: list[str] = []
    with told_of_compiling(sentences.append):
        pass

    @jit
    def one() -> int:
        return 1

    assert one() == 1
    assert sentences == []
