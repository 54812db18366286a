"""Whole jobs in plain Python: they return results and print nothing. The command line parses, calls one of them and prints."""
