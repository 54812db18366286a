"""Jobs: what runs, waits, ended or was stopped, told from files alone; the one queue that starts them; and the worker that runs one.

A worker is a process of its own, `python -m chaffinch.web.jobs FOLDER`, so that a job outlives the page and the page outlives it. The folder has `job.json`
with the words of the command; the worker writes there who runs it, how far it is, what it said and how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from .._base.errors import InputError
from .._base.runtime import WRITTEN_TO
from .._base.text import is_number
from .project import FOUND, read_json, write_json


class JobState(StrEnum):
    """How a job stands: `refused`: a policy said no, and everything was written; `lost`: its process ended without a word."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"

    @property
    def is_open(self) -> bool:
        """Whether it is yet to end."""
        return self in (JobState.WAITING, JobState.RUNNING)

    @property
    def has_result(self) -> bool:
        """Whether it came to an end and wrote what it was to write."""
        return self in (JobState.DONE, JobState.REFUSED)

    @property
    def is_fault(self) -> bool:
        """Whether it ended as nobody wanted."""
        return self in (JobState.FAILED, JobState.LOST)


ENDS: dict[float, JobState] = {0: JobState.DONE, 1: JobState.REFUSED, 130: JobState.STOPPED}
"""How a job stands by the exit code of its command; with any other it failed."""

STARTING = 2.0
"""Seconds in which a job that has begun runs, whatever is known of its process."""

AT_A_TIME = 1
"""Runs that are worked on at once: each uses all cores."""


@dataclass(frozen=True)
class Job:
    """One job, in its folder."""

    folder: Path

    @property
    def number(self) -> int:
        """Its number in the project."""
        return int(self.folder.name) if self.folder.name.isdigit() else 0

    @property
    def command(self) -> list[str]:
        """The words of its command."""
        plain = read_json(self.folder / "job.json") or {}
        command = plain.get("words")
        return [str(word) for word in command] if isinstance(command, list) else []

    @property
    def kind(self) -> str:
        """What it is: release, check or look."""
        return (self.command or [""])[0]

    @property
    def state(self) -> JobState:
        """How it stands, by the files that the page and the worker wrote."""
        started, begun = self._read("started"), self._read("begun")
        running = _is_alive(started) or _is_alive(begun) or _has_just_started(started)
        stopped = (self.folder / "stop").exists()
        if (ended := self._read("ended")) is not None:
            code = number_of(ended.get("code"), 2)
            return JobState.STOPPED if stopped and code else ENDS.get(code, JobState.FAILED)
        if running:
            return JobState.RUNNING
        if stopped:
            return JobState.STOPPED
        return JobState.WAITING if started is None and begun is None else JobState.LOST

    def _read(self, name: str) -> dict[str, Any] | None:
        return read_json(self.folder / f"{name}.json")

    @property
    def progress(self) -> dict[str, Any]:
        """What is being done, the share done, seconds so far and left."""
        plain = read_json(self.folder / "progress.json") or {"doing": "starting"}
        seconds_left = number_of(plain.get("left"), -1)
        return {
            "doing": str(plain.get("doing", "")),
            "share": min(number_of(plain.get("share"), -1), 1),
            "seconds": max(number_of(plain.get("seconds")), 0),
            "left": seconds_left if seconds_left >= 0 else None,
        }

    @property
    def message(self) -> str:
        """What the command said at its end."""
        return str((read_json(self.folder / "ended.json") or {}).get("said", ""))

    @property
    def written(self) -> Path:
        """Where its results are."""
        return self.folder / "out"

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, in a session of its own: it goes on when the page ends."""
        process = subprocess.Popen(
            [sys.executable, "-m", "chaffinch.web.jobs", str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=self.folder,
        )
        write_json(self.folder / "begun.json", {"pid": process.pid, "time": time.time()})
        return process

    def stop(self, patience: float = 15.0) -> None:
        """Stop it as Ctrl-C does, so that nothing half-written stays; after some seconds by force."""
        (self.folder / "stop").touch(mode=0o600)
        begun = read_json(self.folder / "begun.json")
        if begun is None or self.state is not JobState.RUNNING:
            return
        for way, wait in ((signal.SIGINT, patience), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(OSError):
                os.killpg(begun["pid"], way)
            until = time.monotonic() + wait
            while time.monotonic() < until:
                if self.state is not JobState.RUNNING:
                    return
                time.sleep(0.05)


def _has_just_started(started: dict[str, Any] | None) -> bool:
    return started is not None and time.time() - number_of(started.get("time")) < STARTING


def _is_alive(process: dict[str, Any] | None) -> bool:
    """Whether a process runs still: one of the same number that began at another time is not it."""
    if process is None:
        return False
    pid = process.get("pid")
    if not isinstance(pid, int) or pid <= 1:
        return False
    try:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)  # one of our own that has ended would count as there
        os.kill(pid, 0)
        if os.getpgid(pid) == os.getpgid(
            0
        ):  # a job has a session of its own: this is no job, whatever a file says
            return False
    except OSError:  # it is not there, or somebody else's
        return False
    if not _is_ours(pid):
        return False
    began = _start_time(pid)
    return began is None or began <= number_of(process.get("time")) + 5.0


def _is_ours(pid: int) -> bool:
    """Whether a process is a worker of the page or what one started, as far as the system tells: a file that a stranger wrote may name any."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return True
    return any(word.startswith(b"chaffinch") for word in arguments[1:4])


