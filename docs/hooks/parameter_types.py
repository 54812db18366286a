"""What the reference says of parameters, which its reader of sources does not see.

Parameters that a docstring describes together ("label, sensitive, keys") keep each their own type and default: the parser of docstrings gives every name of a group those of the first. Options
that are declared in settings, which functions take as keywords and settings as fields, are listed with their types, defaults and help.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe

from chaffinch._base.options import own_settings, settings_of, with_parameters


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
                self.match(member, declare(member) if is_declared(member) else {})
            if member.is_module or member.is_class:
                self.walk(member)

    def match(self, described: Any, declared: dict[str, griffe.Parameter]) -> None:
        """Give each described parameter what the signature says of it, or what is declared."""
        if described.docstring is None:
            return
        signature = {parameter.name: parameter for parameter in described.parameters} | declared
        for section in described.docstring.parsed:
            if section.kind is griffe.DocstringSectionKind.parameters:
                for parameter in section.value:
                    real = signature.get(parameter.name)
                    if real is not None:
                        parameter.annotation, parameter.value = real.annotation, real.default


def is_declared(described: Any) -> bool:
    """Return whether a function takes declared settings, or a class declares some."""
    decorators = [str(decorator.value) for decorator in described.decorators]
    if described.is_class:
        is_settings = any(name.startswith("dataclass") for name in decorators)
        return is_settings and any(
            str(base).split(".")[-1] == "Declared" for base in described.bases
        )
    return any(name.startswith("takes(") for name in decorators)


def declare(described: Any) -> dict[str, griffe.Parameter]:
    """Give a function or a class the parameters that its declared settings are, and return them by name."""
    real = getattr(import_module(described.module.path), described.name)
    text = inspect.getdoc(real) or ""
    if described.is_class:
        settings = own_settings(real)
        text = with_parameters(text, list(settings.values())) if settings else text
    else:
        names = {parameter.name for parameter in described.parameters}
        settings = {
            name: setting
            for name, setting in settings_of(real.settings_class).items()
            if name not in names
        }
        del described.parameters["options"]
    options = {"warn_unknown_params": False, "warn_missing_types": False}
    described.docstring = griffe.Docstring(
        text, parent=described, parser="numpy", parser_options=options
    )
    parameters = {
        name: griffe.Parameter(
            name,
            annotation=type_words(setting.hint),
            kind=griffe.ParameterKind.keyword_only,
            default=None if setting.required else repr(setting.default),
        )
        for name, setting in settings.items()
    }
    for name, parameter in parameters.items():
        if described.is_class:
            described.members[name].annotation = parameter.annotation
        else:
            described.parameters.add(parameter)
    return parameters


def type_words(hint: Any) -> str:
    """Return a type as pages say it, without the modules of its names."""
    return inspect.formatannotation(hint).replace("collections.abc.", "").replace("typing.", "")
