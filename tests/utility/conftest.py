"""Plain data of a whole study, as the pages' tests make them."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_spec = spec_from_file_location("pages", Path(__file__).parents[1] / "report" / "conftest.py")
_pages = module_from_spec(_spec)
_spec.loader.exec_module(_pages)
study_of, no_value = _pages.study_of, _pages.no_value
