"""What pages say in general: what figures mean, what they do not show, how words are chosen.

A sentence of one metric, attacker or kind of output stands with it; one that holds a figure of a result stands in the section that shows it.
"""

from __future__ import annotations

AUDIT_PAIRS = {
    "narrow": "Three rows that disagree with the target, without and with it.",
    "repeated": "As narrow, with the target there once already: no cell of its own appears or goes.",
    "empty": "No row at all, and the target alone.",
    "lone level": "The target alone has a level of the first column.",
    "crowded": "As narrow, each of the others fifty times.",
    "average": "Records of the user's table, without and with its most vulnerable one.",
    "canaries": "Four records, each in or out by a coin of its own, beside four others.",
}
"""What each pair of neighbouring tables of an audit is."""

AUDIT_LIMITS = (
    "Not refuted is no proof. Other tables, more runs or better attackers may show more; a proof is made on paper, mechanism by mechanism.",
    "A claim is broken only where the lower bound exceeds it: with the stated confidence that is no accident.",
    "Found with 80 %: if the true epsilon were so many times the claimed one, such runs would refute the claim four times out of five. It is worked out from the noise in the mechanism box; in the others it is extrapolated from how well attackers told the tables apart.",
    "The mechanism box sees every noisy answer of a fit, which nobody outside does: the promise covers them. A claim of epsilon and delta is tested there as the method accounts for it, as mu or as rho.",
    "The audit is of the code with these settings, seeds drawn independently: not of one release, and not of what was measured on the data beside it.",
)
"""What an audit does not say."""

CHECK_GLOSSARY = (
    "TCAP (targeted correct attribution probability): an attacker looks up what they know of a person (a set of keys) in a synthetic dataset. Where all rows "
    "with these keys have one value of the sensitive attribute, the attacker takes it. TCAP is how often that is right.",
    "Matched rows: synthetic rows whose keys no person has are left out. All rows: they count as wrong. Publications use now the one, now the other; both stand "
    "here.",
    "People in the data stand behind the outputs; people held out do not. What datasets tell of both alike is knowledge about the population, and what a publication is for.",
    "Marginal risk: TCAP against people in the data less TCAP against people held out: what somebody risks by being in the data.",
)
"""The words of a page on outputs."""

CHECK_LIMITS = (
    "No excess found does not mean safe: it means that a marginal risk as large as the detectable one would probably have been found.",
    "Outputs were computed anew on each fold, which has fewer people than the data. What a cell of two people gives away is seen where the folds have such cells, and by the rules.",
    "One attacker was tried: one who evolves datasets and looks people up in them. Another may do better, and may know more than the keys named here.",
    "Rules of thumb know nothing about other releases than those that were named as released.",
)
"""What a check of outputs does not show."""

EVOLVE_LIMITS = (
    "The records are of no one. They were drawn and changed until they gave what was published; a record that equals a real one does so by chance, or "
    "because what was published leaves little else.",
    "What was not published is not there: other regressions and tables of this dataset say something about where the search began, and "
    "nothing about the people behind the numbers.",
    "Many datasets give the same numbers. One of them is one of many: draw several, from several seeds, before anything is concluded from what they have in common.",
)
"""What evolved datasets do not say."""

TOLD_TOGETHER = (
    "Leaves of the pruned model tell classes of few records together. By a class that a leaf names, or by none of these, nobody is isolated. Who guesses "
    "another class for a leaf may isolate someone, and the model does not tell where: nodes in which that would happen are marked."
)
"""What a page says of a model that was pruned to keep most splits."""

TREE_KEY = (
    "A square on a thick orange way: a node that isolates. A ring: a leaf. A dot: a split. A triangle: a part not drawn, filled where a node in it "
    "isolates. The upper way from a split holds the smaller values. Names stand beside the first splits; on a screen the others show theirs when pointed at."
)
"""How to read the picture of a tree."""

RISK_RULES = (
    "Guess is what is right without any key, on the people whom the attack is about and as it counts them: always the most frequent value; for "
    "attacks that draw (CAP, DCAP, GCAP's mean score) a draw from its distribution.",
    "Values are compared as they were released, numbers exactly and rare levels by name, whatever bins and pools the synthesiser used. Where something "
    "else was chosen, the sentence of the attack says so.",
    "Excess is the attack's value for people in the original less its value for people in the holdout, attacked from the same synthetic table. "
    "What it tells about both alike is knowledge about the population; only the excess comes from being in the data.",
    "Excess found: the p-value of “people in the data and others are alike”, adjusted for all attacks together, is at most 5 %, or the "
    "lower bound of the excess, which holds for all attacks at once, is above 0.",
    "No excess found: that p-value is above 5 %. It does not say that there is none: a smaller one than `detectable`, the excess that is found "
    "with 80 % power at 5 % by that attack alone, may go unseen.",
    "Not known: without people who are not in the data nothing can be said of the excess, nor where all people score alike. Splitting the original afterwards is no holdout: both "
    "halves trained the generator.",
    "Where several sets of keys were tried, each row shows one with an excess found, if there is one, and the largest excess; without a holdout, "
    "the largest value.",
)
"""How the words of the verdict on risk are chosen, for readers."""

