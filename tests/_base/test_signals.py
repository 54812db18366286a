"""SIGTERM as an exception: raised once somebody asked for it, and only while they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from chaffinch._base.runtime import TERMINATED, raising_on_sigterm


def test_sigterm_raises_and_is_as_before_after_the_block() -> None:
    with pytest.raises(SystemExit) as ended, raising_on_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == TERMINATED == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_outer_block_decides_which_exception() -> None:
    with (
        pytest.raises(ZeroDivisionError),
        raising_on_sigterm(ZeroDivisionError),
        raising_on_sigterm(),
    ):
        os.kill(os.getpid(), signal.SIGTERM)


def test_another_thread_changes_nothing() -> None:
    seen = []

    def work() -> None:
        with raising_on_sigterm():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


def test_what_is_half_done_is_undone() -> None:
    """A process that is ended runs its `finally`, and ends with 143."""
    code = (
        "import os, signal\nfrom chaffinch._base.runtime import raising_on_sigterm\n"
        "try:\n    with raising_on_sigterm():\n        os.kill(os.getpid(), signal.SIGTERM)\nfinally:\n    print('tidy')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (TERMINATED, "tidy")
