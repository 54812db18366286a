"""The spawned process: what it gets, what it must not have, and how it fails."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from chaffinch.errors import ChaffinchError, InputError
from chaffinch.outputs.solve import process
from chaffinch.outputs.solve.process import EngineJob, Engines, run
from chaffinch.outputs.solve.settings import SearchSettings

SPEC = {
    "format": "chaffinch-outputs",
    "version": 1,
    "rows": 60,
    "columns": [
        {"name": "sex", "levels": ["f", "m"], "weights": [9, 1]},
        {"name": "age", "from": 0, "to": 300},
    ],
    "outputs": [
        {"name": "by sex", "kind": "table", "by": ["sex"], "counts": [20, 40]},
        {"name": "old", "kind": "mean", "of": "age", "value": "150.0"},
    ],
}
SEEDS = [(7, (0,)), (7, (1,))]


def job(**changes):
    return EngineJob(
        **{"spec": SPEC, "seeds": SEEDS, "search": SearchSettings(proposals=2_000_000), **changes}
    )


@pytest.fixture(scope="module")
def second_alone():
    return run(job(seeds=SEEDS[1:]))[0].codes


def test_copies_arrive_in_order_with_their_traces(second_alone):
    seen = []
    made = run(job(), each=lambda number, one: seen.append((number, one)))
    assert [number for number, _ in seen] == [0, 1]
    for one in made:
        assert one.reached
        assert one.codes.shape == (60, 2)
        assert one.codes.dtype == np.uint16
        assert np.bincount(one.codes[:, 0]).tolist() == [20, 40]
        assert abs(one.codes[:, 1].mean() - 150.0) <= 0.05
        assert one.trace[-1].errors == one.errors
    assert (made[0].codes != made[1].codes).any()
    np.testing.assert_array_equal(second_alone, made[1].codes)


PROBE = """
import json, os, sys
sys.argv = ["x"]
import chaffinch.outputs.solve.process as process
import io
answers = io.BytesIO()
process._work(json.loads(sys.stdin.read()), answers)
print(json.dumps([sorted(sys.modules), sorted(os.environ), os.listdir("."), sys.flags.isolated]))
"""


@pytest.mark.parametrize("engine", ["incremental", "maxent", "ea"])
def test_no_reader_is_loaded_by_any_engine(engine, tmp_path):
    options = {"generations": 2, "population_size": 4} if engine == "ea" else {}
    search = {"search_engine": engine, **options}
    request = {"spec": SPEC, "seeds": [[7, [0]]], "search": search}
    found = subprocess.run(
        [sys.executable, "-I", "-c", PROBE],
        input=json.dumps(request).encode(),
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    modules = json.loads(found.stdout)[0]
    assert "chaffinch.outputs.document" in modules
    assert not [
        m
        for m in modules
        if m.startswith(("chaffinch.table", "chaffinch.counts", "pyarrow", "pandas"))
    ]


def test_the_process_is_isolated(monkeypatch, tmp_path):
    """The module is swapped for one that says where it is: its folder is empty, its environment a few names."""
    said = tmp_path / "said.json"
    (tmp_path / "fake.py").write_text(
        "import json, os, sys\n"
        f"open({str(said)!r}, 'w').write(json.dumps([os.listdir('.'), sorted(os.environ), sys.flags.isolated, os.getcwd()]))\n"
    )
    real = subprocess.Popen

    def fake(command, **options):
        assert command[1:] == ["-I", "-c", process.START, str(process.PACKAGE)]
        return real([command[0], "-I", str(tmp_path / "fake.py")], **options)

    monkeypatch.setattr(process.subprocess, "Popen", fake)
    monkeypatch.setenv("SECRET_PLACE", "x")
    with pytest.raises(
        ChaffinchError, match="ended before it had made its copies: it said nothing"
    ):
        run(job())
    listed, names, isolated, where = json.loads(said.read_text())
    assert listed == []
    assert isolated == 1
    assert set(names) <= {
        *process.KEPT,
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "LC_CTYPE",
        "PATH",
        "PWD",
        "SHLVL",
        "_",
    }
    assert "SECRET_PLACE" not in names
    assert not os.path.exists(where)


def test_the_process_runs_the_package_that_started_it(tmp_path):
    """A copy of the package, found by a path that the isolated process does not get, is not mixed with the installed one."""
    copied = tmp_path / "chaffinch"
    shutil.copytree(process.PACKAGE.parent, copied, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copied / "outputs" / "solve" / "process.py").read_text(encoding="utf-8")
    marked = text.replace(
        "def main() -> None:\n", "def main() -> None:\n    sys.exit('the copy')\n"
    )
    (copied / "outputs" / "solve" / "process.py").write_text(marked, encoding="utf-8")
    code = (
        "from chaffinch.outputs.solve.process import EngineJob, run\n"
        "run(EngineJob({}, seeds=[(1, ())]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert ended.stderr.strip().endswith(
        "The engine's process ended before it had made its copies: the copy"
    )


def test_a_process_that_loaded_a_reader_fails(monkeypatch):
    """In this process the readers are loaded: the same work must be refused here."""
    import io

    import chaffinch.table  # noqa: F401

    with pytest.raises(ChaffinchError, match=r"loaded chaffinch\.table, which reads data"):
        process._work({"spec": SPEC, "seeds": [[1, [0]]]}, io.BytesIO())


def test_errors_come_back_as_messages():
    with pytest.raises(InputError, match="There are no outputs to reproduce"):
        run(job(spec={**SPEC, "outputs": []}))


def test_a_process_is_kept_for_the_next_job_which_does_not_depend_on_the_last(
    monkeypatch, second_alone
):
    started = []
    real = subprocess.Popen

    def counted(command, **options):
        started.append(real(command, **options))
        return started[-1]

    monkeypatch.setattr(process.subprocess, "Popen", counted)
    with Engines() as engines:
        run(job(seeds=SEEDS[:1]), engines=engines)
        second = run(job(seeds=SEEDS[1:]), engines=engines)
        assert len(started) == 1
        bad = {**SPEC, "outputs": [{"name": "t", "kind": "table", "by": ["sx"], "counts": [1, 2]}]}
        with pytest.raises(InputError, match=r"Unknown column 'sx'. Did you mean 'sex'"):
            run(job(spec=bad), engines=engines)
        assert started[0].poll() is not None  # what failed is not used again
        run(job(seeds=SEEDS[:1]), engines=engines)
        assert len(started) == 2
    assert started[1].poll() is not None
    np.testing.assert_array_equal(second[0].codes, second_alone)


def test_a_process_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(process, "GRACE", -1e9)
    with pytest.raises(ChaffinchError, match="did not end within"):
        run(job())


def test_an_engine_that_crashes_says_so(monkeypatch):
    def crash(request, answers):
        raise ZeroDivisionError("by zero")

    said = []
    monkeypatch.setattr(process, "_work", crash)
    monkeypatch.setattr(process, "_say", lambda answers, head, body=b"": said.append(head))
    monkeypatch.setattr(process.os, "dup2", lambda *a: None)
    monkeypatch.setattr(process.os, "dup", lambda fd: os.open(os.devnull, os.O_WRONLY))

    class Input:
        class buffer:
            @staticmethod
            def readline():
                return b"{}\n"

    monkeypatch.setattr(process.sys, "stdin", Input)
    process.main()
    assert said == [{"error": "The engine failed (ZeroDivisionError): by zero", "input": False}]


def test_starts_from_margins_use_the_weights():
    """Nothing is said of sex here, so it stays as it starts: 9 in 10 are f, or half; 60 records, 5 sd either way."""
    free = {**SPEC, "outputs": [{"name": "old", "kind": "mean", "of": "age", "value": "150"}]}
    shares = {}
    with Engines() as engines:
        for start in ("uniform", "margins"):
            each = job(spec=free, start=start, rows=600, seeds=SEEDS[:1])
            codes = run(each, engines=engines)[0].codes
            assert len(codes) == 600
            shares[start] = (codes[:, 0] == 0).mean()
    assert abs(shares["uniform"] - 0.5) < 5 * np.sqrt(0.25 / 600)
    assert abs(shares["margins"] - 0.9) < 5 * np.sqrt(0.09 / 600)
