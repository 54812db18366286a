"""Whether published numbers are those of the data: each output by itself, so that none stops another."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..._base.errors import InputError
from ..._base.masking import masked_count
from ..contradictions import contradictions
from ..document import Outputs
from ..domain import Codes
from ..numbers import Compared, compared

NOT_REFITTED = "its numbers were not compared with the data, which needs an extra: pip install 'chaffinch[statsmodels]'"


@dataclass(frozen=True)
class PublishedNumbers:
    """What the data say of published numbers."""

    differing: tuple[str, ...] = ()  # The names of outputs whose numbers the data do not give
    unseen: dict[str, str] = field(
        default_factory=dict
    )  # By name, why the numbers of an output could not be compared: it may be of a subset, say
    # others: The names of those that may be of some of the records, or mean something else: rules on all records, as they are read, do not vouch for them
    others: tuple[str, ...] = ()

    def consistent(self, name: str) -> bool | None:
        """Return whether an output's numbers are those of the data; None where they could not be compared."""
        return None if name in self.unseen else name not in self.differing


def compare_published(recipes: Outputs, codes: Codes) -> PublishedNumbers:
    """Return of which outputs the published numbers are not those of the data, each by its own records, and of which that cannot be said."""
    differing: list[str] = []
    others: list[str] = []
    unseen: dict[str, str] = {}
    for name in (recipe.name for recipe in recipes.outputs if recipe.published is not None):
        try:
            records = recipes[name].own_records(recipes.fields, codes)
            spec = recipes.only([name]).published(rows=len(records))
            (one,) = compared(spec, records)
            if one.within is False and (
                reading := spec.outputs[0].other_reading(
                    spec.outputs[0].sample(spec.fields, records)
                )
            ):
                unseen[name] = reading
                others.append(name)
            elif (
                one.within is False
                and (people := fewer_people(one, recipes.fields.threshold)) is not None
            ):
                unseen[name] = _of_a_subset(*people, recipes.fields.threshold)
                others.append(name)
            elif one.within is False or (one.within is None and contradictions(spec, len(records))):
                differing.append(name)
            elif one.within is None:
                unseen[name] = NOT_REFITTED
        except InputError as error:
            unseen[name] = str(error)
    return PublishedNumbers(tuple(differing), unseen, tuple(others))


def fewer_people(one: Compared, threshold: int) -> tuple[int, int] | None:
    """Return how many people an output says it is of and how many records there are of it, where it may be of some of these records alone; else None.

    That is so where its n is smaller; without n, where each of its counts is at most that of the records, and not all are equal. A count below the
    threshold is one whatever the records are, so such an output is not taken for one of a subset.

    Examples
    --------
    >>> from chaffinch.outputs.numbers import Number
    >>> table = Compared("t", "table", 2, 1, 1.0, 1.0, 0.5, True, (Number("f", 12, 12, 13), Number("m", 20, 20, 20)))
    >>> fewer_people(table, 10), fewer_people(table, 13)
    ((32, 33), None)
    """
    n = next((number for number in one.numbers if number.name == "n"), None)
    counts = [n] if n is not None else [number for number in one.numbers if number.unit == 0.0]
    if (
        not counts
        or (n is None and len(counts) < len(one.numbers))
        or any(0 < number.hi < threshold for number in one.numbers if number.unit == 0.0)
    ):
        return None
    fewer = all(number.lo == number.hi and number.hi <= number.value for number in counts) and any(
        number.hi < number.value for number in counts
    )
    return (
        (round(sum(number.hi for number in counts)), round(sum(number.value for number in counts)))
        if fewer
        else None
    )


def _of_a_subset(people: int, records: int, threshold: int) -> str:
    few = (
        f" Fewer than {threshold} people are between the two, whom an output of all records shows."
        if records - people < threshold
        else ""
    )
    return (
        f"Its n is {people} of about {masked_count(records, threshold)} records with its columns: "
        f'a subset? Say which records it is of: where = "...".{few}'
    )
