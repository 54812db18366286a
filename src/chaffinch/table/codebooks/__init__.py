"""Declarations from codebooks: each kind of codebook one file, registered in `CODEBOOKS`."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from . import sdv as sdv
    from . import stat_files as stat_files
    from . import table_schema as table_schema
    from .codebook import CODEBOOKS as CODEBOOKS
    from .codebook import Codebook as Codebook
    from .codebook import read_codebook as read_codebook
    from .codebook import schema_from_json as schema_from_json

offer_names(__name__)