EXCESS_LINE = (
    "Excess: how much more often an attack is right about people in the data than about others, from the same table. What it tells about both alike is "
    "knowledge about the population; only the excess comes from being in the data."
)
"""What an excess is, in a line."""

DETECTABLE_LINE = "Detectable: the excess that this attack finds four times out of five, were it there. A smaller one may go unseen: no excess found is no proof of none."
"""What `detectable` means, in a line."""

CROSS_FIT_LINE = (
    "Cross-fit: without a holdout the same method was fitted to each half of the people in turn, and people of the other half stood for those who are not in "
    "the data. A model of half the people sees each of them more closely: the figure errs on the careful side."
)
"""What a cross-fit is, in a line."""

RISK_LIMITS = (
    "The attacks assume that someone knows the keys of a person exactly, and uses one synthetic table. Wrong or vague knowledge tells less; "
    "knowledge beyond these columns may tell more.",
    "Other keys, other sensitive columns and other attackers are other questions. No excess in these attacks is no promise about those.",
    "Whether somebody is in the data at all (membership) is asked by memorisation tests alone, from one table; attackers who know how it was made "
    "may tell more.",
    "Several releases from the same people add up: what two tables together give away is not seen in either. Give all of them at once to have them attacked "
    "together.",
    "A value that holds for people in the data and others alike still lets someone infer things about both. Whether that may be published is "
    "not a question of numbers alone.",
    "Averages hide single people: a rate over all can stand at its reference while a few are exposed.",
)
"""What attacks do not show."""

MEMORISATION_TESTED = (
    "Each test of whole records scores every person by the released values and the person's own, and compares people in the data with people who are not: its number of people is of "
    "both. It is in one family with the attacks: p-values are adjusted for all together. A released table that shows nothing here can still give people away to "
    "attackers who know how it was made."
)
"""What memorisation tests are, and are not."""

JOINT_LIMITS = (
    "Pooling rows is one way to use several releases; somebody who looks for what differs between versions may find more.",
    "Releases that were not given, of the same people in other studies or by others, are not in it.",
    "What is added is given these releases: further ones of the same kind may add more, and their own randomness is not in the interval.",
)
"""What attacks on several releases together do not show."""

MEMORISATION = (
    "This is a diagnostic of memorisation and no privacy verdict: rows may equal because few values are possible, and a table without a single "
    "equal row can give people away."
)
"""What rows that equal an original one say."""

UTILITY_ALONE = (
    "This page is about utility. It says nothing of what the synthetic table gives away about people: a table close to the original in "
    "every measure may be a copy of it. Disclosure has to be measured apart, with attacks, before a table is released."
)
"""The first limit of a page on utility."""

UTILITY_BESIDE = "Closeness says nothing of disclosure: a table close to the original in every measure may be a copy of it. Read the risk sections."
"""The limit of a page on utility where the table was attacked too."""

UTILITY_LIMITS = (
    "A value better than the holdout's is no extra worth: a table nearer than fresh records of the same population may repeat its records.",
    "Synthetic rows describe no person. Results found in them are conjectures about the original; confirm what matters on the original, "
    "inside the place where it is kept.",
    "Averages hide small groups: a measure over all rows can be close while a rare group is badly kept. Look at the worst columns and pairs, "
    "and measure the groups that matter to you.",
    "Measures look at single columns, pairs, triples, and the models named here. Anything they do not look at, such as order in time, links "
    "between records, or exact numbers within a bin, may be kept or lost.",
    "Intervals cover what each measure's settings say, in general the chance of drawing records; not that of another synthesis.",
)
"""What figures of utility do not show."""

FRONTIER_READING = (
    "The largest excess is that of any attack or test of the battery, over people the table was not made of, with what choosing the largest adds taken off; below its lower bound "
    "it is with 5 % probability, above its upper bound with 5 %. Bounds are of all attacks together, also of those that are about few people: these make upper bounds wide."
)
"""How the figures of a frontier are read."""

FRONTIER_LIMITS = (
    "Only attacks of the battery were made: an excess that none of them has is not seen. Where the upper bound is above the limit, it is not known that the limit is kept, only that nothing speaks against it.",
    "The bounds are given the tables that were made: another draw of the same settings has another excess. The release is such another draw; its own report attacks it.",
    "A front is of what was tried: other settings, methods or schemas may lie beyond it.",
    "The choice itself tells something about the data, as every figure here does: no promise of privacy covers a choice by figures.",
)
"""What a frontier does not show."""
