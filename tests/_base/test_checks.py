"""Checks of settings: what each lets through, and the words in which it refuses the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, nan
from numbers import Integral

import numpy as np
import pytest

from chaffinch._base.checks import (
    check_at_least,
    check_between,
    check_name,
    check_share,
    check_whole,
)
from chaffinch.errors import InputError, UnknownNameError


def test_what_keeps_the_rules_is_let_through() -> None:
    check_at_least("a", 0, 0)
    check_at_least("a", inf, 0)
    check_at_least("a", 2.5, 0, finite=True)
    check_whole("a", 1, 1)
    check_whole("a", np.int64(1), 1, type_=Integral)
    check_share("a", 0.5)
    check_between("a", 0, 0, 1)
    check_between("a", 1.0, 0, 1)
    check_name("column", "age", {"age": 1})


def test_none_keeps_a_rule_only_where_that_is_said() -> None:
    checks: list[Callable[..., None]] = [
        partial(check_at_least, "a", None, 0),
        partial(check_between, "a", None, 0, 1),
        partial(check_whole, "a", None, 0),
        partial(check_share, "a", None),
        partial(check_name, "a", None, ["b"]),
    ]
    for check in checks:
        check(optional=True)
        with pytest.raises(InputError, match="None"):
            check()


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_at_least("a", nan, 0), "a must be at least 0. Got nan."),
        (lambda: check_at_least("a", inf, 0, finite=True), "a must be at least 0. Got inf."),
        (lambda: check_whole("a", True, 1), "a must be a whole number of at least 1. Got True."),
        (lambda: check_whole("a", "2", 1), "a must be a whole number of at least 1. Got '2'."),
        (
            lambda: check_whole("a", np.int64(2), 1),
            f"a must be a whole number of at least 1. Got {np.int64(2)!r}.",
        ),
        (
            lambda: check_whole("a", True, 1, type_=Integral),
            "a must be a whole number of at least 1. Got True.",
        ),
        (lambda: check_share("a", 0.0), "a must lie between 0 and 1. Got 0.0."),
        (lambda: check_share("a", nan), "a must lie between 0 and 1. Got nan."),
        (lambda: check_between("a", nan, 0, 1), "a must lie between 0 and 1. Got nan."),
        (lambda: check_between("a", 0, 1, 5000), "a must lie between 1 and 5,000. Got 0."),
    ],
)
def test_what_breaks_a_rule_is_refused(check: Callable[[], None], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check()
    assert str(caught.value) == message


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown column 'agee'. Did you mean 'age'\?"):
        check_name("column", "agee", ["age"])
