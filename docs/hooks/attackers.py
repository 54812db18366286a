"""The tables of attackers, made from the registry: `<!-- attackers: matching learning -->` becomes a table of those kinds.

So an attacker is in the documentation once its module registers it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from chaffinch.risk.attacker import NEEDS, attackers_of_kind

PLACE = re.compile(r"<!-- attackers: ([a-z ]+) -->")


def table_of(kinds: Sequence[str]) -> str:
    """Return a table of the attackers of some kinds, in the order in which they run."""
    rows = [
        "| name | what it measures | does not see | needs | reference |",
        "|---|---|---|---|---|",
    ]
    for attacker in attackers_of_kind(*kinds):
        name = f"`{attacker.name}`" + (f" (`{attacker.group}`)" if attacker.group else "")
        needs = ", ".join(NEEDS[need][0] for need in attacker.needs or ()) or "nothing"
        cells = (name, attacker.definition, attacker.blindness or "–", needs, attacker.reference)
        rows.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(rows)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables of a page."""
    return PLACE.sub(lambda place: table_of(place[1].split()), markdown)
