"""The network that made a table: its picture, and its links by strength, with those that were asked for marked."""

from __future__ import annotations

from markupsafe import Markup

from .._base.svg import bars
from .._base.text import number, shown
from ..synth.account import ModelAccount, SynthesisAccount
from .sections import Block, Figure, PageTable
from .why import Choices

MOST_DRAWN, MOST_LISTED = 15, 500


def network_figures(account: SynthesisAccount | None, picture: Markup | None) -> list[Block]:
    """Return the picture where there is one, and the strongest links; nothing where no network is known."""
    model = ModelAccount() if account is None else account.model
    out: list[Block] = []
    if picture is None and not model.edges:
        return out
    choices = Choices(account)
    strengths = model.strengths or (None,) * len(model.edges)
    ranked = sorted(zip(model.edges, strengths, strict=False), key=lambda edge: -(edge[1] or 0.0))
    measured = (
        "Mutual information (nats, from released tables)"
        if model.privacy
        else "Mutual information (nats)"
    )
    rows = tuple(
        (
            shown(a, 40),
            shown(b, 40),
            number(strength),
            choices.why((a, b)).removeprefix("chosen: this link was "),
        )
        for (a, b), strength in ranked[:MOST_LISTED]
    )
    table = PageTable(
        "Edges of the network", ("From", "To", measured, "Chosen"), rows, frozenset({2})
    )
    if picture is not None:
        out.append(
            Figure(
                "fig-network",
                "The network that was learnt: wider edges tell more",
                (picture,),
                table,
            )
        )
    known = {
        f"{shown(a, 40)} → {shown(b, 40)}": float(strength)
        for (a, b), strength in ranked
        if strength is not None
    }
    if known:
        some = dict(list(known.items())[:MOST_DRAWN])
        of = f", the {len(some)} strongest of {len(known)} links" if len(some) < len(known) else ""
        caption = f"What the ends of each link tell of each other{of}"
        desc = "; ".join(f"{name}: {number(value)}" for name, value in some.items())
        plot = bars("fig-links-plot", caption, desc, some)
        listed = tuple((name, number(value)) for name, value in some.items())
        out.append(
            Figure(
                "fig-links",
                caption,
                (plot,),
                PageTable(caption, ("Link", measured), listed, frozenset({1})),
            )
        )
    return out
