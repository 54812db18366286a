"""Drawing primitives: inline SVG without scripts or anything from elsewhere, and the drawing that a notebook shows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from .safe_files import write_text


@dataclass(frozen=True)
class Drawing:
    """A finished SVG picture: shows itself in a notebook, and is saved as a file.

    Examples
    --------
    >>> drawing = Drawing(canvas(10, 10, [rectangle(1, 1, 8, 8, fill="#fff")], title="a box"))
    >>> drawing, drawing.svg.startswith("<svg ")
    (Drawing(a box), True)
    """

    svg: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the picture as an SVG file, wholly or not at all, readable by its owner alone: it is drawn from data, as a page is.

        A file that is there is refused unless `overwrite`.
        """
        write_text(path, self.svg, mode=0o600, overwrite=overwrite)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({self.svg.partition('<title>')[2].partition('</title>')[0]})"


def canvas(
    width: float, height: float, body: Iterable[str], *, title: str, desc: str = "", defs: str = ""
) -> str:
    """Return a whole picture on a white ground, with a title and a description for those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, sans-serif" font-size="13">'
        f"<title>{escape(title)}</title><desc>{escape(desc)}</desc>"
        '<rect width="100%" height="100%" fill="#fff"/>'
        + (f"<defs>{defs}</defs>" if defs else "")
        + "".join(body)
        + "</svg>\n"
    )


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str,
    radius: float = 0,
    stroke: str = "#333",
    stroke_width: float = 1.0,
    dashes: str = "",
) -> str:
    """Return a box with a border; `dashes` as SVG writes them."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}" rx="{radius:g}" fill="{fill}" stroke="{stroke}"'
        f' stroke-width="{stroke_width:g}"{dashed}/>'
    )


def label(x: float, y: float, words: str, *, anchor: str = "start", fill: str = "#333") -> str:
    """Return escaped words at a place."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{anchored} fill="{fill}">{escape(words)}</text>'
