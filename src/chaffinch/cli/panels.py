"""Help in panels: the few options that most runs need first, the others by what they are about."""

from __future__ import annotations

from typing import Any

BASIC, LEARN, MEASURE, PRIVACY, FILES, ADVANCED = (
    "Basic",
    "What to learn",
    "What to measure",
    "Privacy",
    "Files",
    "Advanced",
)

PANELS = (BASIC, LEARN, MEASURE, PRIVACY, FILES, ADVANCED)
"""The panels, in the order of a help page."""

FIRST: dict[str, tuple[str, ...]] = {
    "schema": ("output", "edit", "codebook"),
    "describe": ("schema", "html", "json"),
    "synth": ("output", "rows", "label", "sensitive", "seed"),
    "fit": ("output", "label", "sensitive", "method", "seed"),
    "sample": ("output", "rows", "seed"),
    "inspect": ("svg", "error_bars", "json"),
    "utility": ("holdout", "label", "thorough", "html", "verbose"),
    "risk": ("keys", "sensitive", "holdout", "thorough", "html", "verbose"),
    "release": ("output", "label", "sensitive", "keys", "holdout", "thorough"),
    "frontier": ("output", "keys", "sensitive", "label", "max_excess", "budget"),
    "compare": ("html", "json"),
    "plan": ("schema", "epsilon", "delta", "method"),
    "ledger": ("new", "epsilon", "delta", "data"),
    "audit": ("synth", "epsilon", "data", "runs", "html"),
    "evolve": ("output", "rows", "copies", "seconds", "seed"),
    "check": ("data", "keys", "sensitive", "rules_only", "html"),
    "membership": ("synth", "population", "targets", "html", "seed"),
    "singling-out": ("synth", "population", "targets", "html", "seed"),
    "prune": ("output", "data", "label", "at_least"),
}
"""The options of each command that come first, in this order."""

ABOUT: dict[str, tuple[str, ...]] = {
    LEARN: (
        "parents",
        "search",
        "score",
        "label",
        "sensitive",
        "protect",
        "keep",
        "require",
        "forbid",
        "root",
        "method",
        "smoothing",
        "generations",
        "weight",
        "person_id",
        "order_by",
        "groups",
        "rows",
        "copies",
        "rare",
        "personal",
        "given",
        "engine",
        "start",
        "selection",
        "tournament_size",
        "best",
        "fitness",
        "synth",
    ),
    MEASURE: (
        "keys",
        "key_sizes",
        "attackers",
        "holdout",
        "formula",
        "thorough",
        "repeats",
        "measures",
        "models",
        "tests",
        "parts",
        "max_excess",
        "policy",
        "released",
        "only",
        "exclude",
        "rules_only",
        "mitigate",
        "syntheses",
        "holdout_share",
        "repeat_splits",
        "leave_one_out",
        "no_cumulative",
        "whole_runs",
        "fold_of_fold",
        "error_line",
        "runs",
        "pairs",
        "box",
        "population",
        "targets",
        "shadows",
        "design",
        "features",
        "look",
        "learner",
        "ranking",
        "max_auc",
        "releases",
        "combine",
        "max_success",
        "at_least",
    ),
    PRIVACY: (
        "epsilon",
        "delta",
        "neighbours",
        "rows_per_person",
        "discover",
        "ledger",
        "dry_run",
        "threshold",
        "level",
        "rule",
        "new",
    ),
    FILES: (
        "output",
        "model",
        "schema",
        "encoding",
        "delimiter",
        "decimal",
        "header",
        "comment",
        "table",
        "json",
        "html",
        "public",
        "confidential",
        "config",
        "save_config",
        "overwrite",
        "record",
        "recipes",
        "acro_write_back",
        "write",
        "data",
        "svg",
        "codebook",
        "title",
    ),
}
"""What the other options are about; those that stand nowhere are advanced."""


def panel_of(command: str, option: str) -> str:
    """Return the panel of an option of a command.

    Examples
    --------
    >>> panel_of("release", "label"), panel_of("synth", "parents"), panel_of("release", "svm_rows"), panel_of("release", "help")
    ('Basic', 'What to learn', 'Advanced', 'Advanced')
    """
    if option in FIRST.get(command, ()):
        return BASIC
    return next((panel for panel, names in ABOUT.items() if option in names), ADVANCED)


def place_of(command: str, parameter: Any) -> tuple[int, int, int]:
    """Return what parameters are sorted by: arguments as they come, then panels, and of the first panel the order of importance."""
    if parameter.param_type_name == "argument":
        return 0, 0, 0
    first = FIRST.get(command, ())
    return (
        1,
        PANELS.index(panel_of(command, parameter.name)),
        first.index(parameter.name) if parameter.name in first else 0,
    )
