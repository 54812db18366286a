"""Synthesisers: settings that fit a model, models that draw tables."""

from .bayesnet import BayesNet, BayesNetModel, Evolution, Network
from .fieldgroups import FieldGroups
from .independent import Independent
from .model_file import load_model
from .privbayes import PrivBayes
from .protocol import Model, Synthesiser

__all__ = [
    "BayesNet",
    "BayesNetModel",
    "Evolution",
    "FieldGroups",
    "Independent",
    "Model",
    "Network",
    "PrivBayes",
    "Synthesiser",
    "load_model",
]
