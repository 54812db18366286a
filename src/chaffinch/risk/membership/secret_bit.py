"""Is one value of a person given away? A bit of each target is tossed anew in every shadow, and the attacker guesses the coin.

Inference of an attribute as Houssiau et al. (2022, TAPAS) put it: the target is always in the data, and its value of a column with two values is
replaced by a fair coin, so nothing but the release can tell it. What the population says of people like the target is worth nothing here:
whatever is above one half comes from the target's own record. In form it is membership: two versions of the record, one of which is in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ...stats.intervals import clustered_rate
from ...table.codes import Codes
from ...table.table import Table
from ..shadows.draws import Draws, check_sizes
from .learning import Campaign, Seen
from .result import SecretBit


@dataclass(frozen=True, eq=False)
class SecretCampaign(Campaign):
    """A campaign whose targets are the versions of records with one value of the secret; `others` are their versions with the other.

    `place`: where each row of the population stood before versions were added, so that the order of a subset tells nothing.
    """

    others: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    place: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def drawn(self, pairs: int, step: int) -> Draws:
        """Return subsets that all targets are in, each with the one value in exactly half of them, by coins of its own."""
        rng = np.random.default_rng(self.stream(step))
        targets, shadows = self.world.targets, 2 * pairs
        rest = np.setdiff1d(
            np.arange(self.world.n_population), np.concatenate([targets, self.others])
        )
        coin = np.stack([rng.permutation(shadows) < pairs for _ in targets], axis=1)
        taken = np.empty((shadows, self.world.rows), dtype=np.int64)
        for s in range(shadows):
            filled = rng.choice(rest, size=self.world.rows - len(targets), replace=False)
            rows = np.concatenate([np.where(coin[s], targets, self.others), filled])
            taken[s] = rows[np.argsort(self.place[rows])]
        return Draws(taken, coin, np.full(shadows, -1, dtype=np.int64))


def secret_campaign(campaign: Campaign, column: str) -> SecretCampaign:
    """Return the campaign in which targets' values of a column with two values are tossed.

    Raises
    ------
    InputError
        If the column has other than two values or is missing for some, if a subset has no room for all targets, or in the design `neighbours`.
    """
    world = campaign.world
    table = world.table
    if column not in table.schema.names:
        raise unknown_name("column", column, table.schema.names)
    if campaign.plan.design != "shared":
        raise InputError(
            'A secret is tossed in shadows that all targets share. Use design="shared".'
        )
    check_sizes(world.n_population, world.rows, len(world.targets))
    if world.rows <= len(world.targets):
        raise InputError(
            f"All targets are in every subset: it needs more than {len(world.targets):,} rows. Got {world.rows:,}: ask for fewer targets or more rows."
        )
    codes = table.code(column)
    distinct, first = np.unique(codes, return_index=True)
    values = table.data.column(column).take(pa.array(first))
    if (
        len(distinct) != 2
        or values.null_count
        or len(values.unique()) != 2
        or table.data.column(column).null_count
    ):
        raise InputError(
            f"A secret must have two values and none missing: column '{column}' does not. Choose a column of yes and no, or make one of it."
        )
    base = _with_versions(table, world.targets, column, codes == distinct[1], first)
    copies = table.n_rows + np.arange(len(world.targets))
    is_second = codes[world.targets] == distinct[1]
    versions = replace(world, table=base, targets=np.where(is_second, world.targets, copies))
    return SecretCampaign(
        versions,
        replace(campaign.generator, base=base),
        campaign.plan,
        campaign.seed,
        campaign.working,
        np.where(is_second, copies, world.targets),
        np.concatenate([np.arange(table.n_rows), world.targets]),
    )


def _with_versions(
    table: Table,
    targets: NDArray[np.int64],
    column: str,
    second: NDArray[np.bool_],
    first: NDArray[np.int64],
) -> Table:
    """The table, and below it the targets once more with the other of the column's two values."""
    names = table.schema.names
    data = table.data.select(names)
    source = np.where(second[targets], first[0], first[1])  # a record that has the other value
    versions = data.take(pa.array(targets))
    at = names.index(column)
    versions = versions.set_column(
        at, data.schema.field(column), data.column(column).take(pa.array(source))
    )
    codes = [
        np.concatenate([table.code(name), table.code(name)[source if name == column else targets]])
        for name in names
    ]
    both = pa.concat_tables([data, versions])
    schema = replace(
        table.schema,
        columns=tuple(table.schema[name] for name in names),
        rows=None if table.schema.rows is None else both.num_rows,
    )
    return Table(schema, both, Codes.of(codes, schema.sizes), table.notes, table.origin)


def guessed(seen: Seen, column: str) -> SecretBit:
    """Return how often coins are guessed by the sign of the log-odds, a half where they are 0, shadows being clusters."""
    odds, coin = seen.log_odds, seen.draws.member
    hits = np.where(odds == 0, 0.5, (odds > 0) == coin)
    shadow = np.repeat(np.arange(len(odds)), odds.shape[1])
    return SecretBit(column, float(hits.mean()), clustered_rate(hits.ravel(), shadow))
