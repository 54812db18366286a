"""Run our private synthesisers and their peers on the same codes, and write results/private_*.csv.

Every run is one line of scratch/private_runs.jsonl as soon as it is done, so that a benchmark that was stopped can go on (`resume`).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import HERE, SCRATCH, save, show
from benchmarks.private.coarse import TABLES, Coarse
from benchmarks.private.ours import BOOTSTRAP, DELTA, PLAIN, methods
from benchmarks.private.peers import DATASYNTHESIZER, DPMM, MBI, THREADS, Peer
from benchmarks.private.peers import run as run_peer
from benchmarks.private.plot import read

EPSILONS = (0.1, 1.0, 10.0, 1000.0)
RUNS = 5
ONCE = {(method, 1000.0) for method in ("PrivBayes", "PrivBayes, add-remove", "PrivBayes, sdg")}
"""Runs that are done once: tables are limited by usefulness alone there, and noise is drawn for millions of cells."""

ELSEWHERE = ("BayesNet", "BayesNet, pure", "PrivBayes", "FieldGroups", "Independent", BOOTSTRAP)
"""What is run on the other tables."""

NOTE = SCRATCH / "private_runs.jsonl"

PEERS: dict[str, tuple[Peer, str, int]] = {
    "mbi MST": (MBI, "MST", 3),
    "DataSynthesizer, k=1": (DATASYNTHESIZER, "1", 2),
    "dpmm PrivBayes": (DPMM, "PrivBayes", 2),
    "dpmm MST": (DPMM, "MST", 1),
}
"""Each with the method that its script is asked for and the number of runs, fewer where they are long."""

PEER_EPSILONS = (0.1, 1.0)
LIMIT = 900
"""Seconds of processor time for one run of a peer."""

HEAD = [
    "method",
    "epsilon",
    "runs",
    "1-way",
    "2-way",
    "s.d.",
    "worst 2-way",
    "3-way",
    "CPU s",
    "wall s",
    "peak MiB",
]

Run = dict[str, Any]
Key = tuple[str, str, float | None]


def key_of(run: Run) -> Key:
    """Return what a run was of: table, method, epsilon (None is no privacy)."""
    return run["table"], run["method"], run["epsilon"]


class Runs:
    """The runs done so far, kept in a file of JSON lines."""

    def __init__(self, *, resume: bool, kept: bool, note: Path = NOTE) -> None:
        if kept and not resume:
            note.unlink(missing_ok=True)
        done = note.read_text().splitlines() if resume and note.exists() else []
        self._runs: list[Run] = [json.loads(line) for line in done]
        self._kept = kept
        self._note = note

    def of(self, key: Key, source: str | None = None) -> list[Run]:
        """Return the runs of a key; with a source, only those that noted this state of it."""
        return [
            run
            for run in self._runs
            if key_of(run) == key and (source is None or run.get("source") == source)
        ]

    def add(self, key: Key, found: Iterable[Run]) -> None:
        """Keep runs, in memory and in the file."""
        table, method, epsilon = key
        new = [{"table": table, "method": method, "epsilon": epsilon, **run} for run in found]
        self._runs += new
        if self._kept:
            SCRATCH.mkdir(exist_ok=True)
            with open(self._note, "a") as handle:
                handle.writelines(json.dumps(run) + "\n" for run in new)


def run_ours(
    name: str,
    coarse: Coarse,
    method: str,
    epsilon: float | None,
    runs: int,
    *,
    delta: float = DELTA,
) -> list[Run]:
    """Return runs of one of ours in a process of its own."""
    folder = SCRATCH / f"private_{name}"
    coarse.write(folder)
    told = "none" if epsilon is None else f"{epsilon:g}"
    command = [
        sys.executable,
        "-m",
        "benchmarks.private.ours",
        str(folder),
        method,
        told,
        str(runs),
        f"{delta:g}",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
        env={**os.environ, **THREADS},
    )
    if done.returncode:
        raise SystemExit(f"{method} at epsilon {told} failed on {name}:\n{done.stderr[-2000:]}")
    found: list[Run] = json.loads(done.stdout.splitlines()[-1])
    return found


def ours(
    runs: Runs, name: str, coarse: Coarse, *, repeats: int, among: Sequence[str] | None = None
) -> list[list[object]]:
    """Return the rows of our methods on one table, or of those among them."""
    wanted: list[Key] = [(name, method, epsilon) for method in methods() for epsilon in EPSILONS]
    wanted += [(name, method, None) for method in (*PLAIN, BOOTSTRAP)]
    wanted = [key for key in wanted if among is None or key[1] in among]
    for key in wanted:
        missing = (1 if key[1:] in ONCE else repeats) - len(runs.of(key))
        if missing > 0:
            runs.add(key, run_ours(name, coarse, key[1], key[2], missing))
            print(*row(runs.of(key)), flush=True)
    return [row(runs.of(key)[:repeats]) for key in wanted]


def peers(runs: Runs, coarse: Coarse, *, repeats: int) -> list[list[object]]:
    """Return the rows of the peers on coarse Adult."""
    wanted: list[Key] = [("adult", label, epsilon) for label in PEERS for epsilon in PEER_EPSILONS]
    for seed in range(1, repeats + 1):
        for key in wanted:
            peer, method, most = PEERS[key[1]]
            if len(runs.of(key)) >= seed or seed > most:
                continue
            folder = SCRATCH / f"private_{peer.name}"
            found = run_peer(
                peer,
                method,
                coarse,
                folder,
                epsilon=key[2] or 0.0,
                delta=DELTA,
                seed=seed,
                limit=LIMIT,
            )
            if found is None:
                print(
                    f"{key[1]} at epsilon {key[2]} did not finish in {LIMIT} s of processor time.",
                    flush=True,
                )
                continue
            runs.add(key, [found])
            print(*row(runs.of(key)), flush=True)
    return [row(runs.of(key)[:repeats]) for key in wanted if runs.of(key)]


def row(found: Sequence[Run]) -> list[object]:
    """Return the means over runs as a row of the table."""
    means = {
        name: statistics.fmean(run[name] for run in found)
        for name in ("one", "two", "worst", "three")
    }
    spread = f"{statistics.stdev(run['two'] for run in found):.4f}" if len(found) > 1 else ""
    cost = ["", "", ""]
    if all("cpu" in run for run in found):
        seconds = [
            f"{statistics.fmean(run[name] for run in found):.2f}" for name in ("cpu", "wall")
        ]
        cost = [*seconds, f"{max(run['peak'] for run in found):.0f}"]
    epsilon = found[0]["epsilon"]
    told = [f"{means[name]:.4f}" for name in ("one", "two")]
    return [
        found[0]["method"],
        "none" if epsilon is None else f"{epsilon:g}",
        len(found),
        *told,
        spread,
        *(f"{means[name]:.4f}" for name in ("worst", "three")),
        *cost,
    ]


def goals(
    mine: Sequence[Sequence[object]], theirs: Sequence[Sequence[object]]
) -> list[list[object]]:
    """Return what was aimed at beside what was measured; "published at least as good" is set by the peers' own rows."""
    at = {(str(r[0]), str(r[1])): dict(zip(HEAD, r, strict=True)) for r in (*mine, *theirs)}
    wanted = [
        ("2-way, epsilon 1", "BayesNet", "1", "2-way", 0.041, 0.035),
        ("3-way, epsilon 1", "BayesNet", "1", "3-way", 0.090, 0.078),
        ("2-way, epsilon 0.1", "BayesNet", "0.1", "2-way", 0.085, 0.070),
        ("CPU seconds, epsilon 1", "BayesNet", "1", "CPU s", 5.0, 1.5),
    ]
    out: list[list[object]] = []
    for what, method, epsilon, measure, bar, stretch in wanted:
        value = float(str(at[method, epsilon][measure]))
        verdict = "stretch" if value <= stretch else "met" if value <= bar else "not met"
        out.append([f"{method}: {what}", f"{bar:g}", f"{stretch:g}", f"{value:g}", verdict])
    for peer in ("dpmm PrivBayes", "DataSynthesizer, k=1"):
        for epsilon in ("1", "0.1"):
            if (peer, epsilon) in at:
                bar, value = (
                    float(str(at[name, epsilon]["2-way"])) for name in (peer, "PrivBayes")
                )
                verdict = "met" if value <= bar else "not met"
                out.append(
                    [
                        f"PrivBayes: 2-way, epsilon {epsilon}, beside {peer}",
                        f"{bar:g}",
                        "",
                        f"{value:g}",
                        verdict,
                    ]
                )
    return out


