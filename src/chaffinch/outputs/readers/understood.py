"""What readers of fitted models share: a formula where the model had none, said in words, and what a model does not know of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..._base.checks import check_name
from ..._base.errors import InputError
from ..._base.results import without_none

INTERCEPTS = frozenset(("const", "Intercept", "intercept"))
_DEFAULT = re.compile(r"(x|y|Var_|column_?)\d*")


class ModelStatements:
    """What whoever has a model says of it: columns that it does not know by name, such as its weights or groups.

    Examples
    --------
    >>> said = ModelStatements("m", {"group": "school"}, ("group", "event"))
    >>> said.require("group", "its groups")
    'school'
    """

    def __init__(self, output: str, given: Mapping[str, Any], allowed: Sequence[str]) -> None:
        self.output, self.used = output, set[str]()
        self.given = without_none(given)
        for key in given:
            check_name("argument", key, allowed, prefix=f"Output '{output}': ")

    def __getitem__(self, key: str) -> Any:
        self.used.add(key)
        return self.given.get(key)

    def require(self, key: str, what: str) -> Any:
        """Return what is said; InputError with the line that says it where nothing is."""
        value = self[key]
        if value is None:
            raise InputError(
                f"Output '{self.output}': the model does not know the name of {what}. Say it: {key} = \"...\"."
            )
        return value

    def finish(self) -> None:
        """Raise InputError for what was said and belongs to no part of the model."""
        if extra := sorted(set(self.given) - self.used):
            raise InputError(
                f"Output '{self.output}': {extra[0]} = ... was said, but the model has nothing of the kind. Leave it out."
            )


def refuse(output: str, *reasons: tuple[object, str]) -> None:
    """Raise InputError, of an output, with the first of some reasons that holds: each is whether it does, and what it says.

    Examples
    --------
    >>> refuse("m", (False, "was fitted with a penalty."), (True, "was not fitted."))
    Traceback (most recent call last):
    ...
    chaffinch._base.errors.InputError: Output 'm' was not fitted.
    """
    head = f"Output '{output}'"
    check_reasons(
        *((holds, f"{head}{'' if reason[0] == ':' else ' '}{reason}") for holds, reason in reasons)
    )


def check_reasons(*reasons: tuple[object, str], error: type[InputError] = InputError) -> None:
    """Raise an error with the first of some reasons that holds: each is whether it does, and what it says."""
    if (reason := first_reason(*reasons)) is not None:
        raise error(reason)


def first_reason(*reasons: tuple[object, str]) -> str | None:
    """Return the first of some reasons that holds, each whether it does and what it says; None where none does.

    Examples
    --------
    >>> first_reason((False, "it is a link"), (True, "it is a folder"))
    'it is a folder'
    """
    return next((reason for holds, reason in reasons if holds), None)


def made_up_names(names: Sequence[str]) -> list[str]:
    """Return those of a model's names that a program made up, since its columns came without names.

    Examples
    --------
    >>> made_up_names(["const", "x1", "age"])
    ['x1']
    """
    return [name for name in names if _DEFAULT.fullmatch(name)]


def formula_of_columns(
    label: str, names: Sequence[str], *, output: str, intercept: bool, named: bool
) -> tuple[str, str]:
    """Return the formula that a model without one stands for, and a sentence that says so: every column a number, as it is.

    `named`: whether the columns came with names of their own. InputError, with the line to write, where they did not or where a name is no
    column's: an interaction, or a level.

    Examples
    --------
    >>> formula_of_columns("pay", ["const", "age", "hours a week"], output="m", intercept=True, named=True)[0]
    "pay ~ age + Q('hours a week')"
    """
    columns = [name for name in names if name not in INTERCEPTS]
    ask = 'Say what it is: formula = "LABEL ~ ...", and names = {"its name": "the formula\'s name"} where coefficients are called otherwise.'
    made_up = made_up_names([label, *columns])
    odd = next((name for name in columns if re.search(r"[\[\]:*^()']", name)), None)
    unwritten = "was fitted without a formula, "
    refuse(
        output,
        (
            made_up and not named,
            f"{unwritten}on columns without names ({', '.join(made_up)}). {ask}",
        ),
        (odd, f"{unwritten}and '{odd}' is not the name of a column alone. {ask}"),
    )
    terms = [column_term(name) for name in columns]
    formula = (
        f"{column_term(label)} ~ {' + '.join(([] if intercept else ['0']) + (terms or ['1']))}"
    )
    what = "an intercept" if intercept else "no intercept"
    return (
        formula,
        f"Fitted without a formula. Understood as {formula}: {what}, and each column a number as it is.",
    )


def rename_numbers(
    numbers: Mapping[str, Any], names: Mapping[str, str] | None, *, output: str
) -> dict[str, Any]:
    """Return numbers by the names that a formula makes."""
    if not names:
        return dict(numbers)
    for name in names:
        check_name("coefficient", name, numbers, prefix=f"Output '{output}': names: ")
    return {names.get(name, name): number for name, number in numbers.items()}


def column_term(name: str) -> str:
    """Return a column as a formula names it."""
    return name if name.isidentifier() else f"Q('{name}')"
