"""A synthesiser in one line is the one that Python would make, and what is wrong in it is named."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, fields
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.synth.settings import Settings
from chaffinch.synth.spec import settings_of, synthesiser_of

BayesNet, PrivBayes, FieldGroups = chaffinch.BayesNet, chaffinch.PrivBayes, chaffinch.FieldGroups


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ("bayesnet", BayesNet()),
        ("bayesnet:", BayesNet()),
        (" bayesnet:parents=2,epsilon=1 ", BayesNet(parents=2, epsilon=1.0)),
        ("bayesnet: parents = 2 , epsilon = 1 ", BayesNet(parents=2, epsilon=1.0)),
        ("bayesnet:epsilon=1,delta=1e-6", BayesNet(epsilon=1.0, delta=1e-6)),
        ("bayesnet:sensitive=a+b,label=c", BayesNet(sensitive=("a", "b"), label="c")),
        (
            "bayesnet:require=a:b+c:d,order=a+b",
            BayesNet(require=(("a", "b"), ("c", "d")), order=("a", "b")),
        ),
        (
            "bayesnet:search=genetic,generations=5",
            BayesNet(search="genetic", evolution=chaffinch.Evolution(generations=5)),
        ),
        ("independent", chaffinch.Independent()),
        ("privbayes:epsilon=1", PrivBayes(epsilon=1.0)),
        ("privbayes:dpart:epsilon=1", PrivBayes(epsilon=1.0, variant="dpart")),
        ("privbayes:variant=dpart,epsilon=1", PrivBayes(epsilon=1.0, variant="dpart")),
        (
            "privbayes:sdg:epsilon=0.5,agree=true,score=I",
            PrivBayes(epsilon=0.5, variant="sdg", agree=True, score="I"),
        ),
        ("privbayes:epsilon=1,agree=false", PrivBayes(epsilon=1.0, agree=False)),
        (
            "fieldgroups:epsilon=1,groups=a+b;c+d",
            FieldGroups(epsilon=1.0, groups=(("a", "b"), ("c", "d"))),
        ),
    ],
)
def test_a_line_is_what_python_makes(spec, made):
    assert synthesiser_of(spec) == made
    assert repr(synthesiser_of(spec)) == repr(made)  # 1 and 1.0 are equal, and not the same


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "A synthesiser is missing"),
        ("bayesnt", "Unknown method 'bayesnt'. Did you mean 'bayesnet'?"),
        ("bayesnet:paronts=2", "Unknown bayesnet setting 'paronts'. Did you mean 'parents'?"),
        ("bayesnet:network=a", "Unknown bayesnet setting 'network'"),
        ("bayesnet:parents=two", "parents must be a whole number. Got 'two'"),
        ("bayesnet:parents=2.5", "parents must be a whole number. Got '2.5'"),
        ("bayesnet:epsilon=much", "epsilon must be a number. Got 'much'"),
        ("bayesnet:epsilon=-1", "epsilon must be a finite number above 0"),
        ("bayesnet:epsilon=nan", "epsilon must be a finite number above 0"),
        ("bayesnet:parents", "written SETTING=VALUE. Got 'parents'"),
        ("bayesnet:parents=", "written SETTING=VALUE"),
        ("bayesnet:parents=1,parents=2", "Setting 'parents' is there twice"),
        ("bayesnet:search=gready", "Unknown search 'gready'. Did you mean 'greedy'?"),
        ("bayesnet:require=ab", "require takes edges as PARENT:CHILD"),
        ("privbayes", "needs epsilon: write it as privbayes:epsilon=1"),
        ("privbayes:dpart", "needs epsilon"),
        ("privbayes:dprt:epsilon=1", "Unknown variant 'dprt'. Did you mean 'dpart'?"),
        ("privbayes:dpart:variant=sdg,epsilon=1", "Setting 'variant' is there twice"),
        ("privbayes:epsilon=1,agree=yes", "agree is true or false. Got 'yes'"),
        ("independent:epsilon=1", "Unknown independent setting 'epsilon'"),
    ],
)
def test_what_is_wrong_is_named(spec, message):
    with pytest.raises(chaffinch.errors.ChaffinchError) as raised:
        synthesiser_of(spec)
    assert message in str(raised.value)


def test_a_method_without_settings_says_so():
    @dataclass(frozen=True)
    class Bare(Settings):
        name = "bare"

    with pytest.raises(
        chaffinch.errors.InputError, match=r"'bare' has no settings\. Got 'epsilon': leave it out"
    ):
        settings_of(Bare, [("epsilon", "1")], "bare:epsilon=1")


def test_every_argument_of_the_api_can_be_written():
    """A setting that is added to a synthesiser is found here at once: each takes a word of its type."""
    words = {"int": "1", "float": "0.5", "bool": "true", "str": "a"}
    for name, kind in (
        ("bayesnet", BayesNet),
        ("privbayes", PrivBayes),
        ("fieldgroups", FieldGroups),
    ):
        hints = get_type_hints(kind)
        for field in fields(kind):
            if field.name in ("network", "evolution", "epsilon"):
                continue
            hint = str(hints[field.name])
            word = next(
                (w for key, w in words.items() if f"'{key}'" in hint or hint.startswith(key)),
                "no such word",
            )
            said = ""
            try:
                synthesiser_of(f"{name}:epsilon=1,{field.name}={word}")
            except chaffinch.errors.ChaffinchError as error:
                said = str(error)
            assert f"Unknown {name} setting" not in said, field.name


@given(
    st.integers(1, 9),
    st.floats(1e-3, 1e6),
    st.lists(st.text("abc_ é", min_size=1).map(str.strip).filter(bool), max_size=4, unique=True),
)
def test_numbers_and_names_come_back_as_they_were(parents, epsilon, names):
    listed = f",sensitive={'+'.join(names)}" if names else ""
    made = synthesiser_of(f"bayesnet:parents={parents},epsilon={epsilon!r}{listed}")
    assert (made.parents, made.epsilon, made.sensitive) == (parents, epsilon, tuple(names))


@given(
    st.text(max_size=30),
    st.sampled_from(["", "bayesnet:", "privbayes:epsilon=1,", "bayesnet:label="]),
)
def test_any_text_is_a_synthesiser_or_an_error_of_ours(text, before):
    with contextlib.suppress(chaffinch.errors.ChaffinchError):
        synthesiser_of(before + text)
