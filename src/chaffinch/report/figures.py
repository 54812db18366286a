"""Pieces of pictures: those of `_base.svg`."""

from .._base.svg import GREY, INK, SERIES, Axis, Colour, blend, contrast, cut, ink_on, picture, text

__all__ = ["GREY", "INK", "SERIES", "Axis", "Colour", "blend", "contrast", "cut", "ink_on", "picture", "text"]
