"""May outputs leave? What datasets evolved from them give away about people, beside what the rules of thumb say."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .assess import check_recipes as check_recipes
    from .measurement import CheckInputs as CheckInputs
    from .result import CheckResult as CheckResult
    from .settings import CheckSettings as CheckSettings

offer_names(__name__)
