"""What a panel can be asked for."""

import pytest

import chaffinch
from chaffinch import BayesNet, Panel
from chaffinch.synth.settings import SYNTHESISERS, MethodOptions
from chaffinch.workflows.synthesise import synthesiser_for

from .test_sequences import made


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (BayesNet(epsilon=1.0), "epsilon"),
        (BayesNet(keep=("pay",)), "keep"),
        (BayesNet(root="pay"), "root"),
        (BayesNet(order=("pay", "age")), "order"),
    ],
)
def test_what_it_cannot_follow_is_refused(rows, word):
    with pytest.raises(chaffinch.errors.InputError, match=f"leave out {word}"):
        Panel(rows)
    with pytest.raises(chaffinch.errors.InputError, match="must be a BayesNet"):
        Panel("bayesnet")


def test_options_are_those_of_its_networks():
    settings = SYNTHESISERS["panel"].from_options(MethodOptions(parents=2, label="pay"))
    assert settings == Panel(BayesNet(parents=2, label="pay"))


def test_a_table_of_rows_is_refused_and_named():
    table = chaffinch.read(made(), person="who", order="year")
    with pytest.raises(chaffinch.errors.InputError, match=r"fit chaffinch.Panel\(BayesNet"):
        BayesNet().fit(table)
    with pytest.raises(chaffinch.errors.InputError, match="No column says whose row it is"):
        Panel().fit(chaffinch.read(made()))
    assert synthesiser_for(BayesNet(parents=2), table.schema) == Panel(BayesNet(parents=2))


def test_constraints_are_refused_not_forgotten():
    from dataclasses import replace

    table = chaffinch.read(made(), person="who", order="year")
    table = replace(table, schema=replace(table.schema, rules=("score == 0 implies sex == 'f'",)))
    with pytest.raises(chaffinch.errors.InputError, match="does not keep rules yet"):
        Panel().fit(table)


def test_nothing_is_drawn_from_a_sensitive_column_of_either_row():
    rows = BayesNet(label="sex", sensitive=("score",))
    model = Panel(rows).fit(chaffinch.read(made(300), person="who", order="year"), seed=1)
    for network in (model.first.network, model.steps.network):
        for child, parents in zip(network.order, network.parents, strict=True):
            assert not {"score", "(before) score"} & set(parents), child
        assert network["score"] == ("sex",)
    with pytest.raises(chaffinch.errors.InputError, match="cannot be sensitive"):
        Panel(BayesNet(sensitive=("year",))).fit(chaffinch.read(made(), person="who", order="year"))
