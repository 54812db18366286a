"""The network under a promise: what it finds, what it must not link, and what it spends."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.privacy.prepare import prepare
from chaffinch.synth import BayesNet, Evolution, Network
from chaffinch.synth.bayesnet.private.assemble import Assembled, NetworkSample
from chaffinch.synth.bayesnet.private.fitting import noisy_protection, paying_note
from chaffinch.synth.bayesnet.private.links import Gaps
from chaffinch.table import Schema

from ...conftest import sealed


def paired(seed=0, n=4000):
    """Two pairs that hang together closely, and nothing else: c0 - c1, c2 - c3, c4 alone."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 3, n), rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.85, a, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.85, c % 2, rng.integers(0, 2, n))
    return sealed([a, b, c, d, rng.integers(0, 2, n)], (3, 3, 4, 2, 2))


@pytest.fixture(scope="module")
def pairs():
    return paired()


def links(model):
    return {frozenset(edge) for edge in model.network.edges}


def spends_all(model):
    """All of the budget is spent, or what is left is told."""
    account = model.fitted.privacy
    assert account.spent <= account.budget.total * (1 + 1e-9)
    assert account.spent + account.unspent == pytest.approx(account.budget.total, rel=1e-6)
    return account.spent == pytest.approx(account.budget.total, rel=1e-6)


TRUE = {frozenset(("c0", "c1")), frozenset(("c2", "c3"))}
EVOLUTION = Evolution(generations=60)


@pytest.mark.parametrize("search", ["ordering", "genetic"])
@pytest.mark.parametrize("delta", [None, 1e-6], ids=["pure", "zcdp"])
def test_links_that_are_there_are_found(pairs, search, delta):
    model = BayesNet(epsilon=2.0, delta=delta, search=search, evolution=EVOLUTION).fit(
        pairs, seed=1
    )
    assert links(model) >= TRUE
    assert spends_all(model)
    assert model.fitted.search == search
    drawn = model.sample(30_000, seed=2)
    for one, other in (("c0", "c1"), ("c2", "c3")):
        assert np.abs(joint(pairs, one, other) - joint(drawn, one, other)).sum() / 2 < 0.04


def joint(table, *names):
    out = np.zeros([table.schema[name].size for name in names])
    np.add.at(out, tuple(table.code(name) for name in names), 1)
    return out / table.n_rows


@cache
def noise_links(n, delta):
    """How many links each of ten fits has, on eight independent columns: all of them made by noise."""
    sizes, result = (2, 3, 4, 2, 3, 4, 2, 5), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        model = BayesNet(epsilon=1.0, delta=delta).fit(
            sealed([rng.integers(0, s, n) for s in sizes], sizes), seed=seed
        )
        spends_all(model)
        result.append(len(model.network.edges))
    return result


@pytest.mark.parametrize("delta", [None, 1e-6], ids=["pure", "zcdp"])
def test_few_links_between_columns_of_noise(delta):
    """Of 28 pairs one or two may pass by chance, no more: a gain must exceed two standard deviations."""
    assert np.mean(noise_links(20, delta)) < 2


@pytest.mark.parametrize("delta", [None, 1e-6], ids=["pure", "zcdp"])
def test_hardly_a_link_between_columns_of_noise(delta):
    """A fifth of a link a fit is what the bar allows: more than 14 in 20 fits come once in ten thousand if it is right."""
    assert sum(noise_links(20, delta)) <= 14


def test_an_interaction_that_no_pair_shows():
    rng = np.random.default_rng(3)
    n = 20_000
    a, b = rng.integers(0, 2, (2, n))
    model = BayesNet(epsilon=50.0, delta=1e-6).fit(
        sealed([a, b, a ^ b, rng.integers(0, 2, n)], (2, 2, 2, 2)), seed=1
    )
    assert any(set(parents) | {child} >= {"c0", "c1", "c2"} for child, parents in _families(model))
    drawn = model.sample(10_000, seed=2)
    assert ((drawn.code("c0") ^ drawn.code("c1")) == drawn.code("c2")).mean() > 0.97


def _families(model):
    return list(zip(model.network.order, model.network.parents, strict=True))


