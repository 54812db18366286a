"""Can somebody be singled out from a release, and how often would a guess have done it?"""

from .chances import baseline, blind_chance, blind_chance_at_most, drawn_chance, nobody_in
from .result import Isolation, SinglingOutResult
from .study import singling_out

__all__ = [
    "Isolation",
    "SinglingOutResult",
    "baseline",
    "blind_chance",
    "blind_chance_at_most",
    "drawn_chance",
    "nobody_in",
    "singling_out",
]
