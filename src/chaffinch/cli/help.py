"""Help texts that list what is registered, looked up when help is shown: `{metrics}` stands for the metrics there are then.

Nothing is imported before that, so `chaffinch --help` answers at once, and what a user registers is listed like the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from typer.core import TyperCommand

__all__ = ["NAMES", "RegistryCommand", "filled"]


def _metrics() -> Iterable[str]:
    from ..utility import choices

    return choices()


def _models() -> Iterable[str]:
    from ..stats.learners import CLASSIFIERS

    return CLASSIFIERS


def _kinds() -> Iterable[str]:
    from ..outputs.kinds import KINDS

    return KINDS.names


def _attackers() -> Iterable[str]:
    from ..risk.attribution.attacker import attacker_words

    return attacker_words()


def _conventions() -> Iterable[str]:
    from ..risk.attribution.tcap import CONVENTIONS

    return CONVENTIONS


def _learners() -> Iterable[str]:
    from ..risk.membership import ATTACKERS

    return ATTACKERS.names


def _pairs() -> Iterable[str]:
    from ..risk.auditing import PAIRS

    return PAIRS


def _methods() -> Iterable[str]:
    from ..synth import method_words

    return method_words()


def _private_methods() -> Iterable[str]:
    from ..synth import method_words

    return method_words(private=True)


def _formats() -> Iterable[str]:
    from ..table import FORMATS

    return (form.title for form in FORMATS if form.title)


def _tree_formats() -> Iterable[str]:
    from ..trees import TREE_FORMATS

    return (form.title for form in TREE_FORMATS if form.title)


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "attackers": _attackers,
    "kinds": _kinds,
    "conventions": _conventions,
    "metrics": _metrics,
    "learners": _learners,
    "models": _models,
    "pairs": _pairs,
    "methods": _methods,
    "private_methods": _private_methods,
    "formats": _formats,
    "tree_formats": _tree_formats,
}
"""What each placeholder lists."""


def filled(text: str) -> str:
    """Return a help text with its placeholders filled; braces that hold no known word stay.

    Examples
    --------
    >>> filled("Some of {models}, as {A,B}.")
    'Some of nb, svc, knn, rf, lr, as {A,B}.'
    """
    return re.sub(r"\{(\w+)\}", lambda word: ", ".join(NAMES[word[1]]()) if word[1] in NAMES else word[0], text)


class RegistryCommand(TyperCommand):
    """A command whose help lists what is registered."""

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
