"""A problem laid out flat has what the problem has, in its order."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from chaffinch.outputs.equations import CountTable, SumSystem
from chaffinch.outputs.solve.program import compile_problem


def test_a_flat_problem_knows_who_reads_a_column_and_the_bounds_of_cells(
    problems: ModuleType,
) -> None:
    problem = problems.random_problem(3, [("logit", "score"), ("gaussian", "loglik")])
    p = compile_problem(problem)
    tables = [output for output in problem.outputs if isinstance(output, CountTable)]
    systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
    assert (p.n_tables, p.n_systems) == (2, 3)
    assert p.n_sums == sum(s.size for s in systems)
    for outputs, starts, first in (
        (tables, p.tables_of_starts, p.tables_of),
        (systems, p.systems_of_starts, p.systems_of),
    ):
        for c in range(len(problem.columns)):
            begin, end = p.ints[starts + c], p.ints[starts + c + 1]
            expected = [k for k, output in enumerate(outputs) if c in output.columns]
            assert p.ints[first + begin : first + end].tolist() == expected
    for at, bounds in ((p.cell_lo, [t.lo for t in tables]), (p.cell_hi, [t.hi for t in tables])):
        assert p.ints[at : at + p.n_cells].tolist() == np.concatenate(bounds).tolist()
