"""A page on what a published tree gives away: the tree drawn with the ways that isolate someone, before and after pruning.

Drawn are structure and names of columns. No cut, no value and no small count is on the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from markupsafe import Markup

from .._base.errors import InputError
from .._base.results import Leaving
from .._base.svg import GREY, INK, box, circle, cut, element, line, picture, text
from .._base.text import (
    NONE,
    capital,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    number,
    percent,
)
from ..trees import Ensemble, PruneResult, Tree, TreeAudit
from ..trees.attack import attack_trees
from ..trees.result import CertificateSummary, score_words
from .heads import GIVES_AWAY, NOT_TESTED, DecisionFigure, TestedLine, dots_answer, looks_answer
from .page import PageContent
from .sections import (
    Block,
    Col,
    Figure,
    Listing,
    Num,
    PageAnswer,
    PageTable,
    Paragraph,
    Row,
    filled_sections,
    page_table,
)
from .text import TOLD_TOGETHER, TREE_KEY

MOST_LEAVES = 200
LEAVING = Leaving(
    False,
    "It shows where a model is vulnerable: it does not go beside a model that was not pruned.",
)
MARKED, PLAIN = "#D55E00", "#8a8a8a"
WIDTH, TOP, LEFT = 520.0, 34.0, 12.0
NAMED, NAMED_WIDTH, DEEPEST = 4, 92.0, 24
"""Levels with names beside their splits, how wide these are, and the levels that fit: two pictures stand side by side."""

_SIDES = {
    "size": "What a leaf predicts is a mean of its records: with few of them, those above it may be one. Pruning by numbers of records does not rule "
    "that out.",
    "moments": "What a leaf predicts is a mean of its records. The leaves that were pruned below it show that enough of them lie above it, and enough "
    "do not, unless their labels are equal to some millionths.",
    "data": "What a leaf predicts is a mean of its records. That enough of them lie above it, and enough do not, was counted on the data that were given.",
}
"""What is known of records above and below what a leaf says, by how pruning made sure of it."""


def tree_page(
    audit: TreeAudit,
    pruned: PruneResult | None,
    title: str,
    *,
    scores: tuple[float, float] | None = None,
    certificate: CertificateSummary | None = None,
) -> str:
    """Return one HTML file on a tree or a forest: what isolates whom, the tree drawn, what pruning took and what it cost.

    The page holds no constant of a predicate and no count of records under the threshold of the audit. It shows where a model is vulnerable: it should not be
    published beside a model that was not pruned.

    Parameters
    ----------
    audit
        What an attacker finds, as `trees.audit` returns it.
    pruned
        The same model pruned, as `trees.prune` returns it; None to show the model alone.
    scores
        What the model was worth before and after (accuracy or R²), on the records that `audit.scored_on` says; those of the results unless given.
    certificate
        What the attack on the file that was written found. The page judges that file; without a certificate the pruned model by its counts.

    Raises
    ------
    InputError
        If the pruned model is not the audited one.
    """
    if pruned is not None:
        _check(audit.model, pruned)
        if scores is None and audit.score is not None and pruned.after_score is not None:
            scores = audit.score, pruned.after_score
    elif scores is None and audit.score is not None:
        scores = audit.score, audit.score
    score = capital(score_words(audit.model.kind, audit.scored_on))
    after = (
        None  # the attack on what is left, with the counts that only the keeper of the data still has
        if pruned is None
        else attack_trees(pruned.after, at_least=audit.at_least, threshold=audit.threshold)
    )
    several = len(audit.model.trees) > 1
    every_tree = range(len(audit.model.trees))
    depths = _depths("Nodes of all trees by depth", audit, after, every_tree) if several else None
    sections = filled_sections(
        (
            ("finding", "What was found", _finding(audit, after, pruned, scores, score)),
            (
                "tree",
                "The tree with most to hide" if several else "The tree",
                (_figure(audit, after, _worst(audit)),),
            ),
            ("depths", "All trees, by depth", (depths,) if depths else ()),
            ("tries", "Without the counts", () if audit.tries is None else _tries(audit, after)),
            ("limits", "What this does not say", (Listing(_limits(audit, pruned)),)),
        )
    )
    facts = (
        ("Model", display_name(audit.model.model)),
        ("Kind", audit.model.kind),
        ("Trees", f"{len(audit.model.trees):,}"),
        ("Threshold", f"fewer than {audit.at_least} records isolate"),
    )
    verdict_row = _isolates(audit, after, pruned, certificate)
    alarm = (
        f"{'This' if after is None else 'The pruned'} model isolates people. Do not publish it as it is."
        if verdict_row
        else ""
    )
    lead = _lead(audit) if after is None else _written_words(audit, after, pruned, certificate)
    isolating = (
        _total(audit)
        if after is None
        else 0
        if not verdict_row and (_told_together(audit, pruned) or certificate is not None)
        else _total(after)
    )
    if after is None:
        cost = (
            "The model was not pruned here: chaffinch tree prune writes one that isolates nobody."
        )
    elif scores is None:
        cost = f"Not known: no records were given to measure the {'accuracy' if audit.model.kind == 'classification' else 'R²'} on. Give --holdout, or --data."
    else:
        cost = (
            f"{score}: {format_fixed(scores[0])} before pruning, {format_fixed(scores[1])} after."
        )
    answers = tree_answers(
        audit,
        lead,
        cost,
        _limits(audit, pruned)[0],
        isolating=isolating,
        scores=scores if after is not None else None,
        isolates=verdict_row,
    )
    return PageContent(
        title, tuple(sections), facts=facts, alarm=alarm, answers=answers, leaving=LEAVING
    ).html


def _check(model: Ensemble, pruned: PruneResult) -> None:
    before = pruned.before
    sizes = [[tree.n_nodes for tree in each.trees] for each in (model, before)]
    if sizes[0] != sizes[1] or model.features != before.features:
        raise InputError(
            "The pruned model must come from the audited one. Got another: prune the model that was audited."
        )


def _isolates(
    audit: TreeAudit,
    after: TreeAudit | None,
    pruned: PruneResult | None,
    certificate: CertificateSummary | None,
) -> bool:
    """Whether the model that the page is about isolates someone: the file as written, the pruned model, or where nothing was pruned the model."""
    if after is None:
        return audit.exposed or _found_by_trying(audit)
    if certificate is not None:
        return not certificate.holds
    return after.exposed and not _told_together(audit, pruned)


def _written_words(
    audit: TreeAudit,
    after: TreeAudit,
    pruned: PruneResult | None,
    certificate: CertificateSummary | None,
) -> str:
    """What the pruned model isolates, with what the attack on its file found where there is a file."""
    summary = _pruned_words(audit, after, pruned)
    return (
        summary
        if certificate is None
        else certificate.sentence()
        if not _told_together(audit, pruned)
        else f"{summary} {certificate.sentence()}"
    )


def _isolating(audit: TreeAudit) -> list[set[int]]:
    """The nodes of each tree that isolate: by counts, or where these are not known by trying."""
    out: list[set[int]] = [set() for _ in audit.model.trees]
    predicates = audit.predicates
    if predicates is None:
        predicates = tuple(t.predicate for t in audit.tries or () if t.predicate is not None)
    for predicate in predicates:
        out[predicate.tree].add(predicate.node)
    return out


def _worst(audit: TreeAudit) -> int:
    """The tree with most isolating nodes, of equal ones the first."""
    return int(np.argmax([len(nodes) for nodes in _isolating(audit)]))


def _few(count: int | None, threshold: int) -> str:
    """A count of what stands for records: small ones as words."""
    if count is None:
        return "not known"
    return f"{count:,}" if count == 0 or count >= threshold else f"fewer than {threshold}"


def _share(audit: TreeAudit) -> str:
    """The share of records that stand where they isolate; in words where it would tell a small count."""
    if audit.share is None or audit.n_exposed is None:
        return "not known"
    few = 0 < audit.n_exposed < audit.threshold
    return f"fewer than {audit.threshold} records" if few else percent(audit.share)


def _finding(
    audit: TreeAudit,
    after: TreeAudit | None,
    pruned: PruneResult | None,
    scores: tuple[float, float] | None,
    score: str,
) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if after is None:
        blocks.append(Paragraph(_lead(audit), "lead"))
    else:
        alarming = after.exposed and not _told_together(audit, pruned)
        blocks.append(
            Paragraph(_pruned_words(audit, after, pruned), "alarm" if alarming else "lead")
        )
        blocks.append(Paragraph(f"The model before pruning. {_lead(audit)}"))
    if audit.model.note:
        blocks.append(Paragraph(display_name(audit.model.note, 400), "note"))
    columns = [audit] if after is None else [audit, after]
    rows: list[Row] = [
        ("Nodes", *(f"{sum(t.n_nodes for t in a.model.trees):,}" for a in columns)),
        ("Leaves", *(f"{sum(len(t.leaves) for t in a.model.trees):,}" for a in columns)),
        (
            "Depth of the deepest leaf",
            *(f"{max(int(t.depth.max()) for t in a.model.trees):,}" for a in columns),
        ),
        ("Nodes that isolate", *(_few(_total(a), a.threshold) for a in columns)),
        (
            "Trees with such a node",
            *(NONE if a.vulnerable_trees is None else f"{a.vulnerable_trees:,}" for a in columns),
        ),
        ("Records in leaves that isolate them", *(_share(a) for a in columns)),
    ]
    if scores is not None:
        cells = [format_fixed(value) for value in scores[: len(columns)]]
        rows.append((display_name(score), *cells))
    when = ["Before"] if after is None else ["Before", "After pruning"]
    blocks.append(page_table("The model in numbers", rows, Col(""), *map(Num, when)))
    if scores is not None and after is not None:
        blocks.append(
            Paragraph(
                f"Pruning changed the {score_words(audit.model.kind, audit.scored_on)} by {format_signed(scores[1] - scores[0])}."
            )
        )
    if pruned is not None and pruned.hidden_classes:
        blocks.append(
            Paragraph(
                "Classes with too few records in all were taken out: the pruned model never predicts them."
            )
        )
    return tuple(blocks)


def _total(audit: TreeAudit) -> int | None:
    return None if audit.predicates is None else sum(map(len, _isolating(audit)))


def _lead(audit: TreeAudit) -> str:
    who = "one record" if audit.at_least == 2 else f"fewer than {audit.at_least} records"
    if audit.predicates is None:
        tried = (
            "Trying leaves on the data found a condition that isolates one record. "
            if audit.exposed
            else ""
        )
        return f"{tried}How many records stand behind each node is not known. {display_name(audit.reason, 300)}"
    if not audit.exposed:
        tried = " But trying leaves on the data, with what they predict, found a condition that is true of one record."
        return f"No node of this model isolates {who} by its count.{tried if _found_by_trying(audit) else ''}"
    what = "some class" if audit.model.kind == "classification" else "a leaf"
    verb = "has" if audit.model.kind == "classification" else "holds"
    return f"Whoever has this model can write down conditions that are true of {who}: nodes in which {what} {verb} so few."


def _told_together(audit: TreeAudit, pruned: PruneResult | None) -> bool:
    return pruned is not None and pruned.splits == "most" and audit.model.kind == "classification"


def _pruned_words(audit: TreeAudit, after: TreeAudit, pruned: PruneResult | None) -> str:
    return TOLD_TOGETHER if _told_together(audit, pruned) else _lead_after(after)


def _lead_after(after: TreeAudit) -> str:
    if after.predicates is None:
        return f"Whether the pruned model isolates someone is not known. {display_name(after.reason, 300)}"
    if after.exposed:
        return "The pruned model still has nodes that isolate."
    # Draws of a bootstrap are not records: two of them may be one record drawn twice.
    who = "The" if not after.model.note else "As far as its counts tell, the"
    return f"{who} pruned model has no way to a node that isolates anyone."


def _found_by_trying(audit: TreeAudit) -> bool:
    return any(t.tries is not None for t in audit.tries or ())


def _figure(audit: TreeAudit, after: TreeAudit | None, drawn: int) -> Figure:
    both = [("before", "Before", audit)] + (
        [("after", "After pruning", after)] if after is not None else []
    )
    pictures, folded = [], False
    for key, caption, each in both:
        picture, is_folded = tree_picture(
            f"tree-{key}",
            caption,
            each.model.trees[drawn],
            each.model.features,
            _isolating(each)[drawn],
        )
        pictures.append(picture)
        folded |= is_folded
    which = "" if len(audit.model.trees) == 1 else f" {drawn + 1:,} of {len(audit.model.trees):,}"
    note = TREE_KEY + (
        " The deepest parts are folded: there are too many leaves to draw." if folded else ""
    )
    unknown = (
        ""
        if audit.predicates is not None
        else " Counts are not known: at most what trying found is marked."
    )
    return Figure(
        "drawn",
        f"Tree{which}: the ways to nodes that isolate{', before and after' if after else ''}",
        tuple(pictures),
        _depths("Nodes of this tree by depth", audit, after, [drawn]),
        note=note + unknown,
        open=True,
        across=len(pictures),
    )


def _depths(
    caption: str, audit: TreeAudit, after: TreeAudit | None, chosen: Collection[int]
) -> PageTable:
    """Nodes, leaves and isolating nodes at each depth, before and after."""
    audits = [audit] if after is None else [audit, after]
    summary = []
    for each in audits:
        isolating = _isolating(each)
        nodes, leaves, vulnerable = Counter[int](), Counter[int](), Counter[int]()
        for i in chosen:
            tree = each.model.trees[i]
            nodes.update(tree.depth.tolist())
            leaves.update(tree.depth[tree.leaves].tolist())
            vulnerable.update(tree.depth[sorted(isolating[i])].tolist())
        summary.append((nodes, leaves, vulnerable))
    known = [each.predicates is not None for each in audits]
    rows: list[Row] = []
    for depth in range(max(summary[0][0]) + 1):
        cells = [
            cell
            for (nodes, leaves, vulnerable), sure in zip(summary, known, strict=True)
            for cell in (
                f"{nodes[depth]:,}",
                f"{leaves[depth]:,}",
                _few(vulnerable[depth], audit.threshold) if sure else NONE,
            )
        ]
        rows.append((f"{depth}", *cells))
    head: Sequence[str] = ("Nodes", "Leaves", "Isolate")
    if after is not None:
        head = [f"{name}, {when}" for when in ("before", "after") for name in head]
    return page_table(caption, rows, Col("Depth"), *map(Num, head))


def _tries(audit: TreeAudit, after: TreeAudit | None) -> tuple[Block, ...]:
    tries = audit.tries or ()
    n_tries = [t.tries for t in tries if t.tries is not None]
    score = float(np.mean([t.score for t in tries])) if tries else None
    rows: tuple[Row, ...] = (
        ("Trees attacked", f"{len(tries):,}"),
        ("Trees in which a condition was found", f"{len(n_tries):,}"),
        ("Mean of 1 / tries over trees (0 none, 1 at the first try)", format_fixed(score)),
        (
            "Mean number of tries where one was found",
            number(float(np.mean(n_tries))) if n_tries else NONE,
        ),
    )
    sentence = (
        "An attacker without counts takes leaves, deepest first, with every label (for numbers: above what the leaf says, or not), and asks whether "
        "exactly one record fits. Here the data answered."
    )
    blocks: list[Block] = [
        Paragraph(sentence),
        page_table("Tries", rows, Col(""), Num("Before")),
    ]
    if (
        after is not None
        and after.predicates == ()
        and audit.model.kind == "classification"
        and not audit.model.note
    ):
        blocks.append(
            Paragraph(
                "After pruning no leaf with any label isolates a record, so no number of tries finds one."
            )
        )
    return tuple(blocks)


def _limits(audit: TreeAudit, pruned: PruneResult | None) -> tuple[str, ...]:
    out = [
        "A condition that is true of one training record need not be true of one person of the population.",
        "Cuts lie between two actual values of a column: they tell something of both, whoever stands behind a leaf.",
        "A condition on a column that the tree does not ask about can split any leaf further: no tree prevents that.",
    ]
    if audit.model.kind == "regression":
        out.append(_SIDES[pruned.side_rule if pruned is not None and pruned.side_rule else "size"])
    if pruned is None and audit.exposed:
        out.append("Pruning takes back the splits that isolate: chaffinch tree prune MODEL -o OUT.")
    return tuple(out)


# The picture.


def tree_picture(
    key: str, title: str, tree: Tree, features: Sequence[str], marked: Collection[int]
) -> tuple[Markup, bool]:
    """Return a picture of a tree with some nodes marked, and whether deep parts had to be folded.

    Names of columns and structure only: no cut and no count.
    """
    deepest = _drawn_depth(tree)
    levels = [node for node in tree.order if tree.depth[node] <= deepest]
    ends = [node for node in levels if tree.left_child[node] < 0 or tree.depth[node] == deepest]
    # A way is marked from the root down to each marked node; a fold is, if one of them lies below it.
    ways = {above for node in marked for above in (node, *(split for split, _ in tree.path(node)))}
    pitch = 16.0 if len(ends) <= 40 else 11.0 if len(ends) <= 100 else 8.0
    x = _columns(deepest)
    y = {node: TOP + pitch * (i + 0.5) for i, node in enumerate(ends)}
    for node in reversed(levels):
        if node not in y:
            y[node] = (y[int(tree.left_child[node])] + y[int(tree.right_child[node])]) / 2
    # Marked ways last, so that they lie on top.
    lines = sorted(levels[1:], key=lambda node: node in ways)
    parts = [
        text(LEFT, 16, title, bold=True),
        *(_edge(tree, node, x, y, node in ways) for node in lines),
    ]
    folds = set()
    for node in levels:
        y_node, depth = y[node], int(tree.depth[node])
        leaf = tree.left_child[node] < 0
        if not leaf and depth == deepest:
            folds.add(node)
            parts.append(_fold(x[depth], y_node, node in ways, pitch))
            continue
        name = "" if leaf else features[int(tree.feature[node])]
        parts.append(_node(x[depth], y_node, leaf, node in marked, display_name(name), pitch))
        # A name meets no line where those to the children stand clear above and below it.
        if (
            name
            and depth < min(NAMED, deepest)
            and y[int(tree.right_child[node])] - y[int(tree.left_child[node])] >= 14.0
        ):
            parts.append(
                text(
                    x[depth] + 7, y_node + 3.5, cut(name, x[depth + 1] - x[depth] - 12, 10), size=10
                )
            )
    height = TOP + pitch * len(ends) + 10
    summary = "Ways to nodes that isolate are marked." if ways else "No node is marked."
    desc = f"A tree of {count_noun(tree.n_nodes, 'node')} and {count_noun(len(tree.leaves), 'leaf', 'leaves')}, the root at the left. {summary}"
    return picture(key, x[-1] + 24, height, title=title, desc=desc, body=parts), bool(folds)


def _drawn_depth(tree: Tree) -> int:
    """The depth down to which the tree is drawn: the greatest with no more ends and levels than fit."""
    max_depth = int(tree.depth.max())
    inner = np.bincount(tree.depth[tree.left_child >= 0], minlength=max_depth + 1)
    leaves = np.cumsum(np.bincount(tree.depth[tree.leaves], minlength=max_depth + 1))
    fit = np.flatnonzero(leaves + inner <= MOST_LEAVES)
    return min(int(fit[-1]), DEEPEST)


def _columns(deepest: int) -> list[float]:
    """Where each level stands: the first ones wide, for names; the others share what is left."""
    wide = min(NAMED, deepest)
    rest = (WIDTH - LEFT - wide * NAMED_WIDTH) / max(deepest - wide, 1)
    steps = [NAMED_WIDTH] * wide + [min(rest, NAMED_WIDTH / 2)] * (deepest - wide)
    return [LEFT, *(LEFT + np.cumsum(steps)).tolist()] if steps else [LEFT]


def _edge(tree: Tree, node: int, x: Sequence[float], y: dict[int, float], marked: bool) -> str:
    above = int(tree.parent[node])
    x_above, x_node = x[int(tree.depth[above])], x[int(tree.depth[node])]
    points = [(x_above, y[above]), (x_above, y[node]), (x_node, y[node])]
    return line(points, stroke=MARKED if marked else PLAIN, width=2.6 if marked else 0.9)


def _node(x: float, y: float, leaf: bool, marked: bool, name: str, pitch: float) -> str:
    size = min(4.5, pitch / 2 - 0.6)
    if marked:
        area = (x - size, y - size, 2 * size, 2 * size)
        return box(*area, fill=MARKED, stroke=INK, stroke_width=0.8, tooltip=name)
    if leaf:
        return circle(x, y, size * 0.75, fill="#fff", stroke=GREY, tooltip=name)
    return circle(x, y, size * 0.6, fill=GREY, tooltip=name)


def _fold(x: float, y: float, marked: bool, pitch: float) -> str:
    half = min(5.0, pitch / 2 - 0.4)
    fill, border = (MARKED, INK) if marked else ("#fff", GREY)
    path = f"M{x:.1f} {y:.1f}L{x + 2 * half:.1f} {y - half:.1f}V{y + half:.1f}Z"
    return element("path", d=path, fill=fill, stroke=border, stroke_width=0.8)


def tree_answers(
    audit: TreeAudit,
    lead: str,
    cost: str,
    limit: str,
    *,
    isolating: int | None,
    scores: tuple[float, float] | None,
    isolates: bool,
) -> tuple[PageAnswer, ...]:
    """Return whom a tree isolates, what pruning costs, and what was not tried; `isolating` is how many nodes do, None where not known.

    `cost` and `scores` are of a model that was pruned, as `lead`, `isolating` and `isolates` then are too.
    """
    nodes = (
        "not known"
        if isolating is None
        else "none"
        if not isolating
        else f"{isolating:,} nodes"
        if isolating >= audit.threshold
        else f"fewer than {audit.threshold} nodes"
    )
    counts = TestedLine(
        "Nodes that isolate, by their counts",
        "part" if isolating is None else "no" if isolating else "yes",
        nodes,
    )
    tried = TestedLine(
        "Leaves tried on data",
        "no" if audit.tries is None else "yes",
        "no data were given" if audit.tries is None else "tried",
    )
    word = "fail" if isolates else "not assessed" if isolating is None else ""
    figures: tuple[DecisionFigure, ...] = ()
    if scores is not None:
        figures = (DecisionFigure("before", scores[0]), DecisionFigure("after", scores[1]))
    known = all(0 <= figure.value <= 1 for figure in figures)
    lines = (
        tried,
        TestedLine("Other models of the same people", "no", "not tested"),
        TestedLine("Membership", "no", "not tested here"),
        TestedLine("Promise of privacy", "no", "none"),
    )
    return (
        looks_answer(1, GIVES_AWAY, lead, (counts,), word),
        dots_answer(2, "What does pruning cost?", cost, figures if known else ()),
        looks_answer(3, NOT_TESTED, limit, lines),
    )
