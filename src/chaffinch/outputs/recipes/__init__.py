"""Outputs that can be computed on any records: read from files with or without numbers, computed and printed as the file says."""

from .recipe import Recipe, Recipes, computed, named_columns, read_recipes, recipes_of

__all__ = ["Recipe", "Recipes", "computed", "named_columns", "read_recipes", "recipes_of"]
