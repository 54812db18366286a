"""Bayesian networks: structure, tables, sampling."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .model import BayesNetModel as BayesNetModel
    from .network import Network as Network
    from .settings import BayesNet as BayesNet

offer_names(__name__)
