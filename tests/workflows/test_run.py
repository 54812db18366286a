"""How a workflow runs: its clock, and the files that its result goes to."""

from __future__ import annotations

import json

import pytest

from chaffinch._base.runtime import silent
from chaffinch.workflows.run import Destinations, Stopwatch, start_run


class Result:
    """A result with a number and a secret."""

    def to_dict(self):
        return {"value": 0.5}

    def confidential(self):
        return {"cells": ["a"]}


def page(*, public=False):
    return "may leave" if public else "inside"


def test_each_file_has_its_form_and_its_mode(tmp_path):
    names = ("json", "html", "public", "confidential")
    files = Destinations(**{name: tmp_path / name for name in names})
    lines = files.write(Result(), page)
    assert lines == tuple(f"Wrote {tmp_path / name}." for name in names)
    assert json.loads(files.json.read_text()) == {"value": 0.5}
    assert json.loads(files.confidential.read_text()) == {"cells": ["a"]}
    assert (files.html.read_text(), files.public.read_text()) == ("inside", "may leave")
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in names}
    assert modes["html"] == modes["confidential"] == 0o600  # readable by the owner alone
    assert modes["public"] & 0o077
    assert modes["json"] & 0o077


def test_without_files_nothing_is_rendered():
    assert Destinations().write(None, lambda: 1 / 0) == ()


def test_other_data_stand_in_the_json(tmp_path):
    files = Destinations(json=tmp_path / "r.json")
    files.write(Result(), data={"rows": 2})
    assert json.loads(files.json.read_text()) == {"rows": 2}


def test_the_clock_adds_up_blocks_of_one_step_that_end_well():
    clock = Stopwatch()
    for step in ("read", "fit", "read"):
        with clock.timed(step):
            pass
    with pytest.raises(ZeroDivisionError), clock.timed("draw"):
        1 / 0  # noqa: B018
    assert list(clock.seconds) == ["read", "fit"]
    assert all(seconds >= 0 for seconds in clock.seconds.values())


def test_a_run_from_python_is_silent_where_no_notebook_watches():
    with start_run(seed=1, threads=2) as run:
        assert run.options == {"seed": 1, "threads": 2, "progress": silent}
