"""The head of a page: three questions, each with a sentence and a small picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from .._base.results import PlainData, plain_form
from .._base.svg import GREY, INK, SERIES, Axis, box, cut, element, line, mark, picture, text
from .._base.text import number, percent, width_of
from .sections import PageAnswer

GIVES_AWAY = "What does it give away?"
GOOD_FOR = "What is it good for?"
NOT_TESTED = "What was not tested, what is not promised?"
MENDING = "What would mend it?"
SURE = "How sure is it?"
MOST_LINES = 5


@dataclass(frozen=True)
class DecisionFigure:
    """A number that stands in an answer: whose it is, its 95 % interval, and a word for it where there is one."""

    name: str
    value: float
    interval: tuple[float, float] | None = None
    word: str = ""


@dataclass(frozen=True)
class TestedLine(PlainData):
    """Whether something was looked at, or promised: what, what of it, and `state`, `yes`, `no` or `part`."""

    what: str
    state: str
    detail: str = field(metadata=plain_form(key="words"))


def looks_answer(
    index: int, question: str, sentence: str, lines: Sequence[TestedLine], word: str = ""
) -> PageAnswer:
    """Return an answer with what was looked at, a line each."""
    return PageAnswer(
        question,
        sentence,
        looks_picture(f"box-{index}", question, lines) if lines else None,
        word=word,
    )


def dots_answer(
    index: int,
    question: str,
    sentence: str,
    figures: Sequence[DecisionFigure],
    *,
    share: bool = True,
    word: str = "",
) -> PageAnswer:
    """Return an answer with numbers as dots on one axis."""
    return PageAnswer(
        question,
        sentence,
        dots_picture(f"box-{index}", question, figures, share=share) if figures else None,
        word=word,
    )


def untested_sentence(first: str, lines: Sequence[TestedLine]) -> str:
    """Return a sentence that ends with what was not looked at."""
    missing = [
        line.what[0].lower() + line.what[1:]
        for line in lines
        if line.state == "no" and line.what != "Promise of privacy"
    ]
    return f"{first}; not tested: {', '.join(missing)}." if missing else f"{first}."


WIDTH = 350.0
LOOKS = {
    "people in the data": 0,
    "people not in the data": 1,
    "guess": 2,
    "from the original itself": 3,
}
"""What each dot looks like, by its place in `SERIES`."""

DETECTABLE = "detectable excess"
BAND = "#f0c9a0"
SIGNS = {
    "yes": ("#00507d", "M{x} {y}l4 4l7 -8"),
    "no": ("#a84400", "M{x} {y}h10"),
    "part": ("#595959", "M{x} {y}q2.5 -6 5 0t5 0"),
}
"""The colour and the sign of what was looked at, was not, or was in part."""


def dots_picture(
    key: str, title: str, figures: Sequence[DecisionFigure], *, share: bool = True
) -> Markup:
    """Return dots on one axis, a line for each, with intervals; the band beside `people not in the data` is what would be detected."""
    format_value = percent if share else number
    band = next((figure.value for figure in figures if figure.name == DETECTABLE), None)
    rows = [figure for figure in figures if figure.name != DETECTABLE]
    others = next((row.value for row in rows if row.name == "people not in the data"), None)
    ends = [row.value for row in rows] + [end for row in rows for end in row.interval or ()]
    x_start = max(width_of(row.name, 12) for row in rows) + 14
    axis = Axis(0.0, 1.0 if share else max([*ends, 1e-9]), x_start, WIDTH - 52)
    pitch, head = 24.0, 8.0
    bottom = head + pitch * len(rows)
    parts = []
    if band is not None and others is not None:
        start, end = axis(others), axis(others + band)
        wide = max(end - start, 1.5)
        parts.append(box(start, head, wide, bottom - head, fill=BAND, class_="band"))
    parts += axis.across(head, bottom)
    for i, figure in enumerate(rows):
        y = head + pitch * (i + 0.5)
        colour, shape = SERIES[LOOKS.get(figure.name, i % len(SERIES))]
        parts.append(
            text(
                x_start - 8,
                y + 4,
                figure.name,
                anchor="end",
                bold=figure.name == "people in the data",
            )
        )
        if figure.interval:
            low, high = (axis(end) for end in figure.interval)
            parts.append(line([(low, y), (high, y)], stroke=colour, width=3))
        value = format_value(figure.value)
        dot = mark(axis(figure.value), y, colour, shape)
        parts.append(element("g", dot, tooltip=f"{figure.name}: {value}"))
        parts.append(text(WIDTH - 3, y + 4, value, anchor="end"))
    below = bottom + 32
    if band is not None and others is not None:
        parts.append(box(2, below - 9, 12, 10, fill=BAND, class_="band"))
        parts.append(
            text(20, below, "a smaller excess than this may go unseen", size=11, fill=GREY)
        )
        below += 14
    desc = "; ".join(f"{figure.name} {format_value(figure.value)}" for figure in figures)
    return picture(key, WIDTH, below - 8, title=title, desc=desc, body=parts)


def bars_picture(
    key: str, title: str, figures: Sequence[DecisionFigure], scale: tuple[str, str]
) -> Markup:
    """Return a bar for each measure, from one end of a scale to the other, with intervals."""
    pitch, top = 33.0, 0.0
    right = WIDTH - 52
    parts = []
    bottom = top + pitch * len(figures)
    colour = SERIES[0][0]
    for i, figure in enumerate(figures):
        y = top + pitch * i
        end = min(max(figure.value, 0.0), 1.0) * right
        parts.append(
            text(0, y + 12, f"{figure.name}: {figure.word}" if figure.word else figure.name)
        )
        value = percent(figure.value)
        description = f"{figure.name}: {value}"
        parts.append(box(0.5, y + 16.5, right, 11, stroke=GREY))
        parts.append(box(0.5, y + 16.5, max(end, 1.0), 11, fill=colour, tooltip=description))
        if figure.interval:
            low, high = (0.5 + min(max(edge, 0.0), 1.0) * right for edge in figure.interval)
            whiskers = f"M{low:.1f} {y + 22:.1f}H{high:.1f}M{low:.1f} {y + 18:.1f}v8M{high:.1f} {y + 18:.1f}v8"
            parts.append(element("path", d=whiskers, stroke=INK, stroke_width=1.5))
        parts.append(text(WIDTH - 3, y + 26, value, anchor="end"))
    parts.append(text(0, bottom + 12, scale[0], size=11, fill=GREY))
    parts.append(text(right, bottom + 12, scale[1], size=11, fill=GREY, anchor="end"))
    desc = f"From {scale[0]} to {scale[1]}: " + "; ".join(
        f"{figure.name} {percent(figure.value)}" for figure in figures
    )
    return picture(key, WIDTH, bottom + 18, title=title, desc=desc, body=parts)


def looks_picture(key: str, title: str, looks: Sequence[TestedLine]) -> Markup:
    """Return what was looked at and what was not, a line each: a tick, a dash, or a wave for what was done in part."""
    pitch = 25.0
    parts = []
    for i, look in enumerate(looks):
        y = pitch * i + 13
        colour, path = SIGNS[look.state]
        sign = path.format(x=4, y=y)
        parts.append(element("path", d=sign, fill="none", stroke=colour, stroke_width=2.5))
        parts.append(text(24, y + 4, cut(look.what, WIDTH - 40 - width_of(look.detail, 11))))
        parts.append(text(WIDTH - 3, y + 4, look.detail, anchor="end", size=11, fill=GREY))
    desc = "; ".join(f"{look.what}: {look.detail}" for look in looks)
    return picture(key, WIDTH, pitch * len(looks), title=title, desc=desc, body=parts)
