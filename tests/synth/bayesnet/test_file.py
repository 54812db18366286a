"""A network as plain data and arrays, and back; what does not fit together is refused (`test_model_file` does so in files)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from chaffinch.errors import ChaffinchError
from chaffinch.synth import BayesNet, BayesNetModel
from chaffinch.synth.bayesnet.file import network_from_state, network_state


@pytest.fixture
def model(linked):
    return BayesNet(conditionals="tables", parents=2, label="c0", sensitive=("c1",)).fit(
        linked(1, [3, 2, 4, 2], 200), seed=1
    )


def test_a_network_comes_back_through_json(model):
    data, arrays = network_state(model)
    back = network_from_state(BayesNetModel, model.schema, json.loads(json.dumps(data)), arrays)
    assert (back.network, back.fitted) == (model.network, model.fitted)
    assert back.sample(50, seed=1).data.equals(model.sample(50, seed=1).data)
    assert data["fitted"]["kept"] == (), "the entry keeps its name in files"


def test_parts_that_do_not_fit_are_refused(model):
    data, arrays = network_state(model)
    for change in (
        lambda d, a: a.pop("0.0.keys"),
        lambda d, a: a.update({"0.0.codes": a["0.0.codes"].astype(np.int64)}),
        lambda d, a: d["fitted"].update(n_rows=-1),
        lambda d, a: d["fitted"].update(more=1),
        lambda d, a: d["fitted"].pop("kept"),
        lambda d, a: d["fitted"].update(strengths=[]),
        lambda d, a: d["fitted"].update(label="nobody"),
        lambda d, a: d.update(order=list(reversed(d["order"]))),
    ):
        other, tensors = json.loads(json.dumps(data)), dict(arrays)
        change(other, tensors)
        with pytest.raises((ChaffinchError, KeyError)):
            network_from_state(BayesNetModel, model.schema, other, tensors)
