"""Help: in panels, the few options that most runs need first, the others by what they are about; and with what is registered.

`{metrics}` in a text stands for the metrics there are when help is shown. Nothing is imported before that, so `chaffinch --help` answers at once, and what
a user registers is listed like the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from typer import Exit, echo
from typer.core import TyperCommand

from .._base.files import check_outputs, kept_files, overwriting
from .config import save_config, with_config


def _from(module: str, listed: Callable[[Any], Iterable[str]]) -> Callable[[], Iterable[str]]:
    """A list that a module has, which is imported when the list is asked for."""
    return lambda: listed(import_module(module, __package__))


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "attackers": _from("..risk", lambda risk: risk.attacker.attacker_words(*risk.attacker.STUDIED)),
    "codebooks": _from("..table.codebooks", lambda of: (kind.title for kind in of.CODEBOOKS)),
    "kinds": _from("..outputs.kinds", lambda of: of.KINDS.names),
    "conventions": _from("..risk.attribution.tcap", lambda of: of.CONVENTIONS),
    "metrics": _from("..utility", lambda of: of.choices()),
    "learners": _from("..risk.membership.attacker", lambda of: of.learners()),
    "models": _from("..stats.learners", lambda of: of.CLASSIFIERS),
    "pairs": _from("..risk.auditing", lambda of: of.PAIRS),
    "methods": _from("..synth", lambda of: of.method_words()),
    "private_methods": _from("..synth", lambda of: of.method_words(private=True)),
    "formats": _from("..table", lambda of: (form.title for form in of.FORMATS if form.title)),
    "tree_formats": _from(
        "..trees", lambda of: (form.title for form in of.TREE_FORMATS if form.title)
    ),
}
"""What each placeholder lists."""


def filled(text: str) -> str:
    """Return a help text with its placeholders filled; braces that hold no known word stay.

    Examples
    --------
    >>> filled("Some of {models}, as {A,B}.")
    'Some of nb, svc, knn, rf, lr, as {A,B}.'
    """
    return re.sub(
        r"\{(\w+)\}",
        lambda word: ", ".join(NAMES[word[1]]()) if word[1] in NAMES else word[0],
        text,
    )


def stopped() -> str:
    """Return what is kept of a run that Ctrl-C ended, and how to go on."""
    kept = kept_files()
    what = (
        f"Kept, and whole: {', '.join(map(str, kept))}. Nothing else was written"
        if kept
        else "Nothing was written"
    )
    return f"Stopped. {what}. The same command starts over."


class RegistryCommand(TyperCommand):
    """A command whose help lists what is registered, in panels, and whose options may stand in a file."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options in the order of the help page, each option with its panel."""
        parameters: list[Any] = super().get_params(ctx)
        for one in parameters:
            if one.param_type_name == "option":
                one.rich_help_panel = panel_of(self.name or "", one.name)
        return sorted(parameters, key=lambda one: place_of(self.name or "", one))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line, those of its file of options before them."""
        return super().parse_args(
            ctx, with_config(self.params, args) if self._configurable else args
        )

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and write its options to a file where that is asked for and it came to an end."""
        with overwriting(ctx.params.get("overwrite", False)):
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        path = ctx.params.get("save_config") if self._configurable else None
        check_outputs(None, path)
        try:
            result = super().invoke(ctx)
        except KeyboardInterrupt:  # here, since typer ends on it without a word
            echo(stopped(), err=True)
            raise Exit(130) from None
        except Exit as end:
            if path is not None and end.exit_code in (0, 1):
                save_config(path, self.params, ctx.params)
            raise
        if path is not None:
            save_config(path, self.params, ctx.params)
        return result

    @property
    def _configurable(self) -> bool:
        return any(one.name == "save_config" for one in self.params)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, its placeholders filled; the texts stay as they were for the next time."""
        holders: list[Any] = [self, *self.params]
        texts = [(holder, text) for holder in holders if (text := getattr(holder, "help", None))]
        try:
            for holder, text in texts:
                holder.help = filled(text)
            super().format_help(ctx, formatter)
        finally:
            for holder, text in texts:
                holder.help = text


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
