"""Synthesisers: settings that fit a model, models that draw tables."""

from .bayesnet import BayesNet, BayesNetModel, Evolution, Network
from .fieldgroups import FieldGroups
from .independent import Independent
from .model import FittedModel
from .model_file import load_model
from .panel import Panel, PanelModel
from .privbayes import PrivBayes
from .protected import Protected, ProtectedModel
from .protocol import Model, ModelColumn, ModelDescription, Synthesiser, TableGenerator
from .settings import SYNTHESISERS, MethodOptions, Settings, method_words, synthesiser_of

__all__ = [
    "SYNTHESISERS",
    "BayesNet",
    "BayesNetModel",
    "Evolution",
    "FieldGroups",
    "FittedModel",
    "Independent",
    "MethodOptions",
    "Model",
    "ModelColumn",
    "ModelDescription",
    "Network",
    "Panel",
    "PanelModel",
    "PrivBayes",
    "Protected",
    "ProtectedModel",
    "Settings",
    "Synthesiser",
    "TableGenerator",
    "load_model",
    "method_words",
    "synthesiser_of",
]
