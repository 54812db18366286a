"""Engines in a process of their own, which knows the specification and nothing else.

The process is a fresh interpreter in isolated mode, in an empty folder, with an environment of a few names. It gets a JSON object a job on
standard input: the specification, how it is searched for and the seeds of the copies to make. It answers on standard output, for each
copy, with a line of JSON and then the codes as an NPY array; nothing is pickled. Before it answers it makes sure that none of the
modules which read data files were imported: no engine could have seen a record.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess  # nosec: a fresh interpreter of our own, without a shell
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from ..._base.errors import ChaffinchError, InputError
from ..._base.results import to_plain
from ..domain import Codes, OutputDomain
from ..equations import Problem
from .engine import PROPOSALS, Checkpoint, Solved
from .settings import MAX_ERROR, SEARCH_ENGINES, SearchSettings, StartName
from .state import OutputError

FORBIDDEN = (
    "chaffinch.table",
    "chaffinch.counts",
    "chaffinch.privacy",
    "chaffinch.synth",
    "chaffinch.stats",
    "chaffinch.cli",
)
"""Packages that read data, or hold it: the process fails if one of them is loaded."""

KEPT = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LOCALAPPDATA",
    "NUMBA_CACHE_DIR",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
)
"""Names of the environment that the process gets: where compiled kernels are kept, and what the system needs to start it."""

PACKAGE = Path(__file__).absolute().parents[2] / "__init__.py"
START = f"""
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("{__package__.split(".")[0]}", sys.argv[1])
sys.modules[spec.name] = package = module_from_spec(spec)
spec.loader.exec_module(package)
from {__name__} import main
main()
"""
"""What the process begins with: the package that started it, from its own folder, since an isolated interpreter would find the installed one."""

GRACE = 900.0
"""Seconds beyond those of the search before a process counts as hanging: starting, and compiling once for each installation."""
PATIENCE = 50.0
"""How many times the seconds that the rule of `engine.py` has for a search may pass before the process counts as hanging. A machine may be
slow or busy, and that is no fault: this is an error, never a result."""

MOST_HEAD = 64 << 20


@dataclass(frozen=True)
class EngineJob:
    """What a process is asked for, as in `evolve`: the specification as plain data, and for each copy the entropy and spawn key of its stream.

    `expected` is about how many seconds a copy takes: only a process that takes many times as long counts as hanging, and is ended.
    """

    spec: Mapping[str, Any] = field(repr=False)
    seeds: Sequence[tuple[int | Sequence[int], Sequence[int]]]
    search: SearchSettings = field(default_factory=SearchSettings)
    start: StartName = "uniform"
    rows: int | None = None
    expected: float = 60.0


def run(
    job: EngineJob,
    *,
    each: Callable[[int, Solved], None] | None = None,
    engines: Engines | None = None,
) -> list[Solved]:
    """Return a copy for each seed of a job, made by an engine in a process of its own, or in one of `engines`.

    `each` is called with the number of a copy, from 0, as it arrives. Errors of the process are raised here with its message.
    """
    if engines is None:
        with Engines() as engines:
            return engines.run(job, each)
    return engines.run(job, each)


class Engines:
    """Processes that are kept for the next job, since starting one takes as long as many a search; they end with the block.

    A process gets one specification after the other and no file; what a job answers does not depend on the jobs before it. One that failed is not used again.
    """

    def __init__(self) -> None:
        self._idle: list[_EngineProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        while self._idle:
            self._idle.pop().end()

    def run(
        self, job: EngineJob, each: Callable[[int, Solved], None] | None = None
    ) -> list[Solved]:
        """Return a copy for each seed of a job, as `run` does; threads may ask at once."""
        try:
            process = self._idle.pop()
        except IndexError:
            process = _EngineProcess()
        try:
            copies = process.run(job, each)
        except BaseException:
            process.end()
            raise
        self._idle.append(process)
        return copies


class _EngineProcess:
    """One process, its pipes and its empty folder."""

    def __init__(self) -> None:
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {
            f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")
        }
        pipe, command = subprocess.PIPE, [sys.executable, "-I", "-c", START, str(PACKAGE)]
        self._folder = tempfile.TemporaryDirectory(prefix="chaffinch-")
        try:
            self._child = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=self._folder.name,
                env=environment,
            )
        except BaseException:
            self._folder.cleanup()
            raise
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._in, self._out, self._log = self._child.stdin, self._child.stdout, self._child.stderr
        self._noise: list[bytes] = []
        self._listener = threading.Thread(
            target=lambda log: self._noise.append(log.read()), args=(self._log,), daemon=True
        )
        self._listener.start()

    def run(self, job: EngineJob, each: Callable[[int, Solved], None] | None) -> list[Solved]:
        """Return a copy for each seed of a job."""
        limit = len(job.seeds) * PATIENCE * (job.expected + 10.0) + GRACE
        late = threading.Event()
        timer = threading.Timer(min(limit, threading.TIMEOUT_MAX), _stop, (self._child, late))
        timer.daemon = True
        timer.start()
        copies: list[Solved] = []
        try:
            with contextlib.suppress(BrokenPipeError):
                self._in.write(request_line(job) + b"\n")
                self._in.flush()
            for number, solved in enumerate(_answers(self._out, len(job.seeds))):
                copies.append(solved)
                if each:
                    each(number, solved)
        finally:
            timer.cancel()
        if late.is_set():
            raise ChaffinchError(
                f"The engine's process did not end within {limit:.0f} seconds, many times what it should need, so it was stopped and nothing "
                "is concluded. Give it fewer proposals, or run it again when the machine has less to do."
            )
        if len(copies) < len(job.seeds):
            self.end()
            last = (
                b"".join(self._noise).decode(errors="replace").strip().splitlines()
                or ["it said nothing"]
            )[-1]
            raise ChaffinchError(
                f"The engine's process ended before it had made its copies: {last[:300]}"
            )
        return copies

    def end(self) -> None:
        """End the process; again is no error."""
        self._child.kill()
        self._child.wait()
        self._listener.join(5.0)
        for stream in (self._in, self._out, self._log):
            with contextlib.suppress(OSError):
                stream.close()
        self._folder.cleanup()


def request_line(job: EngineJob) -> bytes:
    """Return a job as its process gets it."""
    return json.dumps({**to_plain(job), "search": to_plain(job.search.given())}).encode()


def _stop(child: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    child.kill()


def _answers(stream: IO[bytes], copies: int) -> Iterator[Solved]:
    """Read what the process answers, copy by copy; fewer where it ends before."""
    for _ in range(copies):
        if not (line := stream.readline(MOST_HEAD)):
            return
        head = json.loads(line)
        if "error" in head:
            kind = InputError if head["input"] else ChaffinchError
            raise kind(head["error"])
        codes = np.load(io.BytesIO(stream.read(head.pop("bytes"))))
        trace = tuple(
            Checkpoint(**{**point, "errors": _errors(point["errors"])})
            for point in head.pop("trace")
        )
        yield Solved(codes, **{**head, "errors": _errors(head["errors"]), "trace": trace})


def _errors(rows: Sequence[Mapping[str, Any]]) -> tuple[OutputError, ...]:
    return tuple(OutputError(**row) for row in rows)


# What follows runs in the process.


def main() -> None:
    """Read jobs from standard input, a line each, make their copies, and answer on standard output; an error ends it."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the log, not among the answers
    try:
        while line := sys.stdin.buffer.readline():
            _work(json.loads(line), answers)
    except ChaffinchError as error:
        _say(answers, {"error": str(error), "input": isinstance(error, InputError)})
    except MemoryError:
        message = "The engine's process ran out of memory. Ask for fewer rows, or let fewer processes work at once (--threads, workers)."
        _say(answers, {"error": message, "input": True})
    except Exception as error:
        # The process must say why it ends; its words may quote data of no one, since it has none.
        _say(
            answers,
            {"error": f"The engine failed ({type(error).__name__}): {error}", "input": False},
        )


