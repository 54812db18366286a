"""`chaffinch open`: an address with a token, on this computer alone, and bad use said before anything starts."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path


def test_bad_use_is_said_and_nothing_is_made(run_here, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words, said in (
        (["none.csv"], "No such file"),
        (["--host", "0.0.0.0"], "--let-other-computers-connect"),
        (["--host", "x"], "takes an address"),
    ):
        done = run_here("open", *words)
        assert done.code == 2
        assert said in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_page_answers_at_the_printed_address_and_outlives_a_kill(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1,a\n2,b\n" * 30)
    for _ in range(2):  # the second time after a kill
        process = subprocess.Popen(
            [sys.executable, "-m", "chaffinch", "open", "a.csv", "--no-browser"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            address = process.stderr.readline().split()[-1]
            host, _, path = address.removeprefix("http://").partition("/")
            assert host.startswith("127.0.0.1:")
            connection = http.client.HTTPConnection(host, timeout=30)
            connection.request("GET", f"/{path}")
            assert connection.getresponse().status == 200
            connection.close()
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()
    assert (tmp_path / "chaffinch-project" / "project.toml").exists()


def test_a_project_that_names_a_file_far_off_opens_no_folder_there(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "secret.csv").write_text("x,y\n" + "1,a\n2,b\n" * 30)
    (folder := tmp_path / "here" / "project").mkdir(parents=True)
    (folder / "project.toml").write_text(
        f'format = "chaffinch-project"\nversion = 1\nsource = "{tmp_path / "far" / "secret.csv"}"\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "chaffinch", "open", str(folder), "--no-browser"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        host, _, path = process.stderr.readline().split()[-1].removeprefix("http://").partition("/")
        process.stderr.readline()
        assert "lies elsewhere, and is not read from here" in process.stderr.readline()
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        answer.read()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        connection.request("GET", "/columns", headers={"cookie": cookie})
        assert "outside the folders that were opened" in connection.getresponse().read().decode()
        connection.close()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
    assert not (folder / "look").exists()
