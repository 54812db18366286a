"""What a table gives away, in the rows that one reads first: one for each attack and sensitive column, one for all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .risk_words import RULES, attack_words, family_sentence, guess_of, judged, keys_of, sentence_of, worse
from .sections import Block, Cell, Details, Heading, Listing, Paragraph, Row, Section, Table
from .words import NONE, fixed, is_number, number, shown, signed

__all__ = ["risk_verdict", "risk_verdict_section"]

Data = Mapping[str, Any]
MOST_ROWS = 60
CARRIED = (
    "value", "interval", "holdout", "guess", "guess_by", "original", "marginals_only", "label_only", "excess",
    "excess_interval", "p_family", "lower_bound", "detectable", "convention",
)  # fmt: skip
TOGETHER = "All attacks together"


def risk_verdict(risk: Data) -> list[dict[str, Any]]:
    """Return one row for each attack on each sensitive column, and one for all attacks together, each with a word and a sentence.

    Rows have the keys of a utility verdict's, and `guess`, `original`, `marginals_only`, `label_only`, `excess` and what goes with it.
    Where several sets of keys were tried, a row shows one with an excess found if there is any, and of these the worst.

    Parameters
    ----------
    risk
        Plain data as `chaffinch risk --json` writes them.

    Examples
    --------
    >>> attack = {"measure": "gcap_vote", "keys": ["age"], "sensitive": "job", "value": 0.6, "guess": 0.4}
    >>> rows = risk_verdict({"attacks": [attack], "family": {"reason": "no holdout"}})
    >>> [(row["id"], row["words"]) for row in rows]
    [('gcap_vote', 'not known: no holdout'), ('family', 'not known: no holdout')]
    >>> rows[0]["sentence"].replace("\\xa0", " ")[-58:]
    'always guessing the most frequent value is right for 40 %.'
    """
    attacks = [attack for attack in risk.get("attacks") or () if isinstance(attack, Mapping)]
    held = bool((risk.get("about") or {}).get("holdout")) or any(is_number(a.get("holdout")) for a in attacks)
    rows = [_row(found, holdout=held) for found in _by_measure(attacks).values()]
    if attacks:
        rows.append(_family("family", TOGETHER, risk.get("family") or {}, attacks, holdout=held))
    crossed = risk.get("cross_fit") or {}
    if crossed:
        inner = [attack for attack in crossed.get("attacks") or () if isinstance(attack, Mapping)]
        name = f"{TOGETHER}, cross-fit"
        rows.append(_family("cross_fit", name, crossed.get("family") or {}, inner, holdout=True))
    return rows


def _by_measure(attacks: Sequence[Data]) -> dict[tuple[str, str], list[Data]]:
    out: dict[tuple[str, str], list[Data]] = {}
    for attack in attacks:
        out.setdefault((str(attack.get("sensitive") or "unnamed"), str(attack.get("measure") or "unnamed")), []).append(
            attack
        )
    return dict(sorted(out.items(), key=lambda item: list(dict.fromkeys(s for s, _ in out)).index(item[0][0])))


def _row(attacks: Sequence[Data], *, holdout: bool) -> dict[str, Any]:
    words = attack_words(attacks[0].get("measure"))
    found = [attack for attack in attacks if judged(attack, holdout=holdout)[0] == "excess found"]
    chosen = max(found or attacks, key=worse)
    word, said = judged(chosen, holdout=holdout)
    return {
        **_head(str(chosen.get("measure") or "unnamed"), words.name, "lower is safer"),
        "question": f"Knowing {keys_of(chosen)}",
        **{name: chosen.get(name) for name in CARRIED},
        "marginals": chosen.get("marginals_only"),
        "sensitive": chosen.get("sensitive"),
        "keys": list(chosen.get("keys") or ()),
        "key_sets": len(attacks),
        "word": word,
        "words": said,
        "sentence": sentence_of(chosen, len(attacks)),
    }


def _family(key: str, name: str, family: Data, attacks: Sequence[Data], *, holdout: bool) -> dict[str, Any]:
    known = [a for a in attacks if is_number(a.get("detectable"))]
    largest = max(known, key=lambda a: float(a["detectable"]), default={})
    told = {
        "p_family": family.get("p_value"),
        "lower_bound": family.get("lower_bound"),
        "detectable": largest.get("detectable"),
    }
    word, said = judged(told, holdout=holdout)
    if word == "no excess found" and known:
        said = f"{word} (detectable: {_range([float(a['detectable']) for a in known])})"
    return {
        **_head(key, name, "lower is safer"),
        "question": "Is any excess more than chance?",
        **dict.fromkeys(CARRIED),
        **told,
        "marginals": None,
        "sensitive": None,
        "keys": [],
        "key_sets": None,
        "word": word,
        "words": said,
        "sentence": family_sentence(family, attacks),
    }


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _head(key: str, name: str, direction: str) -> dict[str, Any]:
    same = {"identical": None, "resample": None, "best": None, "kept": None}
    return {"section": "risk", "id": key, "measure": name, "direction": direction, **same}


def risk_verdict_section(rows: Sequence[Data]) -> Section:
    """Return the verdict on risk as a section: a table of its own, since its references are others than those of utility."""
    label = any(is_number(row.get("label_only")) for row in rows)
    head = (
        "Attack", "Value and 95 % interval", "Guess", "Marginals only", *(["Label only"] if label else []), "Holdout",
        "Original", "Excess and 95 % interval", "In words",
    )  # fmt: skip
    last = len(head) - 1
    table = Table(
        "How often each attack is right, beside a guess without keys, and the same attack from independent columns, on a holdout, and from the original",
        head, tuple(_rows(rows, label)), frozenset(range(1, last)), frozenset({last}), cards=True,
    )  # fmt: skip
    blocks: list[Block] = [Paragraph(_lead(rows), "lead"), table]
    if len(rows) > MOST_ROWS:
        blocks.append(Paragraph(f"The first {MOST_ROWS} of {len(rows)} rows; all are in the JSON.", "note"))
    blocks.append(Details("How the words are chosen", (Listing(RULES),)))
    return Section("risk-verdict", "What it gives away, in words", tuple(blocks))


def _lead(rows: Sequence[Data]) -> str:
    single = [row for row in rows if row.get("id") not in ("family", "cross_fit")]
    tally: dict[str, int] = {}
    for row in single:
        tally[str(row.get("word"))] = tally.get(str(row.get("word")), 0) + 1
    counts = ", ".join(f"{count} × {shown(word, 40)}" for word, count in tally.items())
    out = f"Attribute disclosure by {len(single)} attacks: {counts}."
    for row in rows:
        if row.get("id") in ("family", "cross_fit"):
            out += f" {shown(row.get('measure'))}: {shown(row.get('words') or row.get('word'), 120)}."
    return out


def _rows(rows: Sequence[Data], label: bool) -> Iterator[Row]:
    group = None
    kept = [row for row in rows if row.get("id") in ("family", "cross_fit")]
    single = [row for row in rows if row.get("id") not in ("family", "cross_fit")]
    for row in [*kept, *single[: MOST_ROWS - len(kept)]]:
        of_row = (
            TOGETHER if row in kept
            else "Risk" if row.get("sensitive") is None
            else f"Sensitive column: {shown(row['sensitive'])}"
        )  # fmt: skip
        if of_row != group:
            group = of_row
            yield Heading(of_row)
        word = str(row.get("word") or "")
        tail = str(row.get("words") or "").removeprefix(word).lstrip(": ")
        said = " ".join(filter(None, (f"{tail}." if tail else "", str(row.get("sentence") or ""))))
        yield (
            Cell(str(row.get("measure")), str(row.get("question") or "") if row in kept else ""),
            _with(fixed(row.get("value")), row.get("interval")),
            fixed(guess_of(row)),
            fixed(row.get("marginals_only")),
            *([fixed(row.get("label_only"))] if label else []),
            fixed(row.get("holdout")),
            fixed(row.get("original")),
            _chance(row) if row in kept else _with(signed(row.get("excess")), row.get("excess_interval")),
            Cell(said, word=word),
        )


def _with(value: str, interval: Any) -> Cell:
    known = isinstance(interval, list | tuple) and len(interval) == 2 and all(map(is_number, interval))
    return Cell(value, f"{fixed(interval[0])} to {fixed(interval[1])}" if known else "")


def _chance(row: Data) -> Cell:
    p, lower = row.get("p_family"), row.get("lower_bound")
    if not is_number(p):
        return Cell(NONE)
    return Cell(f"p = {number(p)}", f"lower bound {signed(lower)}" if is_number(lower) else "")
