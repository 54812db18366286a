"""What a column is, and how values become codes and codes values."""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .codes import Codes as Codes
    from .domain import OTHER as OTHER
    from .domain import Categories as Categories
    from .domain import ColumnDomain as ColumnDomain
    from .domain import Intervals as Intervals
    from .formats import FORMATS as FORMATS
    from .formats import FileLayout as FileLayout
    from .formats import FileOptions as FileOptions
    from .formats import Format as Format
    from .formats import ReadOptions as ReadOptions
    from .formats import Source as Source
    from .read import read as read
    from .scan import Scan as Scan
    from .scan import scan as scan
    from .schema import Column as Column
    from .schema import Note as Note
    from .schema import Schema as Schema
    from .schema_file import read_schema as read_schema
    from .schema_file import schema_text as schema_text
    from .schema_file import write_schema as write_schema
    from .table import Table as Table
    from .write import table_writer as table_writer
    from .write import write_table as write_table

offer_names(__name__)
