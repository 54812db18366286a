"""Roles are suggested by names, with a reason."""

from __future__ import annotations

from chaffinch import Column
from chaffinch.table.infer import suggested_role
from chaffinch.table.schema import IdentifierEvidence, Reason

ROLES = {
    "key": ["age", "Sex", "marital-status", "zip_code", "birth_year", "native_country", "wife_age"],
    "sensitive": ["income", "annual_salary", "diagnosis", "hiv_status", "religion"],
    "weight": ["fnlwgt", "sample_weight", "pweight1", "wt"],
    "label": ["target", "outcome", "class"],
    None: ["weight", "x1", "height", "tenure", "year", "classroom"],
}


def test_names_suggest_roles():
    found = {
        name: suggestion and suggestion.role
        for names in ROLES.values()
        for name in names
        for suggestion in [suggested_role(Column(name, "integer"))]
    }
    assert found == {name: role for role, names in ROLES.items() for name in names}


def test_evidence_comes_first_and_kinds_are_respected():
    column = Column("age", "integer", evidence=IdentifierEvidence("numbers", Reason.NUMBERS))
    assert suggested_role(column).role == "identifier"
    assert suggested_role(Column("fnlwgt", "categorical")) is None
    assert suggested_role(Column("age", "text")) is None