def _say(answers: IO[bytes], head: Mapping[str, Any], body: bytes = b"") -> None:
    answers.write(json.dumps(head).encode() + b"\n" + body)
    answers.flush()


def _work(request: dict[str, Any], answers: IO[bytes]) -> None:
    from ..document import Outputs

    search = SearchSettings.from_options(**request.pop("search", {}))
    job = EngineJob(**request, search=search)
    spec = Outputs.from_dict(job.spec)
    problem, rows = spec.problem(job.rows), spec.n_rows(job.rows)
    if job.start != "margins":  # without what is known of margins
        problem = Problem(
            OutputDomain(tuple(replace(column, weights=None) for column in problem.domain)),
            problem.outputs,
        )
    engine = SEARCH_ENGINES[search.search_engine]
    own_settings = search.engine_settings
    options = {} if own_settings is None else {"settings": own_settings}
    engine.warm_up(problem, problem.domain.start(50, seed=0), search)
    for entropy, key in job.seeds:
        first, seed = np.random.SeedSequence(entropy, spawn_key=tuple(key)).spawn(2)
        solved = engine.solve(
            problem,
            problem.domain.start(rows, seed=first),
            proposals=PROPOSALS if search.proposals is None else search.proposals,
            tolerance=MAX_ERROR if search.max_error is None else search.max_error,
            seed=seed,
            **options,
        )
        if seen := [
            name for name in FORBIDDEN if name in sys.modules
        ]:  # a module is never there without its package
            raise ChaffinchError(
                f"An engine loaded {seen[0]}, which reads data. Engines must not: please report this."
            )
        body = io.BytesIO()
        np.save(body, _narrow(solved.codes))
        solved = replace(solved, trace=_thin(solved.trace))
        head = {
            entry.name: to_plain(getattr(solved, entry.name))
            for entry in fields(solved)
            if entry.name != "codes"
        }
        _say(answers, {**head, "bytes": body.getbuffer().nbytes}, body.getvalue())


def _narrow(codes: Codes) -> np.ndarray[Any, Any]:
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))


MOST_POINTS = 200


def _thin(trace: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    """At most `MOST_POINTS` checkpoints, the first and the last among them."""
    if len(trace) <= MOST_POINTS:
        return trace
    return tuple(
        trace[k] for k in np.unique(np.linspace(0, len(trace) - 1, MOST_POINTS).astype(int))
    )
