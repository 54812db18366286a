"""Whole jobs in plain Python: they return results and print nothing; the command line calls them."""
