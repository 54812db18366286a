"""A frontier in a folder: the release leaves, all else stays inside; what was not confirmed does not leave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pytest

from chaffinch.errors import InputError, PrivacyError
from chaffinch.privacy.project import create_project, open_project
from chaffinch.report.frontier_result import FrontierResult, Limits
from chaffinch.risk.policy import RiskPolicy
from chaffinch.risk.settings import LimitSettings
from chaffinch.table import Column, Schema
from chaffinch.table.settings import Reading
from chaffinch.workflows.frontier import deliver as deliver_module
from chaffinch.workflows.frontier.deliver import deliver
from chaffinch.workflows.frontier.run import FrontierRun, run_frontier
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.settings import ReleaseSettings

from .conftest import quick


@pytest.fixture(scope="module")
def found(people: pa.Table) -> FrontierRun:
    settings = quick(limits=Limits(max_excess=0.5), evaluations=3)
    return run_frontier(people, settings, run=RunOptions(seed=1))


def test_the_release_leaves_and_its_figures_stay(
    found: FrontierRun, people: pa.Table, tmp_path: Path
) -> None:
    done = deliver(
        found,
        tmp_path / "out",
        ending=".csv",
        title=None,
        run=RunOptions(seed=1),
    )
    assert set(done.names) == {
        "to-release/synthetic.csv",
        "confidential/frontier.html",
        "confidential/frontier.json",
        "confidential/model.chaffinch",
        "confidential/report.html",
        "confidential/report.json",
        "confidential/shapes.json",
    }
    assert (
        pc.read_csv(tmp_path / "out" / "to-release" / "synthetic.csv").num_rows == people.num_rows
    )
    inside = tmp_path / "out" / "confidential"
    assert all(file.stat().st_mode & 0o077 == 0 for file in inside.iterdir())
    stored = FrontierResult.from_dict(json.loads((inside / "frontier.json").read_text("utf-8")))
    assert stored.choice is not None
    assert stored.choice.released is not None
    assert "Of the release itself, made of everybody" in stored.choice.sentence
    assert stored.choice.table == "to-release/synthetic.csv"
    page = (inside / "frontier.html").read_text("utf-8")
    assert "The table is in to-release/synthetic.csv." in page
    # no holdout: models of half of the people never show that the release keeps a limit
    assert (
        str(stored.choice.state),
        "UNDECIDED: " in page,
        "models of half of the people" in page,
    ) == ("undecided", True, True)


def test_what_was_not_confirmed_does_not_leave(
    found: FrontierRun, people: pa.Table, tmp_path: Path
) -> None:
    choice = replace(found.result.choice, evaluation=None)
    refused = replace(found, result=replace(found.result, choice=choice))
    done = deliver(
        refused,
        tmp_path / "out",
        ending=".csv",
        title=None,
        run=RunOptions(seed=1),
    )
    assert done.release is None
    assert not (tmp_path / "out" / "to-release").exists()
    assert "No table was written." in (
        tmp_path / "out" / "confidential" / "frontier.html"
    ).read_text("utf-8")


def test_a_release_that_breaks_the_limit_itself_is_reported_and_not_written(
    found: FrontierRun, people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit below zero is one that no release keeps."""
    limits = Limits(max_excess=0.0)
    object.__setattr__(limits, "max_excess", -1.0)
    policy = RiskPolicy(max_excess=-1.0)
    monkeypatch.setattr(deliver_module, "LimitSettings", lambda **_: LimitSettings(max_excess=0.0))
    monkeypatch.setattr(ReleaseSettings, "policy", lambda _, **__: policy)
    confirmations = tuple(replace(one, passed=True) for one in found.result.choice.confirmations)
    choice = replace(found.result.choice, limits=limits, confirmations=confirmations)
    refused = replace(found, result=replace(found.result, choice=choice))
    done = deliver(
        refused,
        tmp_path / "out",
        ending=".csv",
        title=None,
        run=RunOptions(seed=1),
    )
    assert not done.result.choice.allowed
    assert "the table was not written" in done.result.choice.sentence
    assert not (tmp_path / "out" / "to-release").exists()
    assert not (tmp_path / "out" / "confidential" / "refused").exists()
    assert (tmp_path / "out" / "confidential" / "report.html").exists()
    assert (done.result.choice.state, done.result.choice.table) == ("exceeds", "")
    page = (tmp_path / "out" / "confidential" / "frontier.html").read_text("utf-8")
    assert "EXCEEDS THE LIMIT: " in page
    assert "No table was written." in page


@pytest.fixture(scope="module")
def declared(people: pa.Table) -> tuple[pa.Table, Reading]:
    """The same people with a declared domain: ages in bands, every level named."""
    bands = [str(age // 10) for age in people.column("age").to_pylist()]
    table = people.set_column(0, "age", pa.array(bands))
    levels = {
        "age": ("2", "3", "4", "5"),
        "sex": ("f", "m"),
        "town": tuple("uvwxyz"),
        "job": tuple("abcd"),
        "ill": ("no", "yes"),
    }
    schema = Schema(
        tuple(
            Column(name, "categorical", type="string", levels=some) for name, some in levels.items()
        ),
        rows=people.num_rows,
        public=True,
    )
    return table, Reading(schema=schema)


@pytest.mark.parametrize("rule", ["public", "private"])
def test_under_a_promise_no_figure_decides_what_leaves(
    declared: tuple[pa.Table, Reading], tmp_path: Path, rule: str
) -> None:
    """The limit is one that no table keeps: the table is there all the same, its promise is for the whole epsilon, and the choice is said to be broken or not confirmed."""
    table, reading = declared
    limits = Limits(max_excess=0.0)
    settings = quick(
        epsilons=(3.0, 1.0), choose=rule, limits=limits, evaluations=2, reading=reading
    )
    run = RunOptions(seed=1)
    found = run_frontier(table, settings, run=run)
    create_project(tmp_path / "ledger.json", data="people")
    done = deliver(
        found,
        tmp_path / "out",
        ending=".csv",
        title=None,
        run=run,
        ledger=tmp_path / "ledger.json",
    )
    assert [
        (entry.label, entry.budget.epsilon, entry.test_only)
        for entry in open_project(tmp_path / "ledger.json").releases
    ] == [("out", 3.0, True)]
    create_project(tmp_path / "limited.json", data="people", epsilon=4.0)
    with pytest.raises(PrivacyError, match="has a limit"):
        deliver(
            found,
            tmp_path / "more",
            ending=".csv",
            title=None,
            run=run,
            ledger=tmp_path / "limited.json",
        )
    assert not (tmp_path / "more").exists()
    assert (tmp_path / "out" / "to-release" / "synthetic.csv").exists()
    assert done.release is not None
    account = done.release.model.privacy
    assert account is not None
    assert account.budget.epsilon == 3.0
    assert sum(charge.epsilon for charge in account.charges) <= 3.0 * (1 + 1e-9)
    choice = done.result.choice
    assert choice.rule == rule
    assert "was not written" not in choice.sentence
    assert choice.candidate is not None
    assert choice.candidate.epsilon == 3.0 if rule == "public" else choice.candidate.epsilon < 3.0
    with pytest.raises(InputError, match="voids a promise"):
        done.result.best(max_excess=0.5)
    assert "no promise covers a figure of this page" in (
        tmp_path / "out" / "confidential" / "frontier.html"
    ).read_text("utf-8")
