"""`chaffinch open` as a person waits for it: its start, the columns of 500 columns x 10^6 rows, and its answers while a run uses both cores.

    python -m benchmarks.page_speed            # start, columns and answers
    python -m benchmarks.page_speed start      # one of them; columns-whole waits until all rows were read

Processor time stands beside time on the clock: on a computer that is used by others too only the first tells of the page.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from benchmarks.common import SCRATCH as PLACE
from benchmarks.common import save

SCRATCH = PLACE.resolve()
ROWS, COLUMNS = 1_000_000, 500
SCREENS = (
    "/open",
    "/columns",
    "/attackers",
    "/promise",
    "/runs",
    "/runs/live",
    "/result/1",
    "/compare",
    "/decide",
)
TICK = os.sysconf("SC_CLK_TCK")


class Served:
    """A page that was started as a person starts it."""

    def __init__(self, place: Path, project: Path) -> None:
        words = [
            sys.executable,
            "-m",
            "chaffinch",
            "open",
            str(place),
            "--project",
            str(project),
            "--no-browser",
        ]
        start = time.perf_counter()
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        address = self.process.stderr.readline().split()[-1]
        self.started = time.perf_counter() - start
        self.cpu_at_start = cpu_of(self.process.pid)
        self.host, self.cookie = address.split("/")[2], ""
        self.cookie = self.ask("GET", "/" + address.split("/", 3)[3])[1]["set-cookie"].partition(
            ";"
        )[0]

    def ask(
        self, method: str, path: str, body: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Return the status, the headers and the text of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=120)
        connection.request(method, path, body, {"cookie": self.cookie, **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def post(self, where: str, screen: str, /, **fields: str) -> None:
        """Send a form of a screen."""
        text = self.ask("GET", screen)[2]
        own = {
            name: found[1]
            for name in ("form_key", "choices", "decisions")
            if (found := re.search(f'name="{name}" value="([^"]*)"', text))
        }
        kind = {
            "origin": f"http://{self.host}",
            "content-type": "application/x-www-form-urlencoded",
        }
        status, _, said = self.ask("POST", where, urlencode({**own, **fields}), **kind)
        assert status == 303, said

    def until(self, path: str, words: str, every: float = 0.1) -> float:
        """Return how long it takes until a screen says some words."""
        start = time.perf_counter()
        while words not in (text := self.ask("GET", path)[2]):
            assert "ended without a word" not in text
            time.sleep(every)
        return time.perf_counter() - start

    def close(self) -> None:
        """End the page."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


def cpu_of(pid: int) -> float:
    """Return the processor time of a process so far, with that of its children that ended."""
    return (
        sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        / TICK
    )


def cpu_of_group(leader: int) -> float:
    """Return the processor time of all processes of a session so far."""
    total = 0.0
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if os.getsid(int(place.name)) == leader:
                    total += cpu_of(int(place.name))
            except OSError:
                continue
    return total


def wide(name: str) -> Path:
    """Return a file of 500 columns x 10^6 rows: flags, ages, measurements, words and months; made when first needed."""
    path = SCRATCH / name
    if path.exists():
        return path
    SCRATCH.mkdir(exist_ok=True)
    rng, part = np.random.default_rng(1), 50_000
    kinds: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array(rng.integers(0, 2, part)),
        lambda: pa.array(rng.integers(18, 90, part)),
        lambda: pa.array(np.round(rng.normal(50, 10, part), 2)),
        lambda: pa.array(np.array(list("abcdef"))[rng.integers(0, 6, part)]),
        lambda: pa.array(rng.integers(0, 12, part)),
    )
    writer = None
    for _ in range(0, ROWS, part):
        table = pa.table({f"c{i:03d}": kinds[i % 5]() for i in range(COLUMNS)})
        if writer is None:
            writer = (
                pq.ParquetWriter(path, table.schema)
                if name.endswith("parquet")
                else pc.CSVWriter(path, table.schema)
            )
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def fresh() -> Path:
    """Return where a new project may go."""
    shutil.rmtree(SCRATCH / "page", ignore_errors=True)
    SCRATCH.mkdir(exist_ok=True)
    return SCRATCH / "page"


