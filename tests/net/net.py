"""The net: what some fifty commands give, kept while the code behind them is rebuilt.

    python tests/net/net.py run FOLDER        run all cases; their files go to FOLDER, verdicts are checked
    python tests/net/net.py compare A B       what differs between two such folders, file by file
    python tests/net/net.py faults            plant ten faults in a copy of the package: each must be caught

Each case says in plain words what its commands must end with, print and leave in `to-release/`; these never change in a commit that only moves code. Other differences may,
and are named in the commit that makes them. Files are compared without what differs from run to run: times, versions, dates, folders.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
VOLATILE = ("run", "seconds", "started", "finished", "created", "date")
"""Keys of JSON whose values differ from run to run."""


@dataclass(frozen=True)
class Case:
    """Commands that run one after the other in a folder of their own, with what must come of the last.

    `{data}` in a command is the folder of bundled tables, `{outputs}` that of bundled outputs, `{made}` that of tables made for the net. `code`: its exit code; `says`: words on its screen;
    `never`: words that must not be there; `released`: what lies in `to-release/`, and `refused` in `confidential/refused/`.
    """

    name: str
    commands: tuple[str, ...]
    code: int = 0
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    released: tuple[str, ...] | None = None
    refused: tuple[str, ...] | None = None


# What the cases read.


def make_inputs(folder: Path) -> None:
    """Write the tables and outputs that the cases read: a clean table, planted leaks, and the ugly cases. Made of arithmetic, the same on every machine."""
    import numpy as np
    import pandas as pd

    draw = np.random.default_rng(20)

    def people(n: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(
            {
                "age": rng.integers(18, 80, n),
                "sex": rng.choice(["f", "m"], n),
                "area": rng.choice(list("abcdef"), n),
            }
        )
        table["weight_71"] = rng.normal(70, 12, n).round(1)
        table["weight_change"] = rng.normal(2, 4, n).round(1)
        table["weight_82"] = (table["weight_71"] + table["weight_change"]).round(1)
        table["ill"] = np.where(rng.random(n) < 0.15 + 0.005 * (table["age"] - 18), "yes", "no")
        return table

    original, fresh = people(800, 1), people(800, 2)
    original.to_csv(folder / "people.csv", index=False)
    fresh.to_csv(folder / "fresh.csv", index=False)
    people(800, 3).to_csv(
        folder / "independent.csv", index=False
    )  # a clean table: other people of the same population
    pd.concat([original.iloc[:240], people(560, 4)]).sample(frac=1, random_state=1).to_csv(
        folder / "leak.csv", index=False
    )  # 30 % copied
    pd.concat([fresh.iloc[:760], original.iloc[:40]]).to_csv(
        folder / "holdout_5_percent.csv", index=False
    )
    original.assign(name=[f"person {k}" for k in range(800)]).to_csv(
        folder / "named.csv", index=False
    )
    original.iloc[:3].to_csv(folder / "three.csv", index=False)
    original.assign(age=[f"+{age}" for age in original["age"]]).to_csv(
        folder / "plus.csv", index=False
    )
    stay = pd.to_datetime("2020-01-01") + pd.to_timedelta(draw.integers(0, 700, 800), unit="D")
    dates = pd.DataFrame(
        {
            "admitted": stay,
            "discharged": stay + pd.to_timedelta(draw.integers(1, 40, 800), unit="D"),
            "sex": original["sex"],
        }
    )
    dates.to_csv(folder / "stays.csv", index=False)
    hours = np.minimum(draw.poisson(3, 800), 24)
    hours[:30] = 24
    pd.DataFrame({"hours": hours, "sex": original["sex"], "age": original["age"]}).to_csv(
        folder / "hours.csv", index=False
    )
    waves = pd.concat(
        [original.iloc[:150].assign(person=range(150), wave=wave) for wave in (1, 2, 3)]
    )
    waves.to_csv(folder / "waves.csv", index=False)
    original.assign(
        income=np.where(original.index == 7, 987_654_321, 15_000 + 300 * original["age"])
    ).to_csv(folder / "rich.csv", index=False)
    day = folder / "day"
    day.mkdir()
    pd.crosstab(original["sex"], original["area"]).to_csv(day / "sex_by_area.csv")
    (day / "notes.md").write_text(original.head(40).to_csv(index=False))
    (day / "cut.csv").write_text('area,n\na,"12\nb,31\n')
    safe = folder / "safe"
    safe.mkdir()
    pd.crosstab(original["sex"], original["area"], margins=True, margins_name="Total").to_csv(
        safe / "sex_by_area.csv"
    )
    (safe / "outputs.toml").write_text('"sex_by_area.csv" = { by = ["sex", "area"] }\n')


# The cases.

_K = "--keys age,area,weight_71 --sensitive ill"
_R = "--label sex --attackers matching,nb,memorisation --repeats 1"

COMMANDS = (
    Case("describe", ("describe {data}/cmc.csv --json d.json",)),
    Case("schema", ("schema {data}/cmc.csv -o s.toml",)),
    Case("synth memory", ("synth {data}/cmc.csv -o s.csv --seed 1 --engine memory",)),
    Case("synth stream", ("synth {data}/cmc.csv -o s.csv --seed 1 --engine stream",)),
    Case("synth rules", ("synth {made}/people.csv -o s.csv --seed 1",)),
    Case(
        "synth epsilon",
        (
            "synth {data}/cmc.csv -o s.csv --schema {data}/cmc_declared.toml --epsilon 1 --delta 1e-6 --seed 1",
        ),
    ),
    Case(
        "synth privbayes",
        (
            "synth {data}/cmc.csv -o s.csv --schema {data}/cmc_declared.toml --method privbayes --epsilon 1 --seed 1",
        ),
    ),
    Case(
        "synth panel",
        ("synth {made}/waves.csv -o s.csv --person-id person --order-by wave --seed 1",),
    ),
    Case(
        "fit, sample, inspect",
        (
            "fit {data}/cmc.csv -o m.chaffinch --seed 1",
            "sample m.chaffinch -o s.csv -n 300 --seed 2",
            "inspect m.chaffinch --svg n.svg",
        ),
    ),
    Case(
        "utility memory",
        (
            "utility {made}/people.csv {made}/independent.csv --label ill --repeats 1 --seed 1 --engine memory --json u.json --html u.html --verbose",
        ),
    ),
    Case(
        "utility stream",
        (
            "utility {made}/people.csv {made}/independent.csv --label ill --repeats 1 --seed 1 --engine stream --json u.json",
        ),
    ),
    Case(
        "risk clean",
        (
            f"risk {{made}}/people.csv {{made}}/independent.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,nb,memorisation --seed 1 --json r.json --html r.html",
        ),
        says=("No excess was found",),
    ),
    Case(
        "risk stream",
        (
            f"risk {{made}}/people.csv {{made}}/independent.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,nb,memorisation --seed 1 --engine stream --json r.json",
        ),
    ),
    Case(
        "risk leak",
        (
            f"risk {{made}}/people.csv {{made}}/leak.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,nb,memorisation --seed 1 --max-excess 0.05 --json r.json",
        ),
        code=1,
        says=("EXCEEDS THE LIMIT", "More about its own people"),
        never=("No excess", "keeps to"),
    ),
    Case(
        "release",
        (f"release {{made}}/people.csv -o out {_K} {_R} --seed 1",),
        released=("synthetic.csv",),
    ),
    Case(
        "release holdout",
        (f"release {{made}}/people.csv -o out --holdout {{made}}/fresh.csv {_K} {_R} --seed 1",),
        released=("synthetic.csv",),
    ),
    Case(
        "release protected",
        (
            "release {data}/cmc.csv -o out --label contraceptive_method --sensitive husband_occupation --keys wife_age,wife_education --attackers matching,memorisation --repeats 1 --seed 1",
        ),
        released=("synthetic.csv",),
    ),
    Case(
        "release epsilon",
        (
            "release {data}/cmc.csv -o out --schema {data}/cmc_declared.toml --epsilon 1 --delta 1e-6 --attackers matching,memorisation --repeats 1 --seed 1",
        ),
    ),
    Case(
        "compare",
        (
            f"risk {{made}}/people.csv {{made}}/leak.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,memorisation --seed 1 --json a.json",
            f"risk {{made}}/people.csv {{made}}/independent.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,memorisation --seed 1 --json b.json",
            "compare a.json b.json --html c.html",
        ),
    ),
    Case(
        "frontier",
        (
            "frontier {made}/people.csv --keys age,area --sensitive ill --label sex --max-excess 0.2 --evaluations 4 --seed 1 -o out",
        ),
    ),
    Case("plan", ("plan --schema {data}/cmc_declared.toml --rows 1473 --epsilon 1 --json p.json",)),
    Case(
        "check rules",
        (
            "check {outputs}/check_cmc.toml --data {data}/cmc.csv --rules-only --json c.json --html c.html",
        ),
    ),
    Case(
        "check acro",
        ("check {outputs}/acro_cmc --data {data}/cmc.csv --rules-only --json c.json",),
        code=1,
    ),
    Case(
        "check measured",
        (
            "check {outputs}/check_cmc.toml --data {data}/cmc.csv --keys wife_age,wife_education,num_children --sensitive contraceptive_method --syntheses 3 --key-sizes 3 --seed 1 --json c.json",
        ),
    ),
    Case(
        "check folder",
        ("check {made}/safe --data {made}/people.csv --rules-only --json c.json",),
        says=("1 pass",),
    ),
    Case("evolve", ("evolve {outputs}/cmc.toml -o e.csv --seed 1 --json e.json",)),
)
"""What people do, with what it gives."""

UGLY = (
    Case(
        "holdout is the input",
        ("risk {made}/people.csv {made}/people.csv --holdout {made}/people.csv --max-excess 0.01",),
        code=2,
        says=("--holdout-share",),
        never=("No excess",),
    ),
    Case(
        "holdout shares 5 percent",
        ("risk {made}/people.csv {made}/independent.csv --holdout {made}/holdout_5_percent.csv",),
        code=2,
        says=("--holdout-share",),
    ),
    Case(
        "a limit that nothing shows",
        (
            f"risk {{made}}/people.csv {{made}}/independent.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,memorisation --seed 1 --max-excess 0.01",
        ),
        says=("UNDECIDED",),
        never=("keeps to", "ready"),
    ),
    Case(
        "a limit that must be shown",
        (
            f"risk {{made}}/people.csv {{made}}/independent.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,memorisation --seed 1 --max-excess 0.01 --require-shown",
        ),
        code=1,
        says=("UNDECIDED",),
    ),
    Case(
        "the original, released",
        (
            f"risk {{made}}/people.csv {{made}}/people.csv --holdout {{made}}/fresh.csv {_K} --attackers matching,memorisation --seed 1 --max-excess 0.05",
        ),
        code=1,
        says=("EXCEEDS THE LIMIT",),
    ),
    Case(
        "a release that is refused",
        (
            f"release {{made}}/people.csv -o out --holdout {{made}}/fresh.csv {_K} --attackers matching,memorisation --repeats 1 --measures tvd --seed 1 --max-excess 0 --keep age,area,weight_71,weight_change",
        ),
        code=1,
        released=(),
        refused=("synthetic.csv",),
    ),
    Case("three rows", ("synth {made}/three.csv -o s.csv",), code=2),
    Case("plus sign", ("synth {made}/plus.csv -o s.csv --seed 1",)),
    Case(
        "name dropped, rules kept",
        ("synth {made}/named.csv -o s.csv --personal name=drop --seed 1",),
    ),
    Case("order of dates", ("synth {made}/stays.csv -o s.csv --seed 1",)),
    Case("no hour beyond the day", ("synth {made}/hours.csv -o s.csv --seed 1",)),
    Case(
        "nothing overwritten",
        ("describe {data}/cmc.csv --json d.json", "describe {data}/cmc.csv --json d.json"),
        code=2,
        says=("--overwrite",),
    ),
    Case(
        "files that were not looked at",
        ("check {made}/day --data {made}/people.csv --rules-only --json c.json",),
        code=1,
        says=("notes.md", "cut.csv"),
    ),
    Case(
        "one large label",
        (
            "utility {made}/rich.csv {made}/rich.csv --formula 'income ~ age' --seed 1 --json u.json",
        ),
        never=("987",),
    ),
)
"""What went wrong once, one for each kind."""

CASES = (*COMMANDS, *UGLY)


# Running.


@dataclass(frozen=True)
class Outcome:
    """How the last command of a case ended, and which of its words were not kept."""

    case: Case
    code: int
    faults: tuple[str, ...]


def run_case(case: Case, folder: Path, made: Path, environment: dict[str, str]) -> Outcome:
    """Run a case in a folder of its own, and write its exit code and its screen beside its files."""
    import shlex

    here = folder / case.name.replace(" ", "-").replace(",", "")
    here.mkdir(parents=True)
    places = {
        "data": ROOT / "examples" / "data",
        "outputs": ROOT / "examples" / "outputs",
        "made": made,
    }
    screen, code = "", 0
    for command in case.commands:
        words = [word.format(**places) for word in shlex.split(command)]
        done = subprocess.run(
            [sys.executable, "-m", "chaffinch", *words],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        screen, code = f"{done.stdout}\n--\n{done.stderr}", done.returncode
    (here / "screen.txt").write_text(screen, encoding="utf-8")
    (here / "code.txt").write_text(f"{code}\n", encoding="utf-8")
    return Outcome(case, code, tuple(_faults(case, code, " ".join(screen.split()), here)))


def _faults(case: Case, code: int, screen: str, here: Path) -> Iterator[str]:
    if code != case.code:
        yield f"exit code {code} instead of {case.code}"
    for word in case.says:
        if word not in screen:
            yield f"does not say {word!r}"
    for word in case.never:
        if word in screen:
            yield f"says {word!r}"
    for names, place in ((case.released, "to-release"), (case.refused, "confidential/refused")):
        if names is not None:
            found = tuple(sorted(path.name for path in here.glob(f"out/{place}/*")))
            if found != tuple(sorted(names)):
                yield f"{place} holds {', '.join(found) or 'nothing'} instead of {', '.join(names) or 'nothing'}"


def run_all(
    folder: Path, cases: Sequence[Case] = CASES, source: Path | None = None
) -> list[Outcome]:
    """Run cases, two at a time, on the package in `source` (the one that is installed, if absent)."""
    folder.mkdir(parents=True)
    made = folder / "made"
    made.mkdir()
    make_inputs(made)
    environment = {
        **os.environ,
        "COLUMNS": "120",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
        "NO_COLOR": "1",
    }
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(lambda case: run_case(case, folder, made, environment), cases))


def help_pages(folder: Path) -> None:
    """Write the help of every command to a folder."""
    listed = subprocess.run(
        [sys.executable, "-m", "chaffinch", "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
    )
    names = [None, *re.findall(r"^│ ([a-z][a-z-]*) ", listed.stdout, re.M)]
    groups = {"tree": ("audit", "prune"), "attack": ("membership", "singling-out")}
    folder.mkdir(parents=True)
    for name in names:
        for words in (
            [*filter(None, [name])],
            *([name, below] for below in groups.get(name or "", ())),
        ):
            done = subprocess.run(
                [sys.executable, "-m", "chaffinch", *words, "--help-all"],
                capture_output=True,
                text=True,
                env={**os.environ, "COLUMNS": "120", "TERM": "dumb"},
            )
            (folder / f"{'-'.join(words) or 'chaffinch'}.txt").write_text(
                done.stdout, encoding="utf-8"
            )


# Comparing.


def plain_text(path: Path, folder: Path) -> str:
    """Return a file as text without what differs from run to run; of a binary file its hash."""
    if path.suffix in (".json", ".txt", ".html", ".svg", ".toml", ".csv", ".md"):
        text = path.read_text("utf-8")
        if path.suffix == ".json":
            text = json.dumps(_without_volatile(json.loads(text)), indent=1, sort_keys=True)
        for here in (str(folder), str(folder.resolve()), str(ROOT)):
            text = text.replace(here, "{folder}")
        text = re.sub(r"\b\d+(\.\d+)? (ms|s|min|seconds|MB|GB|KB|CPU s)\b", "{size}", text)
        text = re.sub(
            r"^After \{size\}: .*\n", "", text, flags=re.MULTILINE
        )  # a slow machine tells of progress
        return re.sub(r"\b\d{4}-\d\d-\d\d[T ]\d[\d:.+Z-]*", "{time}", text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _without_volatile(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_volatile(part) for key, part in value.items() if key not in VOLATILE}
    return [_without_volatile(part) for part in value] if isinstance(value, list) else value


def files_of(folder: Path) -> dict[str, str]:
    """Return all files of a run, as they are compared, by their path in it."""
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and "made" not in path.relative_to(folder).parts
    )
    return {path.relative_to(folder).as_posix(): plain_text(path, folder) for path in paths}


def differences(first: dict[str, str], second: dict[str, str], *, lines: int = 6) -> list[str]:
    """Return a few lines for each file that differs, or that only one of two runs has."""
    report = []
    for name in sorted({*first, *second}):
        if name not in first or name not in second:
            report.append(f"{name}: only in {'the second' if name in second else 'the first'}")
        elif first[name] != second[name]:
            changed = [
                line
                for line in difflib.unified_diff(
                    first[name].splitlines(), second[name].splitlines(), lineterm="", n=0
                )
                if not line.startswith(("---", "+++", "@@"))
            ]
            report.append(
                "\n".join(
                    [
                        f"{name}:",
                        *(f"    {line[:200]}" for line in changed[:lines]),
                        *(
                            [f"    and {len(changed) - lines} more lines"]
                            if len(changed) > lines
                            else []
                        ),
                    ]
                )
            )
    return report


# Faults that the net must catch.


@dataclass(frozen=True)
class Fault:
    """A change to one place of the package, and the cases that it must show in."""

    name: str
    file: str
    old: str
    new: str
    cases: tuple[str, ...]


FAULTS = (
    Fault(
        "an unmasked count",
        "_base/masking.py",
        "    if count < threshold * times:\n",
        "    if count < 0:\n",
        ("risk clean",),
    ),
    Fault(
        "another seed",
        "_base/seeds.py",
        "    return np.random.SeedSequence(seed)\n",
        "    return np.random.SeedSequence(None if seed is None else int(seed) + 1)\n",
        ("synth memory",),
    ),
    Fault(
        "a lost rule",
        "table/rules/find.py",
        "    return _choose_rules(candidates, schema, threshold)\n",
        "    return FoundRules()\n",
        ("synth rules",),
    ),
    Fault(
        "a holdout that nobody looks at",
        "table/holdout.py",
        "    if not chance_explains(classes, level):\n",
        "    if False:\n",
        ("holdout shares 5 percent",),
    ),
    Fault(
        "a policy that refuses nothing",
        "cli/risk.py",
        "    if policy.refuses(verdict):\n",
        "    if False:\n",
        ("risk leak",),
    ),
    Fault(
        "a default that moved",
        "synth/bayesnet/settings.py",
        "        usual = TREE_SMOOTHING if self.has_trees else SMOOTHING\n",
        "        usual = SMOOTHING\n",
        ("synth memory",),
    ),
    Fault(
        "a threshold one lower",
        "outputs/rules/counts.py",
        "(table, (table.counts < threshold) & (table.counts > 0)",
        "(table, (table.counts < threshold - 1) & (table.counts > 0)",
        ("check rules", "check acro"),
    ),
    Fault(
        "a file that is passed over",
        "outputs/readers/files/read.py",
        "        if ending in WORKBOOKS:\n",
        "        if ending == '.md':\n            return _Contents()\n        if ending in WORKBOOKS:\n",
        ("files that were not looked at",),
    ),
    Fault(
        "what is there, overwritten",
        "_base/files.py",
        "    if not (overwrite or _overwrite.get()):\n",
        "    if False:\n",
        ("nothing overwritten",),
    ),
    Fault(
        "a sign",
        "utility/tvd.py",
        "    return min(1.0, 0.5 * float(np.abs(p - q).sum()))\n",
        "    return min(1.0, 0.5 * float(np.abs(p + q).sum()))\n",
        ("utility memory",),
    ),
)
"""One for each kind of thing that moving code may lose; each must show in the cases named."""


def plant(fault: Fault, source: Path) -> None:
    """Change the package in a folder; ValueError where the place is not there."""
    path = source / "chaffinch" / fault.file
    text = path.read_text("utf-8")
    if text.count(fault.old) != 1:
        raise ValueError(
            f"{fault.name}: the place occurs {text.count(fault.old)} times in {fault.file}."
        )
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")


def caught(fault: Fault, scratch: Path) -> list[str]:
    """Return what the net says of a planted fault: words that were not kept, and files that differ."""
    cases = [case for case in CASES if case.name in fault.cases]
    source = scratch / "source"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    run_all(scratch / "right", cases, source)
    plant(fault, source)
    outcomes = run_all(scratch / "wrong", cases, source)
    broken = [f"{one.case.name}: {word}" for one in outcomes for word in one.faults]
    return [
        *broken,
        *differences(files_of(scratch / "right"), files_of(scratch / "wrong"), lines=1),
    ]


# The command.


def _run(folder: Path) -> int:
    outcomes = run_all(folder)
    help_pages(folder / "help")
    broken = [f"{one.case.name}: {word}" for one in outcomes for word in one.faults]
    print(
        "\n".join(
            [
                *broken,
                f"{len(outcomes)} cases, {len({line.split(':')[0] for line in broken})} that do not keep their words.",
            ]
        )
    )
    return int(bool(broken))


def _compare(first: Path, second: Path) -> int:
    report = differences(files_of(first), files_of(second))
    print("\n".join([*report, f"{len(report)} files differ."]))
    return int(bool(report))


def _plant_all() -> int:
    missed = []
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as scratch:
            seen = caught(fault, Path(scratch))
        print(
            f"{'caught' if seen else 'MISSED'}: {fault.name}: {seen[0].splitlines()[0] if seen else ''}",
            flush=True,
        )
        missed += [] if seen else [fault.name]
    return int(bool(missed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["run", "compare", "faults"])
    parser.add_argument("folders", nargs="*", type=Path)
    asked = parser.parse_args(arguments)
    actions: dict[str, Callable[..., int]] = {
        "run": _run,
        "compare": _compare,
        "faults": _plant_all,
    }
    return actions[asked.action](*asked.folders)


if __name__ == "__main__":
    sys.exit(main())
