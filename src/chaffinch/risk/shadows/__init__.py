"""Many fits on subsets of one table, each with its own noise: what attacks on a synthesiser learn from."""

from .draws import Draws, fresh_draws, neighbour_draws, shared_draws
from .generator import Generator
from .run import Shadows, run_shadows
from .work import Working
from .world import World, world_of

__all__ = [
    "Draws",
    "Generator",
    "Shadows",
    "Working",
    "World",
    "fresh_draws",
    "neighbour_draws",
    "run_shadows",
    "shared_draws",
    "world_of",
]
