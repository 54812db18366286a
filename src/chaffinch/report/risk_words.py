"""Attacks in words: what each does, how it is defined, whose it is, and what its number says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .words import is_number, number, percent, shown, signed

__all__ = [
    "CONVENTIONS",
    "LIMITS",
    "MEMORISATION",
    "RULES",
    "AttackWords",
    "attack_words",
    "family_sentence",
    "guess_of",
    "judged",
    "keys_of",
    "sentence_of",
    "several",
    "worse",
]

Data = Mapping[str, Any]
ALPHA = 0.05
FOUND, NONE_FOUND, UNKNOWN, NO_VALUE = "excess found", "no excess found", "not known", "not applicable"
FEW_KEYS = 6


@dataclass(frozen=True)
class AttackWords:
    """An attack in words.

    Parameters
    ----------
    how
        What someone does who knows the keys; followed by `right for ...`.
    some
        Whether it is about some people only; the guess beside it is then about them too.
    """

    id: str
    name: str
    how: str
    definition: str
    reference: str
    some: bool = False


PAPERS = "Hittmeir, Mayer and Ekelhart 2022; Niederhametner and Mayer 2023"
ELLIOT, TAUB, RAAB = (
    "Elliot 2014, SYLLS report",
    "Taub, Elliot, Pampaka and Smith 2018, Privacy in Statistical Databases",
    "Raab, Nowok and Dibben 2024",
)


def _learner(key: str, name: str, model: str) -> AttackWords:
    return AttackWords(
        key, name, f"someone who trains {model} on the synthetic table guesses {{sensitive}}",
        f"Share of people whose value is said by {model} that learnt it from the keys in the synthetic table.", PAPERS,
    )  # fmt: skip


ATTACKS = (
    AttackWords(
        "cap", "CAP", "someone who draws one of the synthetic rows with the same keys (people without such rows left out) gets {sensitive}",
        "Share of synthetic rows with a person's keys that have the person's value, mean over people with such rows.", ELLIOT, some=True,
    ),
    AttackWords(
        "dcap", "DCAP", "someone who draws one of the synthetic rows with the same keys (no such row counts as wrong) gets {sensitive}",
        "CAP over all people; 0 for those whose keys no synthetic row has.", f"{ELLIOT}; {TAUB}",
    ),
    AttackWords(
        "tcap", "TCAP", "someone who believes synthetic rows where all with the same keys agree gets {sensitive}",
        "Where synthetic rows with the same keys agree (WEAP of at least tau): the share of people with these keys who have that value.",
        f"{TAUB}; Elliot, Little and Allmendinger, appendix A", some=True,
    ),
    AttackWords(
        "disco", "DiSCO", "all synthetic rows with the same keys agree on {sensitive}, and are",
        "Share of all people whose keys have one value only in the synthetic table, and it is theirs.", RAAB,
    ),
    AttackWords(
        "gcap_score", "GCAP, mean score", "someone who draws one of the nearest synthetic rows gets {sensitive}",
        "As DCAP, from the synthetic rows that differ in the fewest keys (minimal Hamming radius).", f"{PAPERS} (equation 1)",
    ),
    AttackWords(
        "gcap_vote", "GCAP, majority vote", "someone who takes the most frequent value of the nearest synthetic rows guesses {sensitive}",
        "Share of people whose value is the most frequent one of the synthetic rows that differ in the fewest keys.", f"{PAPERS} (their tables)",
    ),
    _learner("nb", "Naive Bayes", "a naive Bayes model"),
    _learner("svm", "Support vector machine", "a support vector machine"),
    _learner("knn", "Nearest neighbours", "a nearest-neighbours model"),
    _learner("rf", "Random forest", "a random forest"),
    _learner("lr", "Logistic regression", "a logistic regression"),
)  # fmt: skip
BY_ID = {attack.id: attack for attack in ATTACKS}

CONVENTIONS = {
    "p1": "mean over agreeing synthetic rows whose keys some person has (Elliot, Little and Allmendinger)",
    "p1_zero": "the same over all agreeing synthetic rows, 0 where nobody has the keys",
    "certain": "right, and certain in the original too, of people with a match (DiSDiO / iS)",
    "matched": "right, of people with a match (DiSCO / iS)",
    "conditional": "right, of people whose keys have one value in the synthetic table (DiSCO / DiS)",
}

RULES = (
    "Guess is what is right without any key, on the people whom the attack is about and as it counts them: always the most frequent value; for "
    "attacks that draw (CAP, DCAP, GCAP's mean score) a draw from its distribution.",
    "Excess is the attack's value for people in the original less its value for people in the holdout, attacked from the same synthetic table. "
    "What it tells about both alike is knowledge about the population; only the excess comes from being in the data.",
    "Excess found: the p-value of “people in the data and others are alike”, adjusted for all attacks together, is at most 5 %, or the "
    "lower bound of the excess, which holds for all attacks at once, is above 0.",
    "No excess found: that p-value is above 5 %. It does not say that there is none: a smaller one than `detectable`, the excess that is found "
    "with 80 % power at 5 % by that attack alone, may go unseen.",
    "Not known: without people who are not in the data nothing can be said of the excess. Splitting the original afterwards is no holdout: both "
    "halves trained the generator.",
    "Where several sets of keys were tried, each row shows one with an excess found, if there is one, and the largest excess; without a holdout, "
    "the largest value.",
)
"""How the words of the verdict on risk are chosen, for readers."""

LIMITS = (
    "The attacks assume that someone knows the keys of a person exactly, and uses one synthetic table. Wrong or vague knowledge tells less; "
    "knowledge beyond these columns may tell more.",
    "Other keys, other sensitive columns and other attackers are other questions. No excess in these attacks is no promise about those.",
    "Whether somebody is in the data at all (membership) is not asked here; nor is whether single rows can be told apart and linked to a person.",
    "Several releases from the same people add up: what two tables together give away is not seen in either.",
    "A value that holds for people in the data and others alike still lets someone infer things about both. Whether that may be published is "
    "not a question of numbers alone.",
    "Averages hide single people: a rate over all can stand at its reference while a few are exposed.",
)
MEMORISATION = (
    "This is a diagnostic of memorisation and no privacy verdict: rows may equal because few values are possible, and a table without a single "
    "equal row can give people away."
)


def attack_words(measure: Any) -> AttackWords:
    """Return an attack's words; its own name for one that is not known here."""
    name = shown(measure, 40)
    other = AttackWords("other", name, f"the attack “{name}” gets {{sensitive}}", "Not described here.", "")
    return BY_ID.get(str(measure), other)


