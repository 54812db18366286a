"""Bayesian networks: structure, tables, sampling."""

from .model import BayesNetModel
from .network import Network
from .searches import Evolution
from .settings import BayesNet

__all__ = ["BayesNet", "BayesNetModel", "Evolution", "Network"]
