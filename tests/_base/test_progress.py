"""The bar on a terminal: a clock for the whole run, a bar for the stage."""

from __future__ import annotations

import contextlib
import io
import re
import time

from rich.console import Console

from chaffinch._base.compiled import COMPILING, _say_compiling
from chaffinch._base.runtime import Stages, plain_lines, progress_bar, seconds_left, silent


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
    import sys
    import types

    from chaffinch._base import runtime as progress

    with progress.watched(None) as show:
        assert show is progress.silent
    told = []
    with progress.watched(lambda stage, share: told.append(stage)) as show:
        show("reading", 0.5)
    assert told == ["reading"]
    kernel = types.ModuleType("IPython")
    kernel.get_ipython = type("ZMQInteractiveShell", (), {})
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert progress.in_notebook()
    shown = []
    monkeypatch.setattr(
        progress, "progress_bar", lambda *, console: contextlib.nullcontext(shown.append)
    )
    with progress.watched(None) as show:
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


def test_a_run_that_compiles_says_so_once_above_the_bar():
    terminal = Terminal()
    with progress_bar(console=terminal.console) as progress:
        progress("reading", 0.0)
        _say_compiling()
        _say_compiling()
    assert sum(COMPILING in line for line in terminal.lines()) == 1


def test_a_quiet_run_compiles_in_silence():
    terminal = Terminal()
    with progress_bar(console=terminal.console, quiet=True):
        _say_compiling()
    assert terminal.text.getvalue() == ""
