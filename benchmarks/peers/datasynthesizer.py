"""DataSynthesizer in an environment of its own: it does not run on current numpy and pandas.

With numpy 2 it stops in sampling ("name 'np' is not defined"), with pandas 3 on text columns; so both are held back.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REQUIREMENTS = ("DataSynthesizer==0.1.13", "numpy<2", "pandas<3")
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-peers-datasynthesizer"
SCRIPT = Path(__file__).with_name("datasynthesizer_run.py")


def environment() -> Path:
    """Return the Python of the peer's environment; make the environment if it is not there or not whole."""
    python = ENVIRONMENT / "bin" / "python"
    check = [str(python), "-c", "import DataSynthesizer, numpy; assert numpy.__version__ < '2'"]
    if not python.exists() or subprocess.run(check, capture_output=True, check=False).returncode:
        print("Making an environment for DataSynthesizer ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    return python


def run(path: Path, *, parents: int, n_rows: int, limit: float) -> dict[str, Any] | None:
    """Return the peer's seconds for a CSV file (`describe`, `generate`) and its `versions`; None past the time limit."""
    command = [str(environment()), str(SCRIPT), str(path), str(parents), str(n_rows)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"DataSynthesizer failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