def _start_time(pid: int) -> float | None:
    """When a process began, in seconds of the clock; None where the system does not tell."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def number_of(value: object, otherwise: float = 0.0) -> float:
    """Return a number out of a file of a project; something else where it is none: the file may be a stranger's."""
    return value if isinstance(value, int | float) and is_number(value) else otherwise


class Queue:
    """Starts jobs one after the other, in the order of their numbers; a look at a file does not wait.

    What waited when the page ended is not started by itself when it is opened again: somebody asks for it once more.
    """

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._asked: set[Path] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._work, daemon=True, name="queue")

    def open(self) -> None:
        """Begin to work."""
        self._thread.start()

    def close(self) -> None:
        """Start nothing more; what runs goes on."""
        self._ended = True
        self._wake.set()

    def jobs(self) -> list[Job]:
        """Return all runs, in the order of their numbers."""
        return [
            Job(path)
            for path in sorted(self.runs.iterdir())
            if path.name.isdigit() and (path / "job.json").exists()
        ]

    def job(self, number: int) -> Job:
        """Return a run by its number."""
        job = Job(self.runs / f"{number:04d}")
        if not (job.folder / "job.json").exists():
            raise InputError(f"There is no run {number}.")
        return job

    def ask(self, folder: Path, command: Sequence[str]) -> Job:
        """Put a new job at the end of the queue."""
        write_json(folder / "job.json", {"words": list(command), "time": time.time()})
        self.again(Job(folder))
        return Job(folder)

    def again(self, job: Job) -> None:
        """Ask for a job that waits to be started."""
        with self._lock:
            self._asked.add(job.folder)
        self._wake.set()

    def look(self, folder: Path, command: Sequence[str]) -> Job:
        """Start a job at once, beside the queue."""
        folder.mkdir(mode=0o700, exist_ok=True)
        if (
            before := Job(folder)
        ).state is JobState.RUNNING:  # of another file: what it would write is not wanted any more
            before.stop(patience=0.0)
        for name in ("begun.json", "started.json", "ended.json", "progress.json", "stop"):
            (folder / name).unlink(missing_ok=True)
        write_json(folder / "job.json", {"words": list(command), "time": time.time()})
        Job(folder).start()
        return Job(folder)

    def is_asked(self, job: Job) -> bool:
        """Whether a job that waits is going to be started."""
        with self._lock:
            return job.folder in self._asked

    def _work(self) -> None:
        while not self._ended:
            self._wake.wait(timeout=0.5)
            self._wake.clear()
            with contextlib.suppress(OSError):
                self._start_next()

    def _start_next(self) -> None:
        with self._lock:
            states = {job.folder: job.state for job in self.jobs()}
            if sum(state is JobState.RUNNING for state in states.values()) >= AT_A_TIME:
                return
            ready = [
                folder
                for folder, state in states.items()
                if state is JobState.WAITING and folder in self._asked
            ]
            if ready:
                Job(ready[0]).start()
                self._asked.discard(
                    ready[0]
                )  # after it began: nobody sees it neither asked for nor begun


COMMANDS = frozenset(("release", "check", "look"))
"""What a job may be."""

MOST_SAID = 20_000
"""Bytes at the end of what a command said that are kept."""


def run_worker(folder: Path) -> int:
    """Run the job in a folder, and return its exit code."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    command = [str(word) for word in job["words"]]
    if not command or command[0] not in COMMANDS:
        _end(folder, 2, "This job is none that the page starts.")
        return 2
    paths = [word for word in command[1:] if os.path.isabs(word) and os.path.exists(word)]
    if fault := _elsewhere(paths):
        _end(folder, 2, f"Error: {fault}")
        return 2
    if (folder / "stop").exists():
        _end(folder, 130, "")
        return 130
    module = (
        ["chaffinch.web.look", *command[1:]] if command[0] == "look" else ["chaffinch", *command]
    )
    environment = {
        **os.environ,
        WRITTEN_TO: str(folder / "progress.json"),
        "PYTHONIOENCODING": "utf-8",
    }
    message_path = folder / "said.txt"
    with contextlib.suppress(OSError):
        os.nice(5)  # the page answers first
    with open(os.open(message_path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as handle:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env=environment,
        )
        write_json(
            folder / "started.json",
            {"pid": process.pid, "worker": os.getpid(), "time": time.time()},
        )
        if (folder / "stop").exists():  # asked for before there was anything to stop
            process.send_signal(signal.SIGINT)
        code = process.wait()
    if fault := _elsewhere(paths):
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / Path(FOUND).name).unlink(missing_ok=True)
        _end(folder, 2, f"Error: {fault}")
        return 2
    _end(folder, code, message_path.read_bytes()[-MOST_SAID:].decode("utf-8", "replace"))
    return code


def _elsewhere(paths: Sequence[str]) -> str:
    """Say which path is a link by now: all were followed to their ends when they were chosen, so one that leads on was put there since."""
    moved = next((path for path in paths if os.path.realpath(path) != path), "")
    return (
        moved
        and f"'{moved}' is a link by now, and was none when it was chosen. Nothing is kept. Choose the file again."
    )


def _end(folder: Path, code: int, message: str) -> None:
    write_json(folder / "ended.json", {"code": code, "said": message, "time": time.time()})


if __name__ == "__main__":
    # It comes to the whole group: the command ends by itself, and this says how. A function, since the command would inherit "ignore".
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.exit(run_worker(Path(sys.argv[1])))
