"""Our private network and its peers on the tables of a folder: results/private_tables.csv, and what that says of the goals.

Every run is one line of scratch/private_tables.jsonl as soon as it is done. Runs of ours count only for the state of the source that
they were measured with; those of peers stay. Ours and peers may run beside each other: lines are appended. All but what runs on mbi is run in
this process, so the peak memory is that of all that ran before, too.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import SCRATCH, SOURCE, save, show
from benchmarks.private.compare import HEAD, Key, Run, Runs, row
from benchmarks.private.folder import SETS, folder_table
from benchmarks.private.ours import BOOTSTRAP
from benchmarks.private.ours import run as run_ours
from benchmarks.private.peers import MBI
from benchmarks.private.peers import run as run_peer
from benchmarks.private.tree import run as run_tree

DELTA = 1e-6
EPSILONS = (1.0, 0.1, 10.0)
METHODS = (
    "BayesNet",
    "BayesNet, pure",
    "PrivBayes",
    "PrivBayes, add-remove",
    "Independent",
    BOOTSTRAP,
)
MST, MBI_MST, AIM = "MST", "mbi MST", "mbi AIM"
NOTE = SCRATCH / "private_tables.jsonl"

PEER_RUNS = {(MBI_MST, 1.0): 1, (AIM, 1.0): 1}
"""Runs of what runs on mbi, at an epsilon: they are dear. MST on mbi is there to check that on our own engine."""

LIMITS = {MBI_MST: 1_800, AIM: 3_600}
"""Seconds of processor time for one run."""

AIM_TABLES = ("sm_fair", "nyc_planes", "sm_anes96", "islp_wage", "sm_randhie")
"""Where AIM is tried."""

SHORT: tuple[tuple[str, float | None], ...] = (
    *((method, epsilon) for epsilon in sorted(EPSILONS) for method in ("BayesNet", MST)),
    (AIM, 1.0),
    ("Independent", None),
    (BOOTSTRAP, None),
)
"""The columns of results/private_judged.csv: one row a table, mean 2-way and 3-way distances."""


@dataclass(frozen=True)
class Question:
    """What to run: tables of a folder, methods, epsilons, how often."""

    folder: Path
    tables: tuple[str, ...]
    methods: tuple[str, ...] = METHODS
    epsilons: tuple[float, ...] = EPSILONS
    repeats: int = 5

    @classmethod
    def of(
        cls, folder: str, tables: str, methods: str | None, epsilons: str | None, repeats: int
    ) -> Question:
        """Return the question that words of a command line ask: names with commas between them; "tuning" and "judging" are sets."""
        names = [name for word in tables.split(",") for name in SETS.get(word, (word,))]
        chosen = METHODS if methods is None else tuple(methods.split(";"))
        budgets = (
            EPSILONS if epsilons is None else tuple(float(word) for word in epsilons.split(","))
        )
        return cls(Path(folder), tuple(names), chosen, budgets, repeats)

    def keys(self, name: str) -> list[Key]:
        """Return what is asked of ours on one table: baselines once, the others at each epsilon."""
        plain = [m for m in self.methods if m in ("Independent", BOOTSTRAP)]
        private = [m for m in self.methods if m not in plain]
        return [(name, m, e) for e in self.epsilons for m in private] + [
            (name, m, None) for m in plain
        ]


def judge(question: Question, *, only: str | None, resume: bool) -> None:
    """Run ours, peers or both; without `resume` this is a trial, of which nothing is saved."""
    runs = Runs(resume=resume, kept=resume, note=NOTE)
    if only in (None, "ours"):
        ours(runs, question)
    if only in (None, "peers", "trees"):
        trees(runs, question)
    if only in (None, "peers"):
        peers(runs, question)
    if resume:
        write(question.folder)


def ours(runs: Runs, question: Question) -> None:
    """Run what is missing of ours, and print it."""
    for name in question.tables:
        coarse = folder_table(question.folder, name)
        for key in question.keys(name):
            missing = question.repeats - len(runs.of(key, SOURCE))
            if missing > 0:
                done = run_ours(coarse, key[1], key[2], missing, DELTA)
                runs.add(key, [{**run, "source": SOURCE} for run in done])
                print(name, *row(runs.of(key, SOURCE)), flush=True)


def trees(runs: Runs, question: Question) -> None:
    """Run what is missing of MST on the engine for trees, whose runs are cheap."""
    for name in question.tables:
        coarse = folder_table(question.folder, name)
        for epsilon in question.epsilons:
            key: Key = (name, MST, epsilon)
            for seed in range(len(runs.of(key)) + 1, question.repeats + 1):
                runs.add(key, [run_tree(coarse, epsilon=epsilon, delta=DELTA, seed=seed)])
            print(name, *row(runs.of(key)), flush=True)


def peers(runs: Runs, question: Question) -> None:
    """Run what is missing on mbi; a run past its limit is noted and not tried again."""
    for (peer, epsilon), most in PEER_RUNS.items():
        for name in [name for name in question.tables if peer == MBI_MST or name in AIM_TABLES]:
            key: Key = (name, peer, epsilon)
            for seed in range(len(runs.of(key)) + 1, most + 1):
                coarse, folder, limit = (
                    folder_table(question.folder, name),
                    SCRATCH / f"private_peer_{name}",
                    LIMITS[peer],
                )
                method = peer.split()[-1]
                found = run_peer(
                    MBI,
                    method,
                    coarse,
                    folder,
                    epsilon=epsilon,
                    delta=DELTA,
                    seed=seed,
                    limit=limit,
                )
                runs.add(key, [{"stopped": limit} if found is None else found])
                print(
                    name,
                    *(row(runs.of(key)) if found else [peer, epsilon, f"stopped after {limit} s"]),
                    flush=True,
                )


def finished(runs: Runs, key: Key) -> list[Run]:
    """Return the runs of a key that came to their end: of ours, those of the newest source."""
    done = [run for run in runs.of(key) if "stopped" not in run]
    return [run for run in done if run.get("source") == done[-1].get("source")]


def write(folder: Path) -> None:
    """Write all runs so far as results/private_tables.csv, and the goals beside it."""
    runs = Runs(resume=True, kept=False, note=NOTE)
    rows: list[list[object]] = []
    verdicts: list[list[object]] = []
    short: list[list[object]] = []
    for group, names in SETS.items():
        for name in names:
            coarse = folder_table(folder, name)
            shape = f"{coarse.n_rows:,} x {len(coarse.sizes)}"
            at = {
                (method, epsilon): finished(runs, (name, method, epsilon))
                for epsilon in (*sorted(EPSILONS), None)
                for method in (*METHODS, MST, MBI_MST, AIM)
            }
            rows += [[group, name, shape, *row(found)] for found in at.values() if found]
            verdicts += [[group, name, shape, *verdict] for verdict in goals(at)]
            short.append(
                [group, name, shape, *(cell(at[method, epsilon]) for method, epsilon in SHORT)]
            )
    save("private_tables", ["set", "table", "shape", *HEAD], rows, "opendp")
    labels = [method if epsilon is None else f"{method}, {epsilon:g}" for method, epsilon in SHORT]
    save("private_judged", ["set", "table", "shape", *labels], short, "opendp")
    head = [
        "set",
        "table",
        "shape",
        "ours",
        "beside",
        "epsilon",
        "ours, 2-way",
        "theirs",
        "ratio",
        "two s.e.",
        "verdict",
    ]
    save("private_tables_goals", head, verdicts, "opendp")
    for group in SETS:
        for peer in (MST, AIM):
            ratios = [
                float(str(v[8])) for v in verdicts if v[0] == group and v[4] == peer and v[5] == "1"
            ]
            if ratios:
                show(
                    ["set", "beside", "tables", "mean ratio at epsilon 1"],
                    [[group, peer, len(ratios), f"{statistics.fmean(ratios):.3f}"]],
                )


def cell(found: Sequence[Run]) -> str:
    """Return the mean 2-way and 3-way distances in a word."""
    return (
        " / ".join(
            f"{statistics.fmean(run[name] for run in found):.4f}" for name in ("two", "three")
        )
        if found
        else ""
    )


def goals(at: dict[tuple[str, float | None], list[Run]]) -> list[list[object]]:
    """Return, for one table, our mean 2-way distance beside those of others, and whether it is worse beyond two standard errors."""
    pairs = [
        ("BayesNet", MST),
        ("BayesNet", AIM),
        ("BayesNet, pure", "PrivBayes, add-remove"),
        ("BayesNet", "Independent"),
    ]
    out: list[list[object]] = []
    for mine, other in pairs:
        for epsilon in sorted(EPSILONS):
            a, b = at[mine, epsilon], at[other, None if other == "Independent" else epsilon]
            if a and b:
                own, theirs = (statistics.fmean(run["two"] for run in found) for found in (a, b))
                error = 2 * (standard_error(a) ** 2 + standard_error(b, like=a) ** 2) ** 0.5
                verdict = (
                    "better"
                    if own < theirs - error
                    else "worse"
                    if own > theirs + error
                    else "equal"
                )
                told = [
                    f"{own:.4f}",
                    f"{theirs:.4f}",
                    f"{own / theirs:.3f}",
                    f"{error:.4f}",
                    verdict,
                ]
                out.append([mine, other, f"{epsilon:g}", *told])
    return out


def standard_error(found: Sequence[Run], *, like: Sequence[Run] = ()) -> float:
    """Return the standard error of the mean 2-way distance; a single run has the spread of other runs."""
    source = found if len(found) > 1 else like
    return (
        statistics.stdev(run["two"] for run in source) / len(found) ** 0.5
        if len(source) > 1
        else 0.0
    )
