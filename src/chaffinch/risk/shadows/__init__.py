"""Many fits on subsets of one table, each with its own noise: what attacks on a synthesiser learn from."""

from .generator import Generator
from .run import Shadows, Working, run_shadows
from .world import Draws, World, fresh_draws, neighbour_draws, shared_draws, world_of

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
