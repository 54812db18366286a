"""How work runs: the bar on a terminal, threads, the signal that ends a process, memory given back, and seeds."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
from rich.console import Console

from chaffinch._base import runtime
from chaffinch._base.compiled import COMPILING, _say_compiling
from chaffinch._base.runtime import (
    TERMINATED,
    Stages,
    give_memory_back,
    giving_back,
    one_thread,
    plain_lines,
    progress_bar,
    raising_on_sigterm,
    seconds_left,
    silent,
    thread_count,
    thread_map,
)
from chaffinch._base.seeds import generator, seed_sequence
from chaffinch.errors import InputError


class Terminal:
    """A recorded terminal with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.text = io.StringIO()
        self.console = Console(
            file=self.text,
            force_terminal=True,
            width=80,
            get_time=lambda: self.now,
            legacy_windows=False,
            color_system=None,
        )

    def lines(self) -> list[str]:
        """Return what was drawn, without control codes."""
        return [
            re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)
            for line in re.split(r"[\r\n]", self.text.getvalue())
        ]

    def drawn(self, stage: str, clock: str) -> bool:
        """Return whether a line with the stage and the clock is drawn, now or soon: the bar is redrawn ten times a second."""
        wanted = re.compile(rf"{stage} .*\b{clock}")
        for _ in range(100):
            if any(map(wanted.search, self.lines())):
                return True
            time.sleep(0.05)
        return False


def test_the_clock_goes_on_through_all_stages():
    terminal = Terminal()
    with progress_bar(console=terminal.console) as progress:
        for minutes, stage in enumerate(("reading", "fitting", "drawing", "writing")):
            terminal.now = 60.0 * minutes
            progress(stage, 0.0)
            terminal.now += 2.0
            progress(stage, 1.0)
            assert terminal.drawn(stage, f"0:0{minutes}:02")


def test_the_clock_goes_on_while_a_stage_reports_nothing():
    terminal = Terminal()
    with progress_bar(console=terminal.console) as progress:
        progress("reading", 1.0)
        progress("searching", -1)
        for seconds, clock in ((7, "0:00:07"), (671, "0:11:11")):
            terminal.now = float(seconds)
            assert terminal.drawn("searching", clock)


def test_a_stage_whose_end_is_not_known_pulses():
    terminal = Terminal()
    with progress_bar(console=terminal.console) as progress:
        progress("reading", 1.0)
        progress("drawing", 0.0)
        assert terminal.drawn("drawing", "0:00:00")
        progress("searching", -1)
        assert terminal.drawn("searching", "0:00:00")
    # Without colours nothing is drawn of a bar at 0; a pulse is drawn all over.
    assert not any("━" in line for line in terminal.lines() if "drawing" in line)
    assert all("━" in line for line in terminal.lines() if "searching" in line)


def test_no_terminal_no_bar():
    text = io.StringIO()
    with progress_bar(console=Console(file=text)) as progress:
        assert progress is silent
    with progress_bar(quiet=True, console=Terminal().console) as progress:
        assert progress is silent
    assert text.getvalue() == ""


def test_a_notebook_gets_a_bar_and_a_script_silence(monkeypatch):
    with runtime.notebook_progress(None) as show:
        assert show is runtime.silent
    told = []
    with runtime.notebook_progress(lambda stage, share: told.append(stage)) as show:
        show("reading", 0.5)
    assert told == ["reading"]
    kernel = types.ModuleType("IPython")
    kernel.get_ipython = type("ZMQInteractiveShell", (), {})
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert runtime.in_notebook()
    shown = []
    monkeypatch.setattr(
        runtime, "progress_bar", lambda *, console: contextlib.nullcontext(shown.append)
    )
    with runtime.notebook_progress(None) as show:
        show("reading")
    assert shown == ["reading"]


def test_a_stage_says_its_number_and_what_is_done_there():
    told = []
    stages = Stages(lambda words, share: told.append((words, share)), ("reading", "measuring"))
    stages.enter("reading")
    stages("reading", -1)
    stages.enter("measuring")
    stages("learning income", 0.5)
    assert told == [
        ("1 of 2, reading", -1),
        ("1 of 2, reading", -1),
        ("2 of 2, measuring", -1),
        ("2 of 2, measuring: learning income", 0.5),
    ]


def test_what_is_left_is_told_from_the_work_that_was_done():
    terminal = Terminal()
    with progress_bar(console=terminal.console) as progress:
        progress("reading", 0.0)
        terminal.now = 100.0
        progress("drawing", 0.0)
        terminal.now = 110.0
        progress("drawing", 0.25)
        assert terminal.drawn("drawing", "0:01:50 0:00:30 left")  # ten seconds for a quarter
    assert seconds_left(1.0, 50.0) is None


