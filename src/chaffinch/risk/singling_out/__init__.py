"""Can somebody be singled out from a release, and how often would a guess have done it?"""

from .chances import baseline, blind_chance, blind_chance_at_most, drawn_chance, nobody_in
from .study import Isolation, SinglingOut, study_singling_out

__all__ = [
    "Isolation",
    "SinglingOut",
    "baseline",
    "blind_chance",
    "blind_chance_at_most",
    "drawn_chance",
    "nobody_in",
    "study_singling_out",
]
