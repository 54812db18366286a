"""Outputs as other programs leave them: ACRO folders, fitted statsmodels results, pandas and polars tables."""
