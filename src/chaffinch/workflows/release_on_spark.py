"""A release of a table on Spark: rows drawn and written by workers, measured and attacked where they are, and one report of it all.

The report is that of a release of files: figures that need counts alone are of all records, the others of a sample, which comes to the driver.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._base.errors import InputError, unknown_name
from ..report.result import report_of
from ..risk import RiskResult, measure_risk
from ..risk.attribution.crossfit import LEAST_ROWS
from ..spark.places import read_frame
from ..spark.session import started_session
from ..synth import BayesNet, Settings
from ..table.align import check_long_schema
from ..table.schema import Schema
from ..utility import measure_utility
from .drawn import half_fitted, options_of
from .measure_on_spark import check_sample
from .on_spark import cache_place, check_on_spark, synthesise_on_spark
from .policy import RiskPolicy
from .release import ReleaseSettings
from .release_result import ReleaseResult, leaving_folder
from .running import RunOptions

NO_SHARE = "People are set aside where files are read on one machine: pass --engine auto, or split the table on Spark and name the part with --holdout."
"""Why a share of people is not set aside on Spark: rows have no places there by which they could be chosen again."""

NAME = "synthetic.parquet"
"""The folder of the files that workers write."""


def release_on_spark(
    source: str,
    settings: ReleaseSettings,
    folder: Path,
    run: RunOptions,
    *,
    holdout: str | None = None,
    cache: str | None = None,
    session: Any = None,
) -> ReleaseResult:
    """Return a release of a table by its address or path. Workers write the rows into a folder that they all see; `write_beside` puts the rest there.

    `cache`: where codes are held meanwhile, as for `synthesise_on_spark`.
    """
    _check(settings)
    place = str(leaving_folder(folder) / NAME)
    with contextlib.nullcontext(session) if session is not None else started_session() as spark:
        fresh = None if holdout is None else read_frame(spark, holdout)

        def check(schema: Schema) -> None:
            settings.check(schema)
            check_long_schema(schema)
            columns = schema.names if fresh is None else list(fresh.columns)
            for name in schema.names:
                if name not in columns:
                    raise unknown_name(f"column of '{holdout}'", name, columns)

        run.progress("synthesising on Spark", -1)
        made = synthesise_on_spark(
            source, place, settings.synthesis, run, cache=cache, session=spark, check=check
        )
        synthetic = read_frame(spark, place)
        with cache_place(spark, cache) as held:
            original = replace(
                made.original, cache=held
            )  # the rows that were learnt from, or measuring stops
            named = {
                "original": Path(source).name,
                "holdout": None if holdout is None else Path(holdout).name,
            }
            utility = measure_utility(
                original, synthetic, fresh, settings.utility, **options_of(run)
            ).named(synthetic=NAME, **named)
            utility = replace(utility, run=replace(utility.run, **run.facts))
            risk = (
                None
                if settings.attack is None
                else _risk(original, synthetic, fresh, settings, run).named(
                    synthetic=(NAME,), **named
                )
            )
    title = settings.title or f"Synthetic {Path(source).name}"
    report = report_of(
        utility, title=title, synthesis=made.account, risk=risk, threshold=settings.threshold
    )
    return ReleaseResult(model=made.model, names=(NAME,), report=report)


def _risk(
    original: Any, synthetic: Any, holdout: Any, settings: ReleaseSettings, run: RunOptions
) -> RiskResult:
    assert settings.attack is not None
    result = measure_risk(original, synthetic, holdout, settings.attack, **options_of(run))
    if holdout is None and original.n_rows >= LEAST_ROWS:
        result = replace(
            result,
            cross_fit=half_fitted(
                original, _as_fitted(settings.synthesis.synthesiser), settings.attack, run
            ),
        )
    return RiskPolicy(settings.max_excess, require_shown=settings.require_shown).judged(
        result, run.facts
    )


def _as_fitted(synthesiser: Settings) -> Settings:
    """The settings of what leaves: on Spark networks have tables, and half of a sample in memory would be given trees."""
    if isinstance(synthesiser, BayesNet) and synthesiser.conditionals is None:
        return replace(synthesiser, conditionals="tables")
    return synthesiser


def _check(settings: ReleaseSettings) -> None:
    """Raise where settings ask for what is not done on Spark, before anything is read."""
    check_on_spark(settings.synthesis)
    check_sample(settings.utility.sample_rows)
    if settings.holdout_share is not None:
        raise InputError(NO_SHARE)
    if settings.synthesis.private:
        raise InputError(
            "A table that promises privacy is not measured on Spark: its original is read under declared domains alone. Make it with `chaffinch synth --epsilon ... "
            "--engine spark`, or release it on one machine: --engine auto."
        )
    if settings.synthesis.copies > 1:
        raise InputError(
            "A release on Spark has one synthesis: leave out --copies, or draw more of its model with `chaffinch sample --engine spark`."
        )
