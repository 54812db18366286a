"""File formats and objects that tables are read from and written to: each one file, registered in
`FORMATS` or `OBJECTS`.
"""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from . import arrow as arrow
    from . import databases as databases
    from . import delimited as delimited
    from . import json_lines as json_lines
    from . import parquet as parquet
    from . import rds as rds
    from . import refused as refused
    from . import sas as sas
    from . import spss_stata as spss_stata
    from . import workbook as workbook
    from . import zipped as zipped
    from .format import FORMATS as FORMATS
    from .format import FileOptions as FileOptions
    from .format import Format as Format
    from .format import Labels as Labels
    from .format import ReadOptions as ReadOptions
    from .format import Source as Source
    from .format import Tagged as Tagged
    from .layout import FileLayout as FileLayout
    from .objects import OBJECTS as OBJECTS
    from .objects import ObjectKind as ObjectKind

offer_names(__name__)
