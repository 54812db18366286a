"""May outputs leave? What datasets evolved from them give away about people, beside what the rules of thumb say."""

from .assess import check_recipes
from .result import CheckResult
from .settings import CheckSettings

__all__ = ["CheckResult", "CheckSettings", "check_recipes"]
