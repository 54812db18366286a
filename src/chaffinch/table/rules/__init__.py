"""What no record can be, and what ties columns of a record to each other: rules of a schema, read,
found, fitted and checked.
"""