def row(what: str, seconds: list[float], cpu: float | str, goal: str) -> dict[str, object]:
    """Return a line of the result; times in milliseconds."""
    ordered = sorted(seconds)
    return {
        "what": what,
        "times": len(ordered),
        "median ms": round(1000 * statistics.median(ordered)),
        "95 % ms": round(1000 * ordered[int(0.95 * (len(ordered) - 1))]),
        "CPU ms each": cpu if isinstance(cpu, str) else round(1000 * cpu, 1),
        "goal ms": goal,
        "load": round(os.getloadavg()[0], 1),
    }


def start() -> list[dict[str, object]]:
    """Return how long it takes from the command to the address."""
    seconds, cpu = [], []
    for _ in range(5):
        served = Served(SCRATCH, fresh())
        seconds.append(served.started)
        cpu.append(served.cpu_at_start)
        served.close()
    return [row("start: from the command to the address", seconds, min(cpu), "2000")]


def columns(whole: bool = False) -> list[dict[str, object]]:
    """Return how long it takes from opening a wide file to its columns: of its first rows, and of all where that is asked for."""
    rows = []
    for name in ("wide.parquet", "wide.csv"):
        path = wide(name)
        served = Served(SCRATCH, project := fresh())
        begin = time.perf_counter()
        served.post("/open", "/open", path=str(path))
        served.until("/columns", "The same as text")
        seconds = time.perf_counter() - begin
        look = project / "look" / "begun.json"
        worker = int(re.search(r'"pid": (\d+)', look.read_text())[1])  # type: ignore[index]
        rows.append(
            row(
                f"{name}, {COLUMNS} x 10^6: columns of its first rows",
                [seconds],
                cpu_of_group(worker),
                "5000",
            )
        )
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            before = cpu_of(served.process.pid)
            served.ask("GET", "/columns")
            times.append(time.perf_counter() - begin)
        rows.append(
            row(
                f"{name}: the screen of {COLUMNS} columns, loaded again",
                times,
                cpu_of(served.process.pid) - before,
                "",
            )
        )
        if whole:
            served.until("/columns", "1,000,000 rows. Say", every=1.0)
            rows.append(
                row(f"{name}: columns of all rows", [time.perf_counter() - begin + seconds], "", "")
            )
        else:
            os.killpg(worker, signal.SIGKILL)
        served.close()
    return rows


def answers() -> list[dict[str, object]]:
    """Return how quickly screens come while nothing runs, and while a run uses both cores."""
    table = Path(__file__).parents[1] / "examples" / "data" / "adult_train.parquet"
    served = Served(table, fresh())
    served.until("/columns", "The same as text")
    served.post("/columns", "/columns", **{"role-0": "key", "role-9": "sensitive"})
    served.post("/runs", "/runs")
    served.until("/runs", "See the result", every=1.0)
    rows = [_answers(served, "nothing runs", 30)]
    served.post("/runs", "/runs")
    served.until("/runs", "Stop run 2")
    time.sleep(5)  # it has started
    rows.append(_answers(served, "a run uses both cores", 30))
    assert "Stop run 2" in served.ask("GET", "/runs")[2], "the run ended before the measurement did"
    served.post("/runs/2/stop", "/runs")
    served.close()
    return rows


def _answers(served: Served, what: str, times: int) -> dict[str, object]:
    seconds = []
    before = cpu_of(served.process.pid)
    for _ in range(times):
        for path in SCREENS:
            begin = time.perf_counter()
            status, _, _ = served.ask("GET", path)
            seconds.append(time.perf_counter() - begin)
            assert status == 200
    return row(
        f"an answer while {what}",
        seconds,
        (cpu_of(served.process.pid) - before) / len(seconds),
        "100",
    )


def main() -> None:
    """Measure what is asked for, and write it."""
    asked = set(sys.argv[1:]) or {"start", "columns", "answers"}
    rows = start() if "start" in asked else []
    rows += columns("columns-whole" in asked) if asked & {"columns", "columns-whole"} else []
    rows += answers() if "answers" in asked else []
    save("page_speed", list(rows[0]), [list(one.values()) for one in rows], "starlette", "uvicorn")


if __name__ == "__main__":
    main()
