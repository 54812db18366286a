"""What one record adds: the compiled moments are those of the families, and classes have the chances of a softmax."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.outputs.families import FAMILIES, FamilyName, moments
from chaffinch.outputs.solve.kernels.records import family_moments, softmax


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "multinomial"])
@pytest.mark.parametrize("eta", [0.2, 1.0, 2.5])
def test_moments_are_those_of_the_families(family: FamilyName, eta: float) -> None:
    expected = [float(one[0]) for one in moments(family, np.array([eta]), 0.7)]
    assert family_moments(FAMILIES[family].code, eta, 0.7) == pytest.approx(expected, rel=1e-9)


def test_classes_have_the_chances_of_a_softmax() -> None:
    eta = np.array([1.0, -2.0, 800.0])
    assert softmax(eta, 2) == pytest.approx(1 / (1 + np.e + np.exp(-2)))
    np.testing.assert_allclose(eta[:2], np.exp([1.0, -2.0]) / (1 + np.e + np.exp(-2)))
    assert eta[2] == 800.0
