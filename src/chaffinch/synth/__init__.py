"""Synthesisers: settings that fit a model, models that draw tables."""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .bayesnet import BayesNet as BayesNet
    from .bayesnet import BayesNetModel as BayesNetModel
    from .bayesnet import Network as Network
    from .fieldgroups import FieldGroups as FieldGroups
    from .independent import Independent as Independent
    from .model import FittedModel as FittedModel
    from .model_file import load_model as load_model
    from .options import Evolution as Evolution
    from .options import MethodOptions as MethodOptions
    from .panel import Panel as Panel
    from .panel import PanelModel as PanelModel
    from .privbayes import PrivBayes as PrivBayes
    from .protected import Protected as Protected
    from .protected import ProtectedModel as ProtectedModel
    from .protocol import Model as Model
    from .protocol import ModelColumn as ModelColumn
    from .protocol import ModelDescription as ModelDescription
    from .protocol import Synthesiser as Synthesiser
    from .protocol import TableGenerator as TableGenerator
    from .settings import SYNTHESISERS as SYNTHESISERS
    from .settings import Settings as Settings
    from .settings import method_words as method_words
    from .settings import synthesiser_of as synthesiser_of

offer_names(__name__)
