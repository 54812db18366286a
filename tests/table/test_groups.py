"""The column of groups stands beside the columns of any table."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

import chaffinch
from chaffinch.table.groups import GROUP, GROUPS, group_column


def test_it_is_no_column_of_a_file():
    schema = chaffinch.read(pa.table({"group": ["a", "b"] * 20, "groups": [1, 2] * 20})).schema
    wide = replace(schema, columns=(group_column(5), *schema.columns))
    assert wide.names == (GROUP, "group", "groups")
    assert wide.sizes[0] == 5
    assert group_column().size == GROUPS
