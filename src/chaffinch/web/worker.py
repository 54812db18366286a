"""Runs one job by itself, so that it outlives the page and the page outlives it: `python -m chaffinch.web.worker FOLDER`.

The folder has `job.json` with the words of the command. Here are written who runs it, how far it is, what it said and how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .._base.files import write_text
from .._base.runtime import WRITTEN_TO
from .project import FOUND

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
    paths = [word for word in words[1:] if os.path.isabs(word) and os.path.exists(word)]
    if left := _elsewhere(paths):
        _end(folder, 2, f"Error: {left}")
        return 2
    if (folder / "stop").exists():
        _end(folder, 130, "")
        return 130
    module = ["chaffinch.web.look", *words[1:]] if words[0] == "look" else ["chaffinch", *words]
    environment = {
        **os.environ,
        WRITTEN_TO: str(folder / "progress.json"),
        "PYTHONIOENCODING": "utf-8",
    }
    said = folder / "said.txt"
    with contextlib.suppress(OSError):
        os.nice(5)  # the page answers first
    with open(os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as handle:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env=environment,
        )
        write_text(
            folder / "started.json",
            json.dumps({"pid": process.pid, "worker": os.getpid(), "time": time.time()}) + "\n",
            mode=0o600,
            overwrite=True,
        )
        if (folder / "stop").exists():  # asked for before there was anything to stop
            process.send_signal(signal.SIGINT)
        code = process.wait()
    if left := _elsewhere(paths):
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / Path(FOUND).name).unlink(missing_ok=True)
        _end(folder, 2, f"Error: {left}")
        return 2
    _end(folder, code, said.read_bytes()[-MOST_SAID:].decode("utf-8", "replace"))
    return code


def _elsewhere(paths: Sequence[str]) -> str:
    """Say which path is a link by now: all were followed to their ends when they were chosen, so one that leads on was put there since."""
    moved = next((path for path in paths if os.path.realpath(path) != path), "")
    return (
        moved
        and f"'{moved}' is a link by now, and was none when it was chosen. Nothing is kept. Choose the file again."
    )


def _end(folder: Path, code: int, said: str) -> None:
    write_text(
        folder / "ended.json",
        json.dumps({"code": code, "said": said, "time": time.time()}, ensure_ascii=False) + "\n",
        mode=0o600,
        overwrite=True,
    )


if __name__ == "__main__":
    # It comes to the whole group: the command ends by itself, and this says how. A function, since the command would inherit "ignore".
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.exit(main(Path(sys.argv[1])))
