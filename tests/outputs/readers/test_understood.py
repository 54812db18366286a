"""Formulas of models that had none, names that were made up, and what is said of a model."""

import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.readers.understood import (
    ModelStatements,
    formula_of_columns,
    made_up_names,
    rename_numbers,
)


@pytest.mark.parametrize(
    ("label", "names", "intercept", "formula"),
    [
        ("pay", ["const", "age"], True, "pay ~ age"),
        ("pay", ["age", "Intercept"], True, "pay ~ age"),
        ("pay", ["age", "sex"], False, "pay ~ 0 + age + sex"),
        (
            "pay per hour",
            ["const", "years at school"],
            True,
            "Q('pay per hour') ~ Q('years at school')",
        ),
        ("pay", ["const"], True, "pay ~ 1"),
        ("y", ["const", "x1"], True, "y ~ x1"),
    ],
)
def test_formulas(label, names, intercept, formula):
    ours, sentence = formula_of_columns(label, names, output="o", intercept=intercept, named=True)
    assert ours == formula
    assert sentence.startswith(f"Fitted without a formula. Understood as {formula}: ")


def test_what_was_made_up_is_no_name():
    assert made_up_names(["y", "x1", "x12", "const", "age", "xray", "Var_3", "column_2"]) == [
        "y",
        "x1",
        "x12",
        "Var_3",
        "column_2",
    ]
    with pytest.raises(InputError, match=r"on columns without names \(y, x1\)"):
        formula_of_columns("y", ["const", "x1"], output="o", intercept=True, named=False)
    for odd in ("C(a)[T.b]", "a:b", "a^2", "I(a * 2)"):
        with pytest.raises(InputError, match=r"is not the name of a column alone. Say what it is"):
            formula_of_columns("pay", ["const", odd], output="o", intercept=True, named=True)


def test_what_is_said_is_used_or_refused():
    said = ModelStatements("o", {"group": "school", "event": None}, ("group", "event"))
    assert said.require("group", "its groups") == "school"
    said.finish()
    with pytest.raises(InputError, match=r'the name of its events. Say it: event = "..."'):
        said.require("event", "its events")
    with pytest.raises(InputError, match=r"group = ... was said"):
        ModelStatements("o", {"group": "school"}, ("group",)).finish()
    with pytest.raises(InputError, match="Unknown argument 'grp'"):
        ModelStatements("o", {"grp": "school"}, ("group",))


def test_names():
    assert rename_numbers({"a": 1, "b": 2}, {"a": "c"}, output="o") == {"c": 1, "b": 2}
    assert rename_numbers({"a": 1}, None, output="o") == {"a": 1}
    with pytest.raises(InputError, match="names: Unknown coefficient 'z'"):
        rename_numbers({"a": 1}, {"z": "c"}, output="o")