@pytest.mark.parametrize("search", ["ordering", "genetic"])
@pytest.mark.parametrize("protect", ["separate", "together"])
def test_protected_columns_keep_to_the_label(pairs, protect, search):
    """c1 depends on c0, and c3 on c2: with c1 and c3 sensitive and c4 the label these links are cut, and told."""
    settings = BayesNet(
        epsilon=8.0,
        delta=1e-6,
        label="c4",
        sensitive=("c1", "c3"),
        protect=protect,
        search=search,
        evolution=EVOLUTION,
    )
    model = settings.fit(pairs, seed=1)
    for parent, child in model.network.edges:
        for one, other in ((parent, child), (child, parent)):
            if one in ("c1", "c3"):
                assert other == "c4" or (protect == "together" and other in ("c1", "c3"))
    protection = model.fitted.protection
    assert protection.protect == protect
    cuts = {frozenset((cut.sensitive, cut.other)): cut for cut in protection.cuts}
    assert {frozenset(("c0", "c1")), frozenset(("c2", "c3"))} <= set(cuts)
    assert (frozenset(("c1", "c3")) in cuts) == (protect == "separate")
    # What is told is a lower bound of the information (Pinsker), and the real links stand out.
    for pair in TRUE:
        counts = joint(pairs, *sorted(pair))
        product = counts.sum(1, keepdims=True) * counts.sum(0)
        true = (counts[counts > 0] * np.log(counts[counts > 0] / product[counts > 0])).sum()
        assert 0.05 < cuts[pair].information <= true * 1.1
    assert all(cut.information < 0.02 for pair, cut in cuts.items() if pair not in TRUE)
    assert spends_all(model)


def test_a_given_network_is_kept_and_takes_no_search(pairs):
    given = Network(("c4", "c0", "c1", "c3", "c2"), ((), ("c4",), ("c0",), (), ("c3", "c1")))
    model = BayesNet(epsilon=2.0, network=given).fit(pairs, seed=1)
    assert {child: set(parents) for child, parents in _families(model)} == {
        child: set(parents) for child, parents in zip(given.order, given.parents, strict=True)
    }
    assert model.fitted.search == "given"
    assert {charge.why for charge in model.fitted.privacy.charges} == {"single columns", "links"}
    assert spends_all(model)


def test_rules_are_kept(pairs):
    fit = lambda **rules: BayesNet(epsilon=4.0, delta=1e-6, **rules).fit(pairs, seed=1)  # noqa: E731
    assert ("c4", "c0") in fit(require=(("c4", "c0"),)).network.edges
    assert frozenset(("c0", "c1")) not in links(fit(forbid=(("c0", "c1"), ("c1", "c0"))))
    order = ("c3", "c1", "c4", "c2", "c0")
    model = fit(order=order)
    assert model.network.order == order
    assert links(model) >= TRUE
    assert fit(root="c3").network["c3"] == ()
    assert all(len(parents) <= 1 for parents in fit(parents=1).network.parents)


def test_settings_that_do_not_go_with_a_promise():
    with pytest.raises(
        InputError,
        match=r"Greedy search under a promise is PrivBayes: use PrivBayes\(epsilon=\.\.\.\)",
    ):
        BayesNet(epsilon=1.0, search="greedy")
    for option in ({"score": "joint"}, {"penalty": 1.0}):
        with pytest.raises(InputError, match="score and penalty are for fits without epsilon"):
            BayesNet(epsilon=1.0, **option)
    with pytest.raises(
        InputError, match="keep copies columns of the original, which no promise can cover"
    ):
        BayesNet(epsilon=1.0, keep=("c1",))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_several_rows_of_a_person_take_more_noise(pairs, neighbours):
    """Single columns are measured first and with the same share of the budget: their noise is m times as wide."""
    stds = []
    for m in (1, 3):
        settings = BayesNet(
            epsilon=1.0,
            rows_per_person=m,
            neighbours=neighbours,
            network=Network.from_edges(pairs.schema.names, []),
        )
        account = settings.fit(pairs, seed=1).fitted.privacy
        assert account.unit.rows_per_person == m
        stds.append(
            [
                float(c.noise.split()[-1]) * c.epsilon
                for c in account.charges
                if c.why == "single columns"
            ]
        )
    assert stds[1] == pytest.approx([3 * std for std in stds[0]], rel=0.02)


@pytest.mark.parametrize("delta", [None, 1e-6], ids=["pure", "zcdp"])
@pytest.mark.parametrize("epsilon", [0.001, 1e6])
@pytest.mark.parametrize("n", [0, 1, 10])
def test_few_rows_and_extreme_budgets(n, epsilon, delta):
    rng = np.random.default_rng(0)
    sizes = (3, 2, 4)
    table = sealed([rng.integers(0, size, n) for size in sizes], sizes)
    model = BayesNet(epsilon=epsilon, delta=delta).fit(table, seed=1)
    drawn = model.sample(100, seed=2)
    assert all(drawn.code(f"c{j}").max() < size for j, size in enumerate(sizes))
    spends_all(model)
    assert model.fitted.n_rows == n


