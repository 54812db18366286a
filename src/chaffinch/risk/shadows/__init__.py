"""Many fits on subsets of one table, each with its own noise: what attacks on a synthesiser learn from."""

from .generator import Generator
from .run import Shadows, Working, run_shadows
from .world import AttackPopulation, Draws, fresh_draws, neighbour_draws, shared_draws, world_of

__all__ = [
    "AttackPopulation",
    "Draws",
    "Generator",
    "Shadows",
    "Working",
    "fresh_draws",
    "neighbour_draws",
    "run_shadows",
    "shared_draws",
    "world_of",
]
