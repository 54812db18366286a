"""What a synthetic table gives away about sensitive columns: every attack beside its references, and all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._base.errors import InputError, listed
from ..._base.masking import about
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ...stats.combining import ONE_SYNTHESIS
from ...stats.splits import child
from ...table.table import Table
from .attack import RiskStudy
from .equal import KeyedRows
from .exposure import funnel, inside, matched, spread
from .outcomes import Question
from .plan import RiskPlan
from .run import Run
from .scene import Scene

__all__ = ["attacked_scene", "facts", "study_risk"]


def study_risk(
    original: Table,
    synthetics: Any,
    holdout: Any = None,
    *,
    plan: RiskPlan | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> RiskStudy:
    """Return what a synthetic table gives away about sensitive columns to someone who knows the keys.

    The adversary knows the key columns of a person exactly, and that the person is in the population; whether being in the
    original data makes a difference is what the excess over the holdout says.

    Parameters
    ----------
    synthetics
        A table, path or frame, or a list of them: several syntheses made alike.
    holdout
        People of the same population who are not in the original. Without it there is no excess: the other figures say how
        much the table tells about anybody, not whether it tells more about its own people.
    plan, settings
        A `RiskPlan`, or its settings by name: keys, sensitive, key_sizes, label, attackers, convention ...

    Raises
    ------
    InputError
        If columns do not exist or differ, or a setting breaks a rule.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"age": [1, 2, 3, 4] * 25, "sex": ["f", "m"] * 50, "ill": ["no", "yes", "no", "no"] * 25}))
    >>> found = study_risk(table, table, keys=["age", "sex"], sensitive=["ill"], measures=["dcap"], attackers=["gcap"], seed=1)
    >>> found.attacks[0].value, found.attacks[0].guess, found.attacks[0].excess is None
    (1.0, 0.625, True)
    """
    chosen = RiskPlan(**settings) if plan is None else plan
    chosen.check(original.schema)
    several = list(synthetics) if isinstance(synthetics, list | tuple) else [synthetics]
    if not several:
        raise InputError("Name at least one synthetic table.")
    root = seed_sequence(seed)
    questions = chosen.questions(child(root, 0))
    scene = attacked_scene(original, several, holdout, chosen, root)
    run = Run(scene, child(root, 3), chosen.resamples, threads, progress)
    for number, question in enumerate(questions):
        progress("attacking", number / len(questions))
        run.attack(question, chosen.label)
    attacks, together = run.finished()
    shown, hidden = _exposure(scene, questions)
    told = {
        **facts(chosen, questions, seed),
        "original": {"rows": about(original.n_rows)},
        "synthetic": [{"rows": about(scene.sides[name].n_rows)} for name in scene.synthetics],
        "holdout": None if holdout is None else {"rows": about(scene.sides["holdout"].n_rows)},
        "notes": [ONE_SYNTHESIS] if len(several) == 1 else [],
    }
    return RiskStudy(
        attacks=attacks, together=together, about=told, exposure=shown, confidential=hidden, seconds=run.seconds
    )


def attacked_scene(
    original: Table, synthetics: Sequence[Any], holdout: Any, plan: RiskPlan, root: np.random.SeedSequence
) -> Scene:
    """Return the scene of a study, with the sources that attacks are held against."""
    scene = Scene.of(
        original, synthetics, holdout, columns=plan.columns, numeric=plan.numeric, tolerance=plan.tolerance,
        missing=plan.missing,
    )  # fmt: skip
    n_rows = scene.sides[scene.synthetics[0]].n_rows
    scene = scene.with_marginals(n_rows, child(root, 1))
    if plan.label is None:
        return scene
    hidden = [name for name in plan.sensitive if name != plan.label]
    return scene.with_label_only(n_rows, hidden, plan.label, child(root, 2))


def facts(plan: RiskPlan, questions: Sequence[Question], seed: Seed) -> dict[str, Any]:
    """Return what a study was about, as plain data."""
    return {
        "keys": list(plan.keys),
        "sensitive": list(plan.sensitive),
        "key_sizes": None if plan.key_sizes is None else list(plan.key_sizes),
        "key_sets": len({question.keys for question in questions}),
        "label": plan.label,
        "scenario": f"Someone knows {listed(plan.keys)} of a person and wants {listed(plan.sensitive)}.",
        "seed": seed if isinstance(seed, int) else None,
        "settings": {**plan.to_dict(), "attackers_that_learn": list(questions[0].attackers)},
    }


def _exposure(scene: Scene, questions: Sequence[Question]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return who is exposed by the largest key set of each sensitive column: what may leave, and what may not."""
    widest = {q.sensitive: max((p.keys for p in questions if p.sensitive == q.sensitive), key=len) for q in questions}
    matches = {s: matched(scene, scene.synthetics[0], keys, s) for s, keys in widest.items()}
    parts = [spread(matches[s], s) for s in widest]
    original, fresh = scene.tables["original"], scene.tables.get("holdout")
    rows = KeyedRows.of(original)
    shown = {
        "funnel": [funnel(matches[s], keys, s) for s, keys in widest.items()],
        "records": [records for records, _ in parts],
        "classes": [classes for _, classes in parts],
        "memorisation": {
            "rows_equal": rows.share(scene.tables[scene.synthetics[0]]),
            "holdout_rows_equal": None if fresh is None else rows.share(fresh),
        },
    }
    hidden = {"attacks": [inside(original, scene, matches[s], keys, s) for s, keys in widest.items()]}
    return shown, hidden
