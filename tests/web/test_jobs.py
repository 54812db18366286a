"""Jobs are told from files alone: they go on without the page, wait their turn, and leave nothing half-written when they are stopped."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaffinch.errors import InputError
from chaffinch.web import jobs
from chaffinch.web.jobs import COMMANDS, Job, Queue, run_worker
from chaffinch.web.project import FOUND, write_json


def until(job: Job, *states: str, seconds: float = 60.0) -> str:
    """Wait until a job stands so."""
    end = time.monotonic() + seconds
    while (state := job.state) not in states:
        assert time.monotonic() < end, f"{state}: {job.message}"
        time.sleep(0.05)
    return state


@pytest.fixture
def job(tmp_path: Path, people_file: Path) -> Job:
    """Return a look at a table that was not started yet."""
    folder = tmp_path / "0001"
    folder.mkdir()
    write_json(folder / "job.json", {"words": ["look", str(people_file), str(folder)]})
    return Job(folder)


def sleeping(name: str) -> subprocess.Popen[bytes]:
    """Start a process of a name that sleeps, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", name], start_new_session=True
    )


def test_a_job_runs_by_itself_and_says_how_it_ended(job: Job) -> None:
    assert job.state == "waiting"
    job.start()
    assert until(job, "done", "failed") == "done"
    assert (job.folder / FOUND).exists()
    assert job.progress["seconds"] >= 0


def test_a_job_that_fails_says_why(job: Job) -> None:
    write_json(
        job.folder / "job.json", {"words": ["look", str(job.folder / "none.csv"), str(job.folder)]}
    )
    job.start()
    assert until(job, "done", "failed") == "failed"
    assert "No such file" in job.message
    assert json.loads((job.folder / "ended.json").read_text())["code"] == 2
    assert stat.S_IMODE((job.folder / "said.txt").stat().st_mode) == 0o600
    assert not (job.folder / FOUND).exists()


def test_states_are_told_from_files(job: Job) -> None:
    past = {"time": 1.0}
    worker = sleeping("chaffinch.web.jobs")
    try:
        write_json(job.folder / "begun.json", {"pid": worker.pid, **past})
        assert job.state == "lost"  # this process began later than the job says
        write_json(job.folder / "begun.json", {"pid": worker.pid, "time": time.time()})
        assert job.state == "running"
    finally:
        worker.kill()
        worker.wait()
    write_json(job.folder / "started.json", {"pid": 2**22 - 1, **past})
    assert job.state == "lost"
    for code, state in (
        (0, "done"),
        (1, "refused"),
        (2, "failed"),
        (3, "failed"),
        (130, "stopped"),
        (-9, "failed"),
    ):
        write_json(job.folder / "ended.json", {"code": code, "said": "", "time": 1.0})
        assert job.state == state
    (job.folder / "stop").touch()
    assert job.state == "stopped"


def test_a_process_that_is_no_job_is_neither_taken_for_one_nor_stopped(job: Job) -> None:
    stranger = sleeping("editor")
    try:
        for pid in (stranger.pid, os.getpid(), os.getppid(), 1, -1, 0):
            for name in ("begun.json", "started.json"):
                write_json(
                    job.folder / name,
                    {"pid": pid, "time": time.time() + 1e6 if name == "begun.json" else 1.0},
                )
            assert job.state != "running", pid
            job.stop(patience=0.1)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_job_that_waits_can_be_taken_out(job: Job) -> None:
    job.stop()
    assert job.state == "stopped"


def test_stopping_ends_a_process_that_runs(job: Job) -> None:
    process = sleeping("chaffinch.web.jobs")
    for name in ("begun.json", "started.json"):
        write_json(job.folder / name, {"pid": process.pid, "time": time.time() - 3})
    assert job.state == "running"
    job.stop(patience=5.0)
    assert job.state != "running"
    assert process.poll() is not None or process.wait(5) is not None


def test_the_queue_starts_one_after_the_other(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "runs")
    (tmp_path / "runs").mkdir()
    folders = [tmp_path / "runs" / f"{i:04d}" for i in (1, 2)]
    for folder in folders:
        folder.mkdir()
    jobs = [queue.ask(folder, ["none"]) for folder in folders]  # ends as soon as it began
    assert [queue.is_asked(one) for one in jobs] == [True, True]
    queue.open()
    try:
        most = 0
        end = time.monotonic() + 90
        while any(one.state != "failed" for one in jobs):
            most = max(most, sum(one.state == "running" for one in jobs))
            assert time.monotonic() < end
            time.sleep(0.01)
        assert most == 1
        assert [one.number for one in queue.jobs()] == [1, 2]
        with pytest.raises(InputError, match="no run 7"):
            queue.job(7)
    finally:
        queue.close()


def test_what_waited_when_the_page_ended_is_not_started_by_itself(
    tmp_path: Path, people_file: Path
) -> None:
    (tmp_path / "runs" / "0001").mkdir(parents=True)
    write_json(
        tmp_path / "runs" / "0001" / "job.json",
        {"words": ["look", str(people_file), str(tmp_path)]},
    )
    queue = Queue(tmp_path / "runs")
    queue.open()
    time.sleep(1.2)
    queue.close()
    assert [one.state for one in queue.jobs()] == ["waiting"]


def test_a_worker_that_is_killed_is_lost(job: Job) -> None:
    process = job.start()
    until(job, "running")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 10
    while job.state == "running":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert job.state == "lost"
    assert json.loads((job.folder / "begun.json").read_text())["pid"] == process.pid


def test_only_what_the_page_starts_is_run(tmp_path: Path) -> None:
    for words in ([], ["sample"], ["-c", "import os"]):
        write_json(tmp_path / "job.json", {"words": words})
        assert run_worker(tmp_path) == 2
        assert "none that the page starts" in Job(tmp_path).message
        assert Job(tmp_path).state == "failed"
    assert not (tmp_path / "started.json").exists()
    assert frozenset(("release", "check", "look")) == COMMANDS


def test_a_link_that_was_put_in_the_place_of_the_file_is_not_followed(
    tmp_path: Path, people_file: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(people_file.read_text())
    write_json(tmp_path / "job.json", {"words": ["look", str(people_file), str(tmp_path)]})
    people_file.unlink()
    people_file.symlink_to(secret)
    assert run_worker(tmp_path) == 2
    assert "is a link by now" in json.loads((tmp_path / "ended.json").read_text())["said"]
    assert not (tmp_path / "started.json").exists()


def test_nothing_is_kept_where_a_link_came_while_it_was_read(
    tmp_path: Path, people_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Swapping(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            code = super().wait(timeout)
            (tmp_path / "out").mkdir()
            people_file.rename(tmp_path / "moved.csv")
            people_file.symlink_to(tmp_path / "moved.csv")
            return code

    monkeypatch.setattr(jobs.subprocess, "Popen", Swapping)
    write_json(tmp_path / "job.json", {"words": ["release", str(people_file), "--nothing"]})
    assert run_worker(tmp_path) == 2
    assert "Nothing is kept" in json.loads((tmp_path / "ended.json").read_text())["said"]
    assert not (tmp_path / "out").exists()


def test_a_job_that_was_stopped_before_it_began_does_not_begin(
    tmp_path: Path, people_file: Path
) -> None:
    write_json(tmp_path / "job.json", {"words": ["look", str(people_file), str(tmp_path)]})
    (tmp_path / "stop").touch()
    assert run_worker(tmp_path) == 130
    assert not (tmp_path / "started.json").exists()
