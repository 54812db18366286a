"""Where rows are while they are worked on: settings that workflows and commands share. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from .._base.options import RUN, Declared, Option

EngineName = Literal["auto", "memory", "stream", "spark"]


@dataclass(frozen=True, kw_only=True)
class Execution(Declared):
    """Where rows are while they are worked on.

    "memory": all rows are held. "stream": the file is read batch by batch in bounded memory, and counted from a cache of codes that is removed at the
    end; models and rows drawn are the same. "auto": the first where rows are few and fit. "spark": a cluster has the table, by its address or path.
    """

    engine: Annotated[
        EngineName,
        Option(
            "Rows in memory, or stream: batch by batch; auto: memory below 1,000,000 rows that fit; spark: on a cluster.",
            panel=RUN,
        ),
    ] = "auto"
    cache: Annotated[
        str | None,
        Option(
            "Folder or address, seen by all workers, for codes while --engine spark runs; removed at the end.",
            panel=RUN,
            metavar="PATH",
        ),
    ] = None
