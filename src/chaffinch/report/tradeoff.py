"""Risk beside worth in one picture: one attack and one measure, of a table, its references, or several tables. Nothing is merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .._base.svg import GREY, INK, SERIES
from .._base.text import between, display_name, percent
from ..risk.finding import Finding, column_findings
from ..utility.result import VerdictRow, ladder, way_between
from .charts import Level, Spot, plane, scatter
from .decision import HEADLINES, SHORT
from .result import ReportResult
from .sections import Col, Figure, Num, Paragraph, Section, page_table

SIZE = (560.0, 330.0)


@dataclass(frozen=True)
class TradePoint:
    """A table in the picture: how far it goes to a fresh sample, how often an attack is right, both with intervals where these are known."""

    name: str
    worth: float
    risk: float
    worth_interval: tuple[float, float] | None = None
    risk_interval: tuple[float, float] | None = None
    reference: bool = False


def headline_step(
    rows: Sequence[VerdictRow], ids: Sequence[str] = HEADLINES
) -> tuple[VerdictRow, float, tuple[float, float] | None] | None:
    """Return the first headline measure that has a scale, how much of the way it goes, and the interval; None where none has."""
    steps = {row.id: (row, dot) for row, dot in ladder(rows)}
    for name in ids:
        if name in steps:
            row, dot = steps[name]
            return (
                row,
                dot.value,
                None if dot.low is None or dot.high is None else (dot.low, dot.high),
            )
    return None


def tradeoff_section(report: ReportResult) -> Section | None:
    """Return the picture of one table between independent columns and the original itself; None without both an attack and a measure."""
    risk, step = report.risk, headline_step(report.rows)
    findings = () if risk is None else column_findings(risk.findings)
    attacks = [attack for attack in findings if attack.value is not None]
    if not attacks or step is None:
        return None
    attack, (row, worth, interval) = max(attacks, key=lambda finding: finding.rank), step
    points = [TradePoint("this table", worth, attack.value or 0.0, interval, attack.interval)]
    if attack.marginals_only is not None:
        points.append(TradePoint("independent columns", 0.0, attack.marginals_only, reference=True))
    if attack.original is not None:
        points.append(TradePoint("the original itself", 1.0, attack.original, reference=True))
    figure = tradeoff_figure(
        "fig-tradeoff",
        points,
        worth=row,
        attack=attack.description,
        lines=reference_lines(attack),
    )
    note = "Up is more given away, right is more kept. One attack and one measure of each kind: the others are in the folded sections, and nothing is merged."
    return Section("tradeoff", "Risk beside worth", (Paragraph(note, "note"), figure))


def reference_lines(attack: Finding) -> list[tuple[str, float]]:
    """Return how often an attack is right without the tables: levels to draw beside them."""
    references = (
        ("a guess without keys", attack.guess),
        ("people who are not in the data", attack.holdout),
    )
    return [(name, value) for name, value in references if value is not None]


def tradeoff_figure(
    id: str,
    points: Sequence[TradePoint],
    *,
    worth: VerdictRow,
    attack: str,
    lines: Sequence[tuple[str, float]] = (),
) -> Figure:
    """Return tables by how much they keep and how often an attack on them is right; `lines` are levels of the attack without them."""
    measure_name = SHORT.get(worth.id, worth.measure)
    best = "a fresh sample" if worth.holdout is not None else "the best that can be had"
    caption = f"How often {attack} is right, by how far {measure_name} go from independent columns to {best}"
    table = page_table(
        caption,
        points,
        Col("Table", lambda point: display_name(point.name, 60)),
        Num("Worth", lambda point: percent(point.worth)),
        Num(
            "95 % interval",
            lambda point: way_between(*point.worth_interval) if point.worth_interval else "",
        ),
        Num("Attack right for", lambda point: percent(point.risk)),
        Num(
            "95 % interval",
            lambda point: "" if point.risk_interval is None else between(point.risk_interval),
        ),
    )
    return Figure(
        id, caption, (_trade_picture(f"{id}-plot", caption, points, lines, measure_name),), table
    )


def _trade_picture(
    key: str,
    title: str,
    points: Sequence[TradePoint],
    lines: Sequence[tuple[str, float]],
    measure_name: str,
) -> Markup:
    risks = [point.risk for point in points] + [value for _, value in lines]
    risks += [point.risk_interval[1] for point in points if point.risk_interval]
    tables = [point for point in points if not point.reference]
    spots = []
    for point in points:
        colour, shape = (
            (GREY, "diamond") if point.reference else SERIES[tables.index(point) % len(SERIES)]
        )
        spots.append(
            Spot(
                x=point.worth,
                y=point.risk,
                x_interval=point.worth_interval,
                y_interval=point.risk_interval,
                colour=colour,
                shape=shape,
                description=f"{point.name}: worth {percent(point.worth)}, attack right for {percent(point.risk)}",
                label=point.name,
                ink=GREY if point.reference else INK,
            )
        )
    desc = "; ".join(
        f"{point.name}: worth {percent(point.worth)}, risk {percent(point.risk)}"
        for point in points
    )
    return scatter(
        key,
        title,
        desc,
        spots,
        axes=plane((0.0, 1.0), (0.0, min(max(*risks, 0.05), 1.0)), SIZE),
        names=(
            f"kept: {measure_name}, from independent columns to the best that can be had",
            "attack right for",
        ),
        levels=[Level(name, value) for name, value in lines],
        size=SIZE,
    )
