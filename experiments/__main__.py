"""Run the studies one after the other, and say of each that is not run why.

python -m experiments             # all that ask for nothing and take no day
python -m experiments --dry       # what that is
python -m experiments p0_learning # a folder, or a study of one: p1_output_risk.table5
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from benchmarks.common import Option, run_study

HERE = Path(__file__).resolve().parent
LONG = {"p4_composite.all_records": "takes eight hours of one core"}
"""Studies that are run by name alone, and why."""


def studies() -> dict[str, str]:
    """Return each study with the reason why it is not run with the others, empty where it is."""
    found = {}
    for path in sorted(HERE.glob("*/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        if names & {"run_study", "run_parts"}:
            name = f"{path.parent.name}.{path.stem}"
            needed = [word.upper() for word in needed_arguments(tree)]
            asks = f"asks for {', '.join(needed)}"
            found[name] = asks if needed else LONG.get(name, "")
    return found


def needed_arguments(tree: ast.Module) -> list[str]:
    """Return the arguments of a study's `main` that have no default."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            arguments = node.args
            by_position = arguments.args[: len(arguments.args) - len(arguments.defaults)]
            options = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            by_name = [entry for entry, default in options if default is None]
            return [entry.arg for entry in (*by_position, *by_name)]
    return []


def main(
    names: tuple[str, ...] = (),
    *,
    dry: Annotated[bool, Option("Say what would be run, and run nothing.")] = False,
) -> None:
    failed = []
    for name, reason in studies().items():
        is_named = name in names or name.split(".")[0] in names
        if reason and name not in names:
            print(f"== {name} is not run: {reason}. python -m experiments.{name} --help")
        elif is_named or not names:
            print(f"== {name}", flush=True)
            command = [sys.executable, "-m", f"experiments.{name}"]
            if not dry and subprocess.run(command, cwd=HERE.parent, check=False).returncode:
                failed.append(name)
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    run_study(main)