@pytest.mark.parametrize("delta", [None, 1e-6], ids=["pure", "zcdp"])
def test_one_column(delta):
    model = BayesNet(epsilon=1e4, delta=delta).fit(sealed([[0] * 30 + [1] * 10], (2,)), seed=1)
    assert model.network.edges == ()
    assert spends_all(model)
    share = model.sample(4000, seed=2).code("c0").mean()
    assert abs(share - 0.25) < 0.02 + 5 * np.sqrt(0.25 * 0.75 / 4000)


def test_one_level_and_rows_that_are_measured():
    table = sealed([[0] * 50, [0, 1] * 25], (1, 2))
    undeclared = prepare(table.data, Schema(table.schema.columns, public=True))
    model = BayesNet(epsilon=5.0).fit(undeclared, seed=1)
    account = model.fitted.privacy
    assert account.rows_how == "measured"
    assert account.rows == model.fitted.n_rows
    assert account.charges[0].what == "number of rows"
    assert account.charges[0].epsilon == pytest.approx(0.02 * 5.0)
    spends_all(
        model
    )  # a column of one level has no link to measure: what was for it stays, and is told


def test_seeds(pairs, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        BayesNet(epsilon=1.0, delta=1e-6).fit(pairs, seed=seed).save(tmp_path / name)
    first, same, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == same
    assert first != other
    models = [BayesNet(epsilon=1.0, delta=1e-6).fit(pairs) for _ in range(2)]
    assert all(not model.fitted.privacy.test_only for model in models)
    for name, model in zip("de", models, strict=True):
        model.save(tmp_path / name)
    assert (tmp_path / "d").read_bytes() != (tmp_path / "e").read_bytes()


def test_a_private_model_tells_nothing_of_the_rows_beyond_its_tables(pairs):
    """Poisoned after the fit: sampling and describing read released numbers only."""

    class Poisoned:
        schema = pairs.schema

        def __init__(self):
            self.open = True

        @property
        def n_rows(self):
            assert self.open
            return pairs.n_rows

        def marginals(self, cliques):
            from chaffinch.counts import MemoryCounter

            assert self.open
            return MemoryCounter(pairs).marginals(cliques)

    counter = Poisoned()
    model = BayesNet(epsilon=1.0, sensitive=("c1",), label="c0").fit(counter, seed=1)
    counter.open = False
    assert model.sample(50, seed=1).n_rows == 50
    model.to_dict()
    repr(model)


MARGINS = [np.array([500.0, 500.0])] * 2


def gaps(value):
    return Gaps([(0, 1)], np.array([value]), 1.0, [], np.array([value]), 0.0)


def test_noise_beside_what_leaving_links_out_costs():
    # Noise of 50 in a cell of 500 moves each of four cells of 250 by sqrt(2) 25: 0.4 x 4 x 35.36 / 1000 = 0.057.
    lost = paying_note(MARGINS, [50.0, 50.0], 1000.0, gaps(20.0), edges=0, every_pair=True)
    assert "No link was worth its noise" in lost
    assert "by about 0.057 on average" in lost
    assert "by about 0.02:" in lost
    assert paying_note(
        MARGINS, [50.0, 50.0], 1000.0, gaps(20.0), edges=1, every_pair=True
    ).startswith("Noise moves")


@pytest.mark.parametrize(
    ("edges", "every_pair", "note"), [(1, True, ""), (1, False, ""), (0, False, "No link was")]
)
def test_nothing_is_said_where_links_paid(edges, every_pair, note):
    told = paying_note(MARGINS, [1.0, 1.0], 1000.0, gaps(200.0), edges=edges, every_pair=every_pair)
    assert told.startswith(note)
    assert bool(told) == bool(note)
    assert paying_note(MARGINS[:1], [1.0], 1000.0, None, edges=0, every_pair=False) == ""


def test_the_information_of_a_cut_pair_is_pinskers_bound():
    settings = BayesNet(epsilon=1.0, sensitive=("s",))
    rules = settings.rules(("s", "o"))
    gaps = Gaps([(0, 1)], np.array([30.0]), 1.0, [], np.array([30.0]), 0.0)
    assembled = Assembled((0, 1), ((), ()), (), NetworkSample(4, np.random.default_rng(1)))
    protection = noisy_protection(settings, rules, gaps, assembled, 100.0)
    assert [(c.sensitive, c.other, c.through_label) for c in protection.cuts] == [("s", "o", 0.0)]
    assert protection.information == pytest.approx(2 * 0.3**2)
    assert noisy_protection(BayesNet(epsilon=1.0), rules, gaps, assembled, 100.0) is None