def compare(*, only: str | None, resume: bool, rows: int | None, repeats: int = RUNS) -> None:
    """Run all, or "ours", "others" (Cardio, CMC) or "peers" only; nothing is saved of a trial, which has fewer rows or runs."""
    kept = rows is None and repeats == RUNS
    runs = Runs(resume=resume and kept, kept=kept)
    put = save if kept else (lambda _, head, body, *packages: show(head, body))
    adult = TABLES["adult"]().head(rows)
    mine: list[list[object]] = []
    theirs: list[list[object]] = []
    if only in (None, "ours"):
        mine = ours(runs, "adult", adult, repeats=repeats)
        put("private_adult", HEAD, mine, "opendp")
    if only in (None, "others"):
        others = {
            name: ours(runs, name, TABLES[name]().head(rows), repeats=repeats, among=ELSEWHERE)
            for name in ("cmc", "cardio")
        }
        put(
            "private_others",
            ["table", *HEAD],
            [[name, *r] for name in others for r in others[name]],
            "opendp",
        )
    if only in (None, "peers"):
        theirs = peers(runs, adult, repeats=repeats)
        put("private_peers", HEAD, theirs)
    if kept:  # what was not asked for now stands as it was measured before
        mine = mine or [[row[name] for name in HEAD] for row in read("private_adult")]
        theirs = theirs or [[row[name] for name in HEAD] for row in read("private_peers")]
    if mine and theirs:
        put(
            "private_goals",
            ["goal", "at most", "stretch", "measured", "verdict"],
            goals(mine, theirs),
            "opendp",
        )
