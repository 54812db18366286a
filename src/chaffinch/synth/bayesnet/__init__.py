"""Bayesian networks: structure, tables, sampling."""

from .genetic import Evolution
from .model import BayesNetModel
from .network import Network
from .settings import BayesNet

__all__ = ["BayesNet", "BayesNetModel", "Evolution", "Network"]
