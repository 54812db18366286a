"""Anonymeter in an environment of its own: its risks of singling out, linkability and inference of a released table."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REQUIREMENTS = ("anonymeter==1.1.0",)
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-peers-anonymeter"
SCRIPT = Path(__file__).with_name("anonymeter_run.py")


def environment() -> Path:
    """Return the Python of the peer's environment; make the environment if it is not there or not whole."""
    python = ENVIRONMENT / "bin" / "python"
    if (
        not python.exists()
        or subprocess.run(
            [str(python), "-P", "-c", "import anonymeter"], capture_output=True, check=False
        ).returncode
    ):
        print("Making an environment for Anonymeter ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    return python


def risks(folders: Sequence[Path], *, keys: Sequence[str], secret: str) -> dict[str, Any]:
    """Return, for each folder with `original.csv`, `released.csv` and `control.csv`, the lower bound of each risk and CPU seconds; and `versions`."""
    # -P: else this very file, that stands beside the script, would be what the script imports as anonymeter.
    command = [str(environment()), "-P", str(SCRIPT), ",".join(keys), secret, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Anonymeter failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
