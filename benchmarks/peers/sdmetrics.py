"""SDMetrics in an environment of its own: its GeneralizedCAP, the mean score of the rows at the smallest Hamming distance."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REQUIREMENTS = ("sdmetrics==0.32.0",)
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-peers-sdmetrics"
SCRIPT = Path(__file__).with_name("sdmetrics_run.py")


def environment() -> Path:
    """Return the Python of the peer's environment; make the environment if it is not there or not whole."""
    python = ENVIRONMENT / "bin" / "python"
    check = [str(python), "-c", "import sdmetrics; assert sdmetrics.__version__ == '0.32.0'"]
    if not python.exists() or subprocess.run(check, capture_output=True, check=False).returncode:
        print("Making an environment for SDMetrics ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    return python


def generalized_cap(
    original: Path, synthetic: Path, *, keys: Sequence[str], sensitive: str
) -> dict[str, Any]:
    """Return the peer's `seconds` for two CSV files, its `score` (1 less the mean score of equation 1) and its `versions`."""
    # -P: else this very file, that stands beside the script, would be what the script imports as sdmetrics.
    command = [
        str(environment()),
        "-P",
        str(SCRIPT),
        str(original),
        str(synthetic),
        ",".join(keys),
        sensitive,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"SDMetrics failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
