"""What a page says of attacks in general: how words are chosen, and what attacks do not show. What one attacker says stands with it."""

from __future__ import annotations

__all__ = ["LIMITS", "MEMORISATION", "RULES"]

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
