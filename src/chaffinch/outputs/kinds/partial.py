"""Models whose numbers may be absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationInfo, model_validator


class PartialSpec(BaseModel):
    """Keys whose numbers may be absent: `true` in their place announces that they are published.

    Read with `context={"numbers": "required"}` nothing may be announced.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    NUMBERS: ClassVar[tuple[str, ...]] = ()
    """The keys that hold numbers."""
    BESIDE: ClassVar[tuple[str, ...]] = ()
    """Those that need not be there, and may be announced."""

    _announced: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _with_or_without_numbers(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping) or (info.context or {}).get("numbers") == "required":
            return handler(data)
        empty = {
            key
            for key in (*cls.NUMBERS, *cls.BESIDE)
            if key in data and cls.placeholder(key, data[key])
        }
        spec = handler({key: value for key, value in data.items() if key not in empty})
        spec._announced = {key: data[key] for key in cls.BESIDE if key in empty and data[key]}
        return spec

    @classmethod
    def placeholder(cls, key: str, value: Any) -> bool:
        """Return whether what stands under a key is no number but announces some, or says that there are none."""
        return value is None or isinstance(value, bool)

    def publishes(self, key: str) -> bool:
        """Return whether numbers under a key are published: they are there, or announced."""
        return key in self._announced or getattr(self, key, None) is not None

    def changed(
        self, *, drop: Iterable[str] = (), announced: Mapping[str, Any] | None = None, **values: Any
    ) -> Self:
        """Return the same with some keys dropped and some set."""
        gone = [key for key in drop if key in type(self).model_fields and key not in values]
        defaults = {
            key: type(self).model_fields[key].get_default(call_default_factory=True) for key in gone
        }
        spec = self.model_copy(update={**defaults, **values})
        spec.model_fields_set.difference_update(gone)
        spec._announced = dict(self._announced if announced is None else announced)
        return spec
