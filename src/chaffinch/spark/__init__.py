"""The same synthesis where the data are: a Spark DataFrame is counted by its workers, and drawn
rows are one again.

Names are looked up when first used: a worker that counts loads what counting needs, in half of the
time.
"""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .counter import SparkCounter as SparkCounter
    from .drawing import draw as draw
    from .files import WrittenRows as WrittenRows
    from .files import write as write
    from .private import prepare as prepare
    from .scanning import SparkScan as SparkScan
    from .scanning import scan as scan
    from .session import Workers as Workers
    from .session import check_workers as check_workers

offer_names(__name__)
