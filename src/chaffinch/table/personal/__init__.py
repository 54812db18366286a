"""Direct identifiers: columns that say who somebody is. How they are found, what may become of
them, and made-up values in their place.
"""
