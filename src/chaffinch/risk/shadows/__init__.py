"""Many fits on subsets of one table, each with its own noise: what attacks on a synthesiser learn from."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .generator import Generator as Generator
    from .run import Shadows as Shadows
    from .run import Working as Working
    from .run import run_shadows as run_shadows
    from .settings import AttackTargets as AttackTargets
    from .world import AttackPopulation as AttackPopulation
    from .world import Draws as Draws
    from .world import fresh_draws as fresh_draws
    from .world import neighbour_draws as neighbour_draws
    from .world import shared_draws as shared_draws
    from .world import world_of as world_of

offer_names(__name__)
