"""Parts of pages that lie in files: taken into a screen only if they are what a report is made of, words, tables and shapes.

A folder of a project may come from somebody else. What stands in its pages must not be able to load, send or run anything, nor to reach beyond
its place on the screen.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from .._base.errors import InputError

VOID = frozenset(("br", "hr", "col"))
WORDS = (
    "a abbr b bdi blockquote caption circle code colgroup dd defs desc details div dl dt ellipse em figcaption figure footer g h1 h2 h3 h4 header li "
    "line main marker nav ol p path pattern polygon polyline pre rect section small span strong sub summary sup svg table tbody td text tfoot th thead "
    "title tr tspan u ul use"
)
TAGS = VOID | frozenset(WORDS.split())
ATTRIBUTES = (
    "class colspan cx cy d data-head dominant-baseline dx dy fill fill-opacity fill-rule font-family font-size font-style font-weight height href id lang marker-end "
    "marker-start markerHeight markerUnits markerWidth offset opacity open orient pointer-events patternUnits patternTransform points preserveAspectRatio r refX refY role "
    "rowspan rx ry scope shape-rendering span stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity stroke-width tabindex text-anchor title transform "
    "vector-effect viewBox width x x1 x2 xmlns y y1 y2"
)
NAMES = frozenset(ATTRIBUTES.split())
ATTRIBUTE = r'\s+([A-Za-z][\w:-]*)(?:="([^"<>]*)")?'
TAG = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]*)((?:{ATTRIBUTE})*)\s*(/?)>|<|>")
OUTSIDE = re.compile(r"url\(\s*[^#\s]|javascript:", re.IGNORECASE)


def checked_fragment(html: str) -> Markup:
    """Return a part of a page as it is; raise unless all of it is what a report is made of, and every element that it opens is closed in it.

    Examples
    --------
    >>> checked_fragment('<p class="note">a &lt; b</p>')
    Markup('<p class="note">a &lt; b</p>')
    """
    opened: list[str] = []
    known: set[str] = set()
    for found in TAG.finditer(html):
        closing, tag, attributes, alone = found[1], found[2], found[3], found[6]
        if tag is None or tag not in TAGS:
            raise _strange(tag or "sign")
        if closing:
            if not opened or opened.pop() != tag:
                raise _strange(tag)
            continue
        if attributes and attributes not in known:
            _check_attributes(tag, attributes)
            known.add(attributes)
        if not alone and tag not in VOID:
            opened.append(tag)
    if opened:
        raise _strange(opened[-1])
    return Markup(html)  # noqa: S704  checked above: words, tables and shapes only


def _check_attributes(tag: str, attributes: str) -> None:
    for name, value in re.findall(ATTRIBUTE, attributes):
        fine = name in NAMES or name.startswith("aria-")
        if not fine or (name == "href" and not value.startswith("#")) or OUTSIDE.search(value):
            raise _strange(f"{tag} with {name}")


def _strange(what: str) -> InputError:
    return InputError(
        f"The page of this run is not as Chaffinch writes one ('{what[:40]}'): it was changed by somebody, or is of another release. Run it again."
    )
