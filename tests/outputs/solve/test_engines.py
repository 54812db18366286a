"""An engine is one file: a planted one is found by its module's name, in settings, help, searches, results and on the page; none is imported before it is used."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chaffinch import evolve
from chaffinch._base.options import settings_of
from chaffinch.cli.command import fill_placeholders
from chaffinch.errors import InputError
from chaffinch.outputs import evolve as evolving
from chaffinch.outputs.evolve import EvolveResult
from chaffinch.outputs.solve import engines, process
from chaffinch.outputs.solve.settings import SEARCH_ENGINES, EvolveSettings
from chaffinch.report.evolve import evolve_page

TOY = '''
import numpy as np

from ..engine import Checkpoint, SearchCost, SearchEngine, Solved
from ..settings import SEARCH_ENGINES
from ..state import State


def solve(problem, codes, *, proposals, tolerance, seed):
    """Give each record the level that the one table has left."""
    table = problem.outputs[0]
    codes = np.repeat(np.arange(len(table.lo)), table.lo).astype(np.int32)[:, None]
    errors = State(problem, codes).errors()
    trace = tuple(Checkpoint(k, 0.0, 0.0, errors) for k in (0, 1))
    return Solved(codes, not any(error.outside for error in errors), errors, 1, 1, 0.0, trace)


SEARCH_ENGINES.register(
    SearchEngine(
        "toy",
        "deals out one table",
        solve,
        cost=lambda search: SearchCost(lambda problem, rows: 0.25, cell_bytes=1 << 20),
        steps="looks",
        log_steps=False,
    )
)
'''
SPEC = {
    "format": "chaffinch-outputs",
    "version": 1,
    "rows": 30,
    "columns": [{"name": "sex", "levels": ["f", "m"]}],
    "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [10, 20]}],
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file more in the folder of engines, and searches in this process, where it is."""
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    vars(SEARCH_ENGINES).pop("_found_modules", None)

    def run(job, *, each=None, engines=None):  # type: ignore[no-untyped-def]
        answers = io.BytesIO()
        process._work(json.loads(process.request_line(job)), answers)
        return list(process._answers(io.BytesIO(answers.getvalue()), len(job.seeds)))

    monkeypatch.setattr(process, "FORBIDDEN", ())
    monkeypatch.setattr(evolving, "run", run)
    yield
    SEARCH_ENGINES.remove("toy")
    vars(SEARCH_ENGINES).pop("_found_modules", None)
    sys.modules.pop("chaffinch.outputs.solve.engines.toy")


def test_an_engine_is_one_file(toy: None) -> None:
    assert settings_of(EvolveSettings)["search_engine"].choices == (
        "ea",
        "incremental",
        "maxent",
        "toy",
    )
    assert fill_placeholders("{search_engines}").endswith("toy (deals out one table)")
    evolved = evolve(SPEC, search_engine="toy", seconds=5, seed=1)
    assert evolved.reached
    assert np.bincount(evolved.copies[0].codes[:, 0]).tolist() == [10, 20]
    assert evolved.proposals == 20  # a proposal takes a quarter of a second
    plain = json.loads(json.dumps(evolved.to_dict()))
    assert plain["about"]["search_engine"] == "toy"
    page = evolve_page(EvolveResult.from_dict(plain))
    assert "Numbers that are off, by looks" in page
    assert ">toy<" in page
    with pytest.raises(InputError, match="population_size is for the search engine 'ea'"):
        evolve(SPEC, search_engine="toy", population_size=8)
    with pytest.raises(InputError, match=r"rows x columns x 1048576 bytes must be at most 8 GiB"):
        evolve(SPEC, search_engine="toy", rows=10_000)


def test_every_engine_has_the_name_of_its_module() -> None:
    assert SEARCH_ENGINES.names == ("ea", "incremental", "maxent")
    for engine in SEARCH_ENGINES:
        assert engine.solve.__module__ == f"{engines.__name__}.{engine.name}"


def test_an_engine_is_imported_when_it_is_used() -> None:
    script = (
        "import sys\n"
        "from chaffinch.outputs.solve.settings import SEARCH_ENGINES, EvolveSettings\n"
        "EvolveSettings.from_options(search_engine='ea', generations=3)\n"
        "print(*sys.modules)\n"
        "SEARCH_ENGINES['incremental']\n"
        "print(*sys.modules)\n"
    )
    declared, used = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"numpy", "numba", "scipy"}.isdisjoint(declared.split())
    loaded = {name for name in used.split() if name.startswith(f"{engines.__name__}.")}
    assert loaded == {f"{engines.__name__}.incremental"}
    assert {"numba", "scipy"}.isdisjoint(used.split())
