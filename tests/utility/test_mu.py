"""mu against norms written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.synth.independent import Independent
from chaffinch.table import Table
from chaffinch.utility.mu import mu, mu_from
from chaffinch.utility.phi_k import phi_k

Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def test_norms_by_hand(data: Path) -> None:
    table = chaffinch.read(data / "cmc.csv")
    result = phi_k(table, Independent().fit(table).sample(table.n_rows, seed=1))
    apart = result.synthetic - result.original
    m = len(result.names)
    pairs = m * (m - 1) / 2
    upper = apart[np.triu_indices(m, 1)]
    assert result.value == pytest.approx(np.abs(upper).mean())
    assert mu_from(result).value == pytest.approx(np.sqrt((upper**2).sum()) / pairs)
    assert mu_from(result, norm="frobenius_full").value == pytest.approx(
        np.linalg.norm(apart) / pairs
    )
    assert mu_from(result, norm="spectral").value == pytest.approx(np.linalg.norm(apart, 2) / pairs)
    assert mu_from(result, norm="spectral").to_dict()["norm"] == "spectral"
    assert mu_from(result).settings["columns"] == m
    assert mu(table, table, norm="spectral").settings["norm"] == "spectral"


def test_settings_that_do_not_exist(coded: Coded) -> None:
    table = coded([[0, 1] * 20, [0, 0, 1, 1] * 10], (2, 2))
    for bins in (1, 0, True, 2.5, "many"):
        with pytest.raises(
            InputError, match="bins must be a whole number from 2 to 10,000, or 'schema'"
        ):
            phi_k(table, table, bins=bins)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Did you mean 'drop'"):
        phi_k(table, table, missing="drops")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Did you mean 'frobenius'"):
        mu(table, table, norm="frobenus")  # type: ignore[arg-type]