def keys_of(attack: Data, *, most: int = FEW_KEYS) -> str:
    """Return the keys of an attack as a list that fits.

    Examples
    --------
    >>> keys_of({"keys": ["age", "sex", "race"]}, most=2)
    'age, sex and 1 more'
    """
    names = [shown(name, 32) for name in attack.get("keys") or ()]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "") or "no keys"


def several(attacks: Iterable[Data]) -> bool:
    """Return whether a sensitive column was attacked with more than one set of keys."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for attack in attacks:
        found.setdefault(str(attack.get("sensitive")), set()).add(tuple(map(str, attack.get("keys") or ())))
    return any(len(sets) > 1 for sets in found.values())


def guess_of(attack: Data) -> float | None:
    """Return what is right without keys, as the study has it; None where it is not known."""
    found = attack.get("guess")
    return float(found) if is_number(found) else None  # type: ignore[arg-type]


def worse(attack: Data) -> tuple[float, float]:
    """Return what attacks are ranked by: the excess, without one how far the value is above the guess."""
    value, excess = attack.get("value"), attack.get("excess")
    above = float(value) - (guess_of(attack) or 0.0) if is_number(value) else -9.0  # type: ignore[arg-type]
    return (float(excess) if is_number(excess) else -9.0, above)  # type: ignore[arg-type]


def judged(attack: Data, *, holdout: bool) -> tuple[str, str]:
    """Return the word for an attack (or a family of attacks), and the word with what belongs behind it.

    Examples
    --------
    >>> judged({"value": 0.6, "excess": 0.01, "p_family": 0.4, "detectable": 0.02}, holdout=True)
    ('no excess found', 'no excess found (detectable: 0.02)')
    >>> judged({"value": 0.6, "excess": 0.1, "p_family": 0.001}, holdout=True)[0]
    'excess found'
    >>> judged({"value": 0.6}, holdout=False)
    ('not known', 'not known: no holdout')
    """
    p, lower = attack.get("p_family"), attack.get("lower_bound")
    if "value" in attack and not is_number(attack["value"]):
        return NO_VALUE, NO_VALUE
    if (is_number(p) and p <= ALPHA) or (is_number(lower) and lower > 0):  # type: ignore[operator]
        return FOUND, FOUND
    if is_number(p):
        found = attack.get("detectable")
        least = number(found) if is_number(found) else UNKNOWN
        return NONE_FOUND, f"{NONE_FOUND} (detectable: {least})"
    return UNKNOWN, f"{UNKNOWN}: {'no excess could be stated' if holdout else 'no holdout'}"


def sentence_of(attack: Data, sets: int = 1) -> str:
    """Return what an attack found, as one plain sentence; `sets` is how many sets of keys it was tried with."""
    words = attack_words(attack.get("measure"))
    if not is_number(attack.get("value")):
        reason = str(attack.get("reason") or "no value was given").rstrip(".")
        return f"Not applicable: {shown(reason, 300)}."
    how = words.how.replace("{sensitive}", shown(attack.get("sensitive"), 40))
    held = f" and {percent(attack['holdout'])} of people who are not" if is_number(attack.get("holdout")) else ""
    out = f"Knowing {keys_of(attack)}, {how} right for {percent(attack['value'])} of the people in the data{held}"
    guess = guess_of(attack)
    if guess is not None:
        drawn = attack.get("guess_by") == "draw"
        way = "drawing from the distribution of values" if drawn else "always guessing the most frequent value"
        out += f"; {way}{' of the people it is about' * words.some} is right for {percent(guess)}"
    tried = f" The worst of {sets:,} sets of keys." if sets > 1 else ""
    return f"{out}.{tried}"


def family_sentence(family: Data, attacks: Sequence[Data]) -> str:
    """Return what all attacks say together."""
    p, lower, place = family.get("p_value"), family.get("lower_bound"), family.get("strongest")
    if not is_number(p):
        reason = str(family.get("reason") or family.get("not_applicable") or "no p-value was given").rstrip(".")
        return f"{shown(reason, 400)}."
    many = f"{len(attacks):,} attacks" if len(attacks) != 1 else "1 attack"
    out = f"Over {many}, the chance of a largest excess like this one, were people in the data and others alike, is {percent(p)}."
    if is_number(lower):
        out += (
            f" With 95 % confidence some attack has an excess above {signed(lower)}."
            if lower > 0  # type: ignore[operator]
            else f" The simultaneous lower bound is {signed(lower)}, not above 0."
        )
    if isinstance(place, int) and 0 <= place < len(attacks):
        worst = attacks[place]
        name = attack_words(worst.get("measure")).name
        out += f" Strongest: {name} on {shown(worst.get('sensitive'), 40)} knowing {keys_of(worst)}."
    return out
