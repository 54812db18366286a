from __future__ import annotations

import numpy as np

from chaffinch.risk.memorisation.chance_kernels import alike_weights


def test_weights_are_summed_over_all_rows_but_a_persons_own() -> None:
    rng = np.random.default_rng(3)
    people, rows = (rng.integers(0, 3, (4, n)).astype(np.int32) for n in (6, 11))
    own = np.array([-1, 0, 10, -1, 4, 5])
    weights = np.array([1.0, 0.5, 0.2, 0.1, 0.0])
    out = np.empty(6)
    alike_weights(people, rows, own, weights, out)
    differing = (people[:, :, None] != rows[:, None, :]).sum(axis=0)
    plain = [sum(weights[k] for r, k in enumerate(differing[i]) if r != own[i]) for i in range(6)]
    assert np.allclose(out, plain)
