"""`chaffinch frontier`: settings by what they give away and what they are worth, and the release that is most useful under limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.options import FILES, Option
from .._base.text import count_noun
from ..risk.settings import RequireShown
from ..workflows.frontier.settings import FrontierSettings
from .command import Exit, echo
from .options import (
    HoldoutAddress,
    InputFile,
    LedgerFile,
    RunRequest,
    Title,
    show_lines,
    show_promise,
    written_line,
)

if TYPE_CHECKING:
    from ..report.frontier_result import FrontierResult
    from ..workflows.frontier.deliver import Delivery


UNCOVERED = "The frontier's figures are taken from the original, and no promise of privacy covers them, the page or the exit code: keep them inside."


def frontier(
    *,
    input: InputFile,
    output: Annotated[
        Path,
        Option(
            "Folder to write to, made if absent; a search that was stopped goes on there.",
            basic=True,
            panel=FILES,
            short="o",
            leaves=False,
        ),
    ],
    settings: FrontierSettings,
    holdout: HoldoutAddress = None,
    require_shown: RequireShown = False,
    title: Title = None,
    ledger: LedgerFile = None,
    request: RunRequest = RunRequest(),  # noqa: B008
) -> None:
    """Try settings, draw what they give away beside what they are worth, and release the most useful that is not seen to exceed limits.

    People are parted by person: settings are tried on one part and the choice is confirmed on the other, which the search never sees. The table that is
    released is made of everybody. confidential/ gets frontier.html, frontier.json, the list of evaluated settings and the report of the release; to-release/ the table. Ends
    with 1 where nothing could be confirmed, or the release itself exceeds a limit. Ctrl-C keeps what is done, and the same command goes on from there.
    """
    from .._base.files import holding
    from ..risk.policy import RiskPolicy
    from ..stats.intervals import LimitState
    from ..table.holdout import check_holdout_file
    from ..table.sources import open_source
    from ..table.write import ending_like
    from ..workflows.frontier.deliver import deliver
    from ..workflows.frontier.run import STOPPED, check_search_folder, run_frontier
    from ..workflows.run import TO_RELEASE, check_inputs

    reading, max_excess = settings.reading, settings.limits.max_excess
    check_holdout_file(input, holdout)
    check_outputs(input, *request.files.outside(output), updated=[ledger])
    schema, fresh = reading.schema, None if holdout is None else Path(holdout)
    inputs = (input, fresh, schema if isinstance(schema, Path) else None, ledger)
    check_inputs(output, inputs, names=[TO_RELEASE])
    if ledger is not None and not settings.private:
        raise InputError("--ledger adds up privacy budgets: give --epsilons and --choose too.")
    if require_shown and not settings.limits:
        raise InputError("--require-shown needs a limit: name --max-excess or --max-auc.")
    RiskPolicy(max_excess, require_shown=require_shown and max_excess is not None).check(
        holdout=holdout is not None
    )
    check_search_folder(output, paid=settings.private)
    with (
        holding(output),
        request.start() as run,
    ):
        others = None if holdout is None else open_source(holdout, **reading.other_file)
        searched = run_frontier(input, settings, holdout=others, run=run, folder=output)
        searched = replace(searched, result=searched.result.named(input.name))
        done = deliver(
            searched, output, ending=ending_like(input), title=title, run=run, ledger=ledger
        )
    result = done.result
    request.files.write(result)
    line = "" if result.choice is None else result.choice.limit_sentence
    if line and not request.quiet:
        show_lines(line)
    elif line and result.choice is not None and result.choice.state is not LimitState.SHOWN:
        echo(line, err=True)
    if not request.quiet:
        _show(done, output, searched.resumed)
        if settings.private:
            echo(UNCOVERED, err=True)
    _end(result, stopped=result.about.stopped.startswith(STOPPED), require_shown=require_shown)


def _show(done: Delivery, output: Path, resumed: int) -> None:
    from ..workflows.run import CONFIDENTIAL

    result = done.result
    if resumed:
        echo(f"Went on from {count_noun(resumed, 'setting')} that '{output}' held.", err=True)
    asked = (
        ""
        if result.choice is not None or result.about.stopped.startswith("Stopped")
        else "Nothing was chosen: name --max-excess to have the most useful settings below it chosen and released."
    )
    show_lines(
        f"{count_noun(len(result.evaluations), 'setting')} tried, {len(result.front())} on the front. {result.about.stopped}",
        *([result.choice.sentence] if result.choice else []),
        *([asked] if asked else []),
        written_line(output, done.names),
        f"The page to decide by: {output / CONFIDENTIAL / 'frontier.html'}",
    )
    if done.release is not None:
        show_promise(done.release.model)


def _end(result: FrontierResult, *, stopped: bool, require_shown: bool = False) -> None:
    """End with 130 where a hand stopped it, and with 1 where nothing could be confirmed, a limit is exceeded, or, where that is required, not shown to be kept."""
    from ..stats.intervals import LimitState

    if stopped:
        raise Exit(130)
    if result.choice is not None and (
        not result.choice.allowed or (require_shown and result.choice.state is not LimitState.SHOWN)
    ):
        raise Exit(1)
