"""Runs one job by itself, so that it outlives the page and the page outlives it: `python -m chaffinch.web.worker FOLDER`.

The folder has `job.json` with the words of the command. Here are written who runs it, how far it is, what it said and how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .._base.progress import WRITTEN_TO
from .._base.safe_files import write_text

__all__ = ["COMMANDS", "main"]

COMMANDS = frozenset(("release", "check", "look"))
"""What a job may be."""

MOST_SAID = 20_000
"""Bytes at the end of what a command said that are kept."""


def main(folder: Path) -> int:
    """Run the job in a folder, and return its exit code."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    words = [str(word) for word in job["words"]]
    if not words or words[0] not in COMMANDS:
        _end(folder, 2, "This job is none that the page starts.")
        return 2
    module = ["chaffinch.web.look", *words[1:]] if words[0] == "look" else ["chaffinch", *words]
    environment = {**os.environ, WRITTEN_TO: str(folder / "progress.json"), "PYTHONIOENCODING": "utf-8"}
    said = folder / "said.txt"
    with contextlib.suppress(OSError):
        os.nice(5)  # the page answers first
    with open(os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as handle:
        process = subprocess.Popen([sys.executable, "-m", *module], stdin=subprocess.DEVNULL, stdout=handle, stderr=handle, env=environment)
        write_text(folder / "started.json", json.dumps({"pid": process.pid, "worker": os.getpid(), "time": time.time()}) + "\n", mode=0o600)
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # of the whole group: the command ends by itself, and this waits for it
                code = process.wait()
                break
    _end(folder, code, said.read_bytes()[-MOST_SAID:].decode("utf-8", "replace"))
    return code


def _end(folder: Path, code: int, said: str) -> None:
    write_text(folder / "ended.json", json.dumps({"code": code, "said": said, "time": time.time()}, ensure_ascii=False) + "\n", mode=0o600)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
