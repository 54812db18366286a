"""ACRO in an environment of its own: a folder of fifteen mixed results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REQUIREMENTS = ("acro==1.0.2",)
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-peers-acro"
SCRIPT = Path(__file__).with_name("acro_run.py")


def environment() -> Path:
    """Return the Python of the peer's environment; make the environment if it is not there or not whole."""
    python = ENVIRONMENT / "bin" / "python"
    check = [
        str(python),
        "-P",
        "-c",
        "from importlib.metadata import version; assert version('acro') == '1.0.2'",
    ]
    if not python.exists() or subprocess.run(check, capture_output=True, check=False).returncode:
        print("Making an environment for ACRO ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    return python


def folder_of_results(data: Path, folder: Path) -> None:
    """Have ACRO make its folder of a CSV file; it must not be there."""
    reasons = "to be compared\n" * 20  # ACRO asks for one for each result that failed
    # -P: else the file acro.py, that stands beside the script, would be what the script imports as acro.
    command = [str(environment()), "-P", str(SCRIPT), str(data), str(folder)]
    done = subprocess.run(
        command, input=reasons, capture_output=True, text=True, check=False, cwd=folder.parent
    )
    if done.returncode:
        raise SystemExit(f"ACRO failed:\n{done.stderr[-2000:]}")
