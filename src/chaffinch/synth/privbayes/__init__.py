"""PrivBayes as published, and the variants that other packages made of it."""

from .settings import VARIANTS, PrivBayes

__all__ = ["VARIANTS", "PrivBayes"]
