"""Peers, each in an environment of its own that is made when first needed, on the codes that our synthesisers get."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import HERE
from benchmarks.private.coarse import Coarse, distances

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""One thread where it can be set. JAX is told by its flags."""


@dataclass(frozen=True)
class Peer:
    """A package, its pins, the script that runs it, and the methods that it is asked for."""

    name: str
    requirements: tuple[str, ...]
    check: str
    script: str

    def python(self) -> Path:
        """Return the Python of the environment; make the environment if it is not there or not whole."""
        folder = HERE.parent / f".venv-peers-{self.name}"
        python = folder / "bin" / "python"
        if (
            not python.exists()
            or subprocess.run(
                [python, "-c", self.check], capture_output=True, check=False
            ).returncode
        ):
            print(f"Making an environment for {self.name} ...", flush=True)
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", *self.requirements], check=True
            )
        return python


DPMM = Peer(
    "dpmm",
    ("dpmm==0.1.9", "numpy==1.26.4", "pandas==2.1.0", "scikit-learn==1.5.0", "opendp==0.12.1"),
    "import dpmm.models",
    "dpmm_run.py",
)
MBI = Peer("mbi", ("mbi==2.0.0",), "import mbi", "mbi_run.py")
DATASYNTHESIZER = Peer(
    "datasynthesizer",
    ("DataSynthesizer==0.1.13", "numpy<2", "pandas<3"),
    "import DataSynthesizer, numpy; assert numpy.__version__ < '2'",
    "datasynthesizer_run.py",
)


def run(
    peer: Peer,
    method: str,
    coarse: Coarse,
    folder: Path,
    *,
    epsilon: float,
    delta: float,
    seed: int,
    limit: int,
) -> dict[str, Any] | None:
    """Return the distances and the cost of one run of a peer; None past the limit in seconds of processor time."""
    coarse.write(folder)
    out = folder / f"{peer.name}_{method}_{epsilon:g}_{seed}.npy"
    script = str(Path(__file__).with_name(peer.script))
    # -P: else files that stand beside the script could be imported in place of packages.
    command = [
        peer.python(),
        "-P",
        script,
        folder,
        method,
        f"{epsilon:g}",
        f"{delta:g}",
        f"{seed}",
        out,
    ]
    flags = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **THREADS, **flags},
        # A limit of processor time, not of time on the clock: a busy machine is not the peer's fault.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
    )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    if done.returncode:
        raise SystemExit(f"{peer.name} failed:\n{done.stderr[-2000:]}")
    cost: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**asdict(distances(coarse, np.load(out))), **cost}
