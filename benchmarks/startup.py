"""What a command costs before it does much: modules it imports, CPU and wall seconds on a small file, and the first run that compiles.

    python -m benchmarks.startup [STATE] [COMMAND ...]

The file is `examples/data/cmc.csv`, 1,473 rows x 10 columns. Each command runs in a process of its own with its kernels compiled and cached; CPU seconds
(user and system, with children) and seconds are the least of five runs (REPEATS=3: of three). The run that compiles is one with an empty cache of kernels. "packages" are the
heavy ones that were imported. STATE names the state of the source in the first column of the results: rows of other states stay.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import HERE, RESULTS, SCRATCH, machine, save

CMC = HERE.parent / "examples" / "data" / "cmc.csv"
DECLARED = HERE.parent / "examples" / "data" / "cmc_declared.toml"
OUTPUTS = HERE.parent / "examples" / "outputs" / "check_cmc.toml"
HEAD = ("state", "command", "modules", "packages", "CPU, s", "s", "CPU of the run that compiles, s")
HEAVY = (
    "numpy",
    "pyarrow",
    "numba",
    "scipy",
    "sklearn",
    "pandas",
    "narwhals",
    "pydantic",
    "jinja2",
    "starlette",
)
ROLES = ("--keys", "wife_age,wife_education,num_children", "--sensitive", "contraceptive_method")
REPEATS = int(os.environ.get("REPEATS", "5"))
"""Runs of each command; fewer where somebody is in a hurry."""


COMMANDS: dict[str, tuple[object, ...]] = {
    "--version": ("--version",),
    "--help": ("--help",),
    "synth --help": ("synth", "--help"),
    "schema": ("schema", CMC, "-o", "small.toml"),
    "describe": ("describe", CMC, "--json", "small.json"),
    "plan": ("plan", CMC, "--schema", DECLARED, "--epsilon", "1"),
    "synth": ("synth", CMC, "-o", "small.csv", "--seed", "1"),
    "fit": ("fit", CMC, "-o", "small.chaffinch", "--seed", "1"),
    "sample": ("sample", "small.chaffinch", "-o", "drawn.csv", "--seed", "1"),
    "inspect": ("inspect", "small.chaffinch"),
    "utility": ("utility", CMC, "small.csv", "--measures", "tvd", "--json", "worth.json"),
    "risk": (
        "risk",
        CMC,
        "small.csv",
        *ROLES,
        "--attackers",
        "matching,memorisation",
        "--json",
        "risk.json",
    ),
    "release": (
        "release",
        CMC,
        "-o",
        "released",
        *ROLES,
        "--label",
        "contraceptive_method",
        "--attackers",
        "cap,dcap,disco,tcap,nb,memorisation",
        "--repeats",
        "1",
        "--measures",
        "tvd",
        "--seed",
        "1",
    ),
    "check --rules-only": ("check", OUTPUTS, "--data", CMC, *ROLES, "--rules-only"),
    "tree audit": ("tree", "audit", "small.skops"),
    "open": ("open", CMC, "--no-browser", "--project", "page"),
}
"""Commands in an order in which each finds the files of those before it; `open` until it prints its address."""

COMPILING = ("schema", "synth", "utility")
"""Commands whose first run, with an empty cache, is measured too."""

FLOORS = {
    "python": "pass",
    "numpy + pyarrow": "import numpy, pyarrow.compute",
    "numba": "import numba",
}
"""What no command can go below."""

TREE = """
import numpy as np, skops.io
from sklearn.tree import DecisionTreeClassifier
x = np.loadtxt({path!r}, delimiter=",", skiprows=1)
skops.io.dump(DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(x[:, :-1], x[:, -1]), "small.skops")
"""

LISTED = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=open({out!r}, 'w')))\nimport runpy; sys.argv = ['chaffinch', *sys.argv[1:]]; runpy.run_module('chaffinch', run_name='__main__')"


def run(words: list[str], cache: Path, *, serves: bool = False) -> tuple[float, float]:
    """Return the CPU seconds and the seconds of a process, until it ends or, where it serves, prints its first line."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    } | {"NUMBA_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE if serves else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    if serves:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    assert process.stderr is not None
    if status not in (0, 256) and not serves:  # 256: a policy said no
        raise SystemExit(f"{' '.join(words)} failed:\n{process.stderr.read()}")
    return usage.ru_utime + usage.ru_stime, seconds


def modules_of(words: list[str], cache: Path) -> set[str]:
    """Return the names of the modules that a command imports."""
    out = "modules.txt"
    run([sys.executable, "-c", LISTED.format(out=out), *words], cache)
    return set(Path(out).read_text().split())


def measured(name: str, cache: Path) -> list[object]:
    """Return the row of a command."""
    words = [str(word) for word in COMMANDS[name]] + ([] if name == "open" else ["--overwrite"])
    whole = [sys.executable, "-m", "chaffinch", *words]
    serves = name == "open"
    with tempfile.TemporaryDirectory() as empty:
        compiling = run(whole, Path(empty), serves=serves)[0] if name in COMPILING else None
    run(whole, cache, serves=serves)
    runs = [run(whole, cache, serves=serves) for _ in range(REPEATS)]
    modules = set() if serves else modules_of(words, cache)
    packages = " ".join(package for package in HEAVY if package in modules)
    cpu, wall = (min(values) for values in zip(*runs, strict=True))
    return [
        name,
        len(modules) or "",
        packages,
        f"{cpu:.2f}",
        f"{wall:.2f}",
        "" if compiling is None else f"{compiling:.2f}",
    ]


def main() -> None:
    """Measure every command, or those that are named."""
    state, *names = sys.argv[1:] or ["now"]
    print(machine(), "load", *(f"{load:.1f}" for load in os.getloadavg()))
    path = RESULTS / "startup.csv"
    rows: list[list[object]] = []
    if path.exists():
        with open(path, newline="") as handle:
            rows = [
                list(row)
                for row in csv.reader(handle)
                if row[0] != HEAD[0] and not (row[0] == state and (not names or row[1] in names))
            ]
    (SCRATCH / "startup").mkdir(parents=True, exist_ok=True)
    os.chdir(SCRATCH / "startup")
    cache = Path("kernels").resolve()
    subprocess.run([sys.executable, "-c", TREE.format(path=str(CMC))], check=True)
    for floor, code in FLOORS.items():
        if not names:
            runs = [run([sys.executable, "-c", code], cache) for _ in range(REPEATS)]
            rows.append(
                [
                    state,
                    f"({floor})",
                    "",
                    "",
                    *(f"{min(values):.2f}" for values in zip(*runs, strict=True)),
                    "",
                ]
            )
    for name in names or COMMANDS:
        rows.append([state, *measured(name, cache)])
        print(*rows[-1], flush=True)
    save("startup", HEAD, rows)


if __name__ == "__main__":
    main()