def test_without_a_terminal_long_runs_say_each_stage_once_and_short_ones_nothing():
    lines, now = [], [0.0]
    with plain_lines(lines.append, clock=lambda: now[0]) as progress:
        progress("reading", -1)
        for seconds, stage in ((12.0, "drawing"), (13.0, "drawing"), (20.0, "writing")):
            now[0] = seconds
            progress(stage, 0.5)
    assert lines == ["After 12 s: drawing.", "After 20 s: writing."]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_that_compiles_says_so_once_above_the_bar_and_a_quiet_one_nothing(quiet):
    terminal = Terminal()
    with progress_bar(console=terminal.console, quiet=quiet) as progress:
        progress("reading", 0.0)
        _say_compiling()
        _say_compiling()
    assert sum(COMPILING in line for line in terminal.lines()) == (0 if quiet else 1)
    assert bool(terminal.text.getvalue()) is not quiet


def test_a_map_keeps_the_order_and_uses_threads():
    seen = set()

    def slowly(i):
        seen.add(threading.get_ident())
        time.sleep(0.01 * (3 - i % 3))
        return i * i

    assert thread_map(slowly, range(8), threads=3) == [i * i for i in range(8)]
    assert threading.get_ident() not in seen
    seen.clear()
    assert thread_map(slowly, range(3), threads=1) == [0, 1, 4]
    assert seen == {threading.get_ident()}


def test_a_map_inside_a_map_does_not_wait_for_itself():
    def outer(i):
        return sum(thread_map(lambda j: i * j, range(4), threads=2))

    assert thread_map(outer, range(6), threads=2) == [6 * i for i in range(6)]


def test_an_error_reaches_the_caller_and_the_threads_go_on():
    with pytest.raises(ZeroDivisionError):
        thread_map(lambda i: 1 // i, range(4), threads=2)
    assert thread_map(lambda i: i, range(4), threads=2) == [0, 1, 2, 3]


def test_one_thread_is_for_those_who_do_not_ask():
    with one_thread():
        assert thread_count() == 1
        assert thread_count(3) == 3
    with pytest.raises(InputError, match="at least 1"):
        thread_count(0)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_ends_a_map_after_the_pieces_that_are_worked_on(threads):
    """Ctrl-C in the fifth of two hundred pieces: those that wait are not begun."""
    begun = []

    def piece(i):
        begun.append(i)
        if i == 4:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread_map(piece, range(200), threads=threads)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 5 <= len(begun) < 100


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


def test_it_is_given_back_once_for_each_thing_that_is_done(monkeypatch):
    said, given = [], []
    monkeypatch.setattr(runtime, "give_memory_back", lambda: given.append(len(said)))
    progress = giving_back(lambda doing, share: said.append((doing, share)))
    for doing, share in (("reading", 0.0), ("reading", 0.5), ("counting", -1), ("reading", 0.0)):
        progress(doing, share)
    assert said == [("reading", 0.0), ("reading", 0.5), ("counting", -1), ("reading", 0.0)]
    assert given == [0, 2, 3]


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(runtime._trim() is None, reason="the C library cannot give memory back")
def test_many_small_pieces_that_were_freed_go_back():
    """60 MB in pieces of 60 kB, of which C keeps nearly all when only the last is still held."""
    pieces = [np.ones(60_000, dtype=np.uint8) for _ in range(1000)]
    full = resident()
    last = pieces[-1]
    del pieces
    give_memory_back()
    assert full - resident() > 40_000_000
    assert last.all()


def test_it_does_nothing_without_such_a_library(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    runtime._trim.cache_clear()
    try:
        give_memory_back()
        assert runtime._trim() is None
    finally:
        runtime._trim.cache_clear()


def drawn(seed):
    return generator(seed).integers(2**62, size=4).tolist()


def test_equal_seeds_give_numpys_own_stream():
    assert (
        drawn(7) == drawn(np.int64(7)) == np.random.default_rng(7).integers(2**62, size=4).tolist()
    )
    assert drawn(7) == drawn(np.random.SeedSequence(7)) != drawn(8)
    assert drawn(None) != drawn(None)


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(1)
    assert generator(rng) is rng


@pytest.mark.parametrize("seed", [-1, True, 1.0, "7"])
@pytest.mark.parametrize("function", [generator, seed_sequence])
def test_what_is_no_seed(function, seed):
    with pytest.raises(InputError, match="seed must be a whole number of at least 0"):
        function(seed)


def test_sequences():
    sequence = np.random.SeedSequence(3)
    assert seed_sequence(sequence) is sequence
    assert seed_sequence(3).entropy == 3
    rng = np.random.default_rng(1)
    assert seed_sequence(rng).entropy != seed_sequence(rng).entropy
