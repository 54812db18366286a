"""Kinds of outputs: each reads its part of a file, and says it as tables of counts and systems of sums."""
