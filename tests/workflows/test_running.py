"""What a result says of its run."""

from __future__ import annotations

import chaffinch
from chaffinch.workflows.run import RunOptions


def test_versions_a_date_and_the_command_where_there_is_one():
    facts = RunOptions().facts
    assert facts["versions"]["chaffinch"] == chaffinch.__version__
    assert facts["date"].endswith("UTC")
    assert "command" not in facts
    assert RunOptions(command="chaffinch release").facts["command"] == "chaffinch release"
