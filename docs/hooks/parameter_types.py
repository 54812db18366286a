"""Parameters that a docstring describes together ("label, sensitive, keys") keep each their own type and default in the reference.

The parser of docstrings gives every name of a group the type and the default of the first.
"""

from __future__ import annotations

from typing import Any

import griffe


class ParameterTypes(griffe.Extension):
    """Sets the type and the default of each described parameter to those of the signature."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Walk through a loaded package."""
        self.walk(pkg)

    def walk(self, parent: griffe.Object) -> None:
        """Set the parameters of all functions and classes inside a module or a class."""
        for member in parent.members.values():
            if member.is_alias:
                continue
            if member.is_function or member.is_class:
                self.match(member)
            if member.is_module or member.is_class:
                self.walk(member)

    def match(self, described: Any) -> None:
        """Give each described parameter what the signature says of it."""
        if described.docstring is None:
            return
        signature = {parameter.name: parameter for parameter in described.parameters}
        for section in described.docstring.parsed:
            if section.kind is griffe.DocstringSectionKind.parameters:
                for parameter in section.value:
                    real = signature.get(parameter.name)
                    if real is not None:
                        parameter.annotation, parameter.value = real.annotation, real.default
