"""Networks: acyclic, ordered, and clear about what is wrong with edges that are not."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import chaffinch
from chaffinch.synth import BayesNet, Evolution, Network
from chaffinch.synth.bayesnet.network import Constraints, find_cycle, make_rules, parents_first

COLUMNS = "abcde"
EDGES = st.lists(st.sampled_from(list(permutations(COLUMNS, 2))), max_size=9)


def has_cycle(edges) -> bool:
    """Whether two columns reach each other: a strongly connected component of more than one column."""
    matrix = np.zeros((len(COLUMNS), len(COLUMNS)))
    for parent, child in edges:
        matrix[COLUMNS.index(parent), COLUMNS.index(child)] = 1
    return connected_components(matrix, connection="strong")[0] < len(COLUMNS)


@given(EDGES)
def test_a_cycle_is_found_exactly_where_there_is_one(edges):
    cycle = find_cycle(COLUMNS, edges)
    assert bool(cycle) == has_cycle(edges)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1 >= 2
        assert all(edge in edges for edge in pairwise(cycle))


@given(EDGES, st.permutations(COLUMNS))
def test_every_column_comes_after_its_parents(edges, first):
    if has_cycle(edges):
        with pytest.raises(
            chaffinch._base.errors.InputError,
            match=r"The edges form a cycle: \w( -> \w)+\. Leave one of them out",
        ):
            Network.from_edges(COLUMNS, edges)
        return
    network = Network.from_edges(COLUMNS, edges, first=first)
    assert sorted(network.order) == sorted(COLUMNS)
    assert set(network.edges) == set(edges)
    assert len(network.edges) == len(set(edges))
    assert all(network.order.index(p) < network.order.index(c) for p, c in network.edges)
    assert network.most_parents == max(len(network[c]) for c in COLUMNS)
    # Of all orders with that property, it is the first when columns rank as in `first`.
    ranks = [first.index(name) for name in network.order]
    for other in permutations(COLUMNS):
        if all(other.index(p) < other.index(c) for p, c in edges):
            assert ranks <= [first.index(name) for name in other]
    assert Network(network.order, network.parents) == network


def test_columns_of_a_network_are_looked_up_by_name():
    network = Network.from_edges(["age", "income"], [("age", "income")])
    assert network["income"] == ("age",)
    assert network["age"] == ()
    with pytest.raises(
        chaffinch._base.errors.UnknownNameError,
        match=r"Unknown column 'incme'. Did you mean 'income'\?",
    ):
        network["incme"]
    with pytest.raises(
        chaffinch._base.errors.UnknownNameError, match=r"Unknown column 'ag'. Did you mean 'age'\?"
    ):
        Network.from_edges(["age", "income"], [("ag", "income")])


def test_the_cycle_is_printed():
    with pytest.raises(chaffinch._base.errors.InputError, match="cycle: b -> c -> d -> b"):
        Network.from_edges("abcd", [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")])
    with pytest.raises(chaffinch._base.errors.InputError, match="cycle: a -> a"):
        Network.from_edges("ab", [("a", "a")])


def test_a_network_written_by_hand_is_checked():
    for order, parents, rule in [
        (("a", "b"), ((),), "each column once"),
        (("a", "a"), ((), ()), "each column once"),
        (("a", "b"), (("b",), ()), "'a' stands before its parent 'b'"),
        (("a", "b"), ((), ("z",)), "'b' stands before its parent 'z', or the parent is no column"),
        (("a", "b"), ((), ("b",)), "'b' stands before its parent 'b'"),
        (("a", "b"), ((), ("a", "a")), "'b' has a parent twice"),
    ]:
        with pytest.raises(chaffinch._base.errors.InputError, match=rule):
            Network(order, parents)


def test_no_columns_and_one_column():
    assert Network((), ()).most_parents == 0
    assert Network((), ()).edges == ()
    assert Network.from_edges(["a"], []).order == ("a",)


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_parents_come_first_and_nothing_moves_that_need_not(d, seed):
    """Against the words themselves: time and again the first of those left whose parents are all there."""
    rng = np.random.default_rng(seed)
    hidden, wanted = rng.permutation(d), rng.permutation(d).tolist()
    parents = {
        int(child): [int(p) for p in hidden[:k] if rng.random() < 0.3]
        for k, child in enumerate(hidden)
    }
    left, order = list(wanted), []
    while left:
        order.append(
            next(item for item in left if all(parent in order for parent in parents[item]))
        )
        left.remove(order[-1])
    assert parents_first(wanted, parents) == order


NAMES = ("age", "income", "sex", "job", "region")

CONTRADICTIONS = {
    "no parents": ({"max_parents": 0}, r"parents must be at least 1\. Got 0"),
    "label also sensitive": (
        {"label": "sex", "sensitive": ["age", "sex"]},
        "'sex' cannot be the label and sensitive at once",
    ),
    "sensitive twice": ({"sensitive": ["age", "age"]}, "sensitive names a column twice"),
    "unknown label": ({"label": "incme"}, r"Unknown column 'incme'\. Did you mean 'income'\?"),
    "unknown sensitive": ({"sensitive": ["aeg"]}, r"Unknown column 'aeg'\. Did you mean 'age'\?"),
    "unknown kept": ({"keep": ["jbo"]}, r"Unknown column 'jbo'\. Did you mean 'job'\?"),
    "unknown in a required edge": (
        {"require": [("age", "regin")]},
        r"'regin'\. Did you mean 'region'\?",
    ),
    "unknown in a forbidden edge": (
        {"forbid": [("regin", "age")]},
        r"'regin'\. Did you mean 'region'\?",
    ),
    "unknown root": ({"root": "sexx"}, r"'sexx'\. Did you mean 'sex'\?"),
    "unknown in the order": (
        {"order": ["age", "income", "sex", "job", "regin"]},
        r"'regin'\. Did you mean 'region'\?",
    ),
    "required cycle": (
        {"require": [("age", "sex"), ("sex", "job"), ("job", "age")]},
        "The required edges form a cycle: age -> sex -> job -> age",
    ),
    "required both ways": (
        {"require": [("age", "sex"), ("sex", "age")]},
        "cycle: age -> sex -> age",
    ),
    "edge to itself": ({"require": [("age", "age")]}, r"An edge needs two columns\. Got age:age"),
    "required and forbidden": (
        {"require": [("age", "sex"), ("job", "sex")], "forbid": [("age", "sex")]},
        "required and forbidden at once: age:sex",
    ),
    "required sensitive parent": (
        {"label": "income", "sensitive": ["sex"], "require": [("sex", "age")]},
        "The edge sex:age is required, but protection",
    ),
    "required parent of a sensitive column": (
        {"label": "income", "sensitive": ["sex"], "require": [("age", "sex")]},
        "The edge age:sex is required, but protection",
    ),
    "required parent of the label": (
        {"label": "income", "sensitive": ["sex"], "require": [("age", "income")]},
        "The edge age:income is required, but protection",
    ),
    "required edge between separate columns": (
        {"label": "income", "sensitive": ["sex", "job"], "require": [("job", "sex")]},
        "The edge job:sex is required, but protection",
    ),
    "required edge into a block without a label": (
        {"sensitive": ["sex"], "require": [("age", "sex")]},
        "The edge age:sex is required, but protection",
    ),
    "drawn parent of a kept column": (
        {"keep": ["age"], "require": [("sex", "age")]},
        "The edge sex:age is required, but .* a kept column",
    ),
    "required against the order": (
        {"order": NAMES, "require": [("region", "age")]},
        "The edge region:age is required, but .* the order",
    ),
    "required parent of the root": (
        {"root": "age", "require": [("sex", "age")]},
        "The edge sex:age is required, but .* the root",
    ),
    "more required than parents": (
        {"max_parents": 2, "require": [("age", "sex"), ("job", "sex"), ("income", "sex")]},
        r"'sex' must have 3 parents, but parents = 2\. Raise it",
    ),
    "order without a column": (
        {"order": NAMES[1:]},
        r"order must name every column once\. Missing: age",
    ),
    "order with a column twice": ({"order": (*NAMES, "age")}, "one stands twice"),
    "root not first in the order": (
        {"order": NAMES, "root": "sex"},
        "The root 'sex' is not the first column of the order",
    ),
    "root beside a label": (
        {"label": "income", "sensitive": ["sex"], "root": "age"},
        "the label 'income' comes first: it cannot have another root, 'age'",
    ),
    "forbidden link from the label": (
        {"label": "income", "sensitive": ["sex"], "forbid": [("income", "sex")]},
        "Sensitive column 'sex' has the label as its only parent, but .* a forbidden edge rules income:sex out",
    ),
    "sensitive before the label": (
        {
            "label": "income",
            "sensitive": ["sex"],
            "order": ("sex", "income", "age", "job", "region"),
        },
        "the label 'income' comes first: the order cannot begin with 'sex'",
    ),
    "sensitive kept, its label drawn": (
        {"label": "income", "sensitive": ["sex"], "keep": ["sex"]},
        "Sensitive column 'sex' has the label as its only parent, but a kept column .* rules income:sex out",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_contradictions_are_named(case):
    settings, message = CONTRADICTIONS[case]
    with pytest.raises(chaffinch._base.errors.InputError, match=message):
        make_rules(NAMES, Constraints(**{"max_parents": 3, **settings}))


def test_settings_check_what_they_can_before_they_see_data():
    for settings, message in [
        ({"parents": 0}, r"parents must be a whole number of at least 1\. Got 0"),
        ({"parents": -3}, r"parents must be a whole number of at least 1\. Got -3"),
        ({"parents": 2.5}, "parents must be"),
        ({"parents": "2"}, "parents must be"),
        ({"search": "gready"}, r"Unknown search 'gready'\. Did you mean 'greedy'\?"),
        ({"search": "genetic", "score": "joint"}, "Unknown score for genetic search 'joint'"),
        ({"score": "pairwize"}, r"'pairwize'\. Did you mean 'pairwise'\?"),
        (
            {"sensitive": "sex"},
            r"sensitive must be a list of names, as \['age', 'sex'\]\. Got 'sex'",
        ),
        ({"keep": "sex"}, "keep must be a list of names"),
        ({"order": "sex"}, "order must be a list of names"),
        ({"require": ["ab"]}, "require must be a pair PARENT:CHILD"),
        ({"forbid": [("a", "b", "c")]}, "forbid must be a pair PARENT:CHILD"),
        ({"smoothing": -1}, r"smoothing must be a number of at least 0\. Got -1"),
        ({"smoothing": float("nan")}, "smoothing must be a number of at least 0"),
        ({"protect": "seperate"}, r"Unknown protect 'seperate'\. Did you mean 'separate'\?"),
        ({"penalty": -0.1}, "penalty must be a number of at least 0"),
    ]:
        with pytest.raises(chaffinch._base.errors.InputError, match=message):
            BayesNet(**settings)


def test_settings_are_plain_values():
    one = BayesNet(parents=2, sensitive=["a"], require=[["a", "b"]])
    assert one == BayesNet(parents=2, sensitive=("a",), require=(("a", "b"),))
    assert hash(one) == hash(BayesNet(parents=2, sensitive=("a",), require=(("a", "b"),)))
    assert "parents=2" in repr(one)


def assert_obeyed(network: Network, settings: BayesNet) -> None:
    """Check a network against the promises, one edge at a time: written from the issue, not from the rules."""
    hidden, label = set(settings.sensitive), settings.label
    together = settings.protect == "together"
    assert network.most_parents <= settings.most_parents
    for parent, child in network.edges:
        if parent in hidden:
            assert together, "with separate no sensitive column has a child"
            assert child in hidden, "nothing outside the block has a sensitive parent"
        if child in hidden:
            assert parent == label or (together and parent in hidden), (
                "only the label, or the block, is a parent"
            )
        assert not (hidden and child == label), "the label is first"
        assert not (child in settings.keep and parent not in settings.keep), (
            "no drawn column parents a kept one"
        )
        assert (parent, child) not in settings.forbid
        if settings.order is not None:
            assert settings.order.index(parent) < settings.order.index(child)
    assert set(settings.require) <= set(network.edges)
    if hidden and label is not None:
        assert network.order[0] == label
        if not together:
            assert all(network[name] == (label,) for name in hidden)
    if hidden and label is None and not together:
        assert all(network[name] == () for name in hidden)
    if settings.root is not None:
        assert network[settings.root] == ()
        assert network.order[0] == settings.root
    if settings.order is not None:
        assert network.order == settings.order


SMALL = Evolution(population_size=40, selection_size=5, generations=40)

OBEYED = {
    "nothing": {},
    **{
        f"{protect}, {n} sensitive, label {label}": {
            "protect": protect,
            "sensitive": ("c1", "c4", "c2", "c0", "c3", "c5")[:n],
            "label": label,
        }
        for protect, label in product(["separate", "together"], [None, "c6"])
        for n in (1, 2, 3, 6)
    },
    "kept": {"keep": ("c2", "c3")},
    "one kept": {"keep": ("c5",)},
    "all kept": {"keep": tuple(f"c{i}" for i in range(7))},
    "kept and protected": {"keep": ("c6", "c3"), "label": "c6", "sensitive": ("c1", "c2")},
    "kept and protected together": {
        "keep": ("c1", "c3"),
        "label": "c6",
        "sensitive": ("c1", "c2"),
        "protect": "together",
    },
    "required": {"require": (("c0", "c1"), ("c2", "c1"))},
    "required chain": {"require": tuple((f"c{i}", f"c{i - 1}") for i in range(6, 0, -1))},
    "required to the brim": {
        "parents": 2,
        "require": (("c0", "c1"), ("c2", "c1"), ("c1", "c4"), ("c3", "c4")),
    },
    "one parent, required": {"parents": 1, "require": (("c0", "c1"), ("c1", "c2"))},
    "forbidden": {
        "forbid": tuple((f"c{i}", f"c{j}") for i in range(7) for j in range(3) if i != j)
    },
    "all forbidden": {
        "forbid": tuple((f"c{i}", f"c{j}") for i in range(7) for j in range(7) if i != j)
    },
    "order": {"order": ("c3", "c6", "c0", "c1", "c5", "c2", "c4")},
    "order and required": {
        "order": ("c3", "c6", "c0", "c1", "c5", "c2", "c4"),
        "require": (("c3", "c4"),),
    },
    "order and protected": {
        "order": ("c6", "c1", "c3", "c0", "c5", "c2", "c4"),
        "label": "c6",
        "sensitive": ("c1", "c2"),
    },
    "root": {"root": "c4"},
    "root is the label": {"root": "c6", "label": "c6", "sensitive": ("c1",)},
    "root is sensitive": {"root": "c1", "sensitive": ("c1", "c2"), "protect": "together"},
    "root outside a block without a label": {
        "root": "c4",
        "sensitive": ("c1", "c2"),
        "protect": "together",
    },
    "root and kept": {"root": "c2", "keep": ("c2", "c3")},
    "root that is not kept": {"root": "c4", "keep": ("c2", "c3")},
    "everything": {
        "label": "c6",
        "sensitive": ("c1", "c4"),
        "protect": "together",
        "keep": ("c6", "c1", "c2"),
        "root": "c6",
        "require": (("c1", "c4"), ("c2", "c3")),
        "forbid": (("c6", "c0"), ("c3", "c5")),
        "parents": 2,
    },
    "more parents than columns": {"parents": 20},
}


@pytest.fixture
def seven(linked):
    return linked(11, [2, 3, 2, 4, 2, 3, 2], 400)


@pytest.mark.parametrize("case", OBEYED)
def test_every_search_obeys(case, how, seven):
    settings = BayesNet(**{"parents": 3, **OBEYED[case]}, **how, evolution=SMALL)
    model = settings.fit(seven, seed=5)
    assert_obeyed(model.network, settings)
    assert model.sample(3, seed=1).n_rows == 3


def test_obedience_does_not_hang_on_one_seed(how, seven):
    settings = BayesNet(**OBEYED["everything"], **how, evolution=SMALL)
    for seed in range(10):
        assert_obeyed(settings.fit(seven, seed=seed).network, settings)


def test_required_edges_hold_even_where_the_search_had_no_time(seven):
    chain = tuple((f"c{i}", f"c{i - 1}") for i in range(6, 0, -1))
    settings = BayesNet(
        parents=1,
        search="genetic",
        require=chain,
        evolution=Evolution(population_size=2, selection_size=1, generations=0),
    )
    for seed in range(10):
        assert settings.fit(seven, seed=seed).network.edges == chain


def test_without_protection_the_links_are_there(how, seven):
    """The other end: the rules of the test above would be broken by a free search."""
    model = BayesNet(parents=3, **how, evolution=SMALL).fit(seven, seed=5)
    with pytest.raises(AssertionError):
        assert_obeyed(model.network, BayesNet(sensitive=("c1", "c4"), label="c6"))


GIVEN = Network.from_edges([f"c{i}" for i in range(7)], [("c0", "c1"), ("c1", "c2"), ("c0", "c2")])


def test_a_given_network_is_taken_as_it_is(seven):
    model = BayesNet(network=GIVEN).fit(seven)
    assert set(model.network.edges) == set(GIVEN.edges)
    assert model.fitted.search == "given"


def test_a_given_network_is_checked_against_the_rules(seven, coded):
    for settings, message in [
        ({"parents": 1}, r"gives 'c2' 2 parents, but parents = 1\. Raise it"),
        ({"forbid": [("c0", "c1")]}, "has the edge c0:c1, which protection or a rule forbids"),
        ({"sensitive": ["c0"]}, "has the edge c0:c1, which protection"),
        ({"require": [("c5", "c6")]}, "lacks the edge c5:c6, which is required"),
        ({"sensitive": ["c5"], "label": "c6"}, "lacks the edge c6:c5, which is required"),
    ]:
        with pytest.raises(chaffinch._base.errors.InputError, match=message):
            BayesNet(network=GIVEN, **settings).fit(seven)
    with pytest.raises(
        chaffinch._base.errors.InputError, match="must have the columns of the table"
    ):
        BayesNet(network=GIVEN).fit(coded([[0, 1]], [2]))


def test_names_are_checked_when_the_table_is_there(seven):
    with pytest.raises(chaffinch._base.errors.UnknownNameError, match=r"Unknown column 'c9'"):
        BayesNet(sensitive=("c9",)).fit(seven)
