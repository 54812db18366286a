"""Was this person in the data? Membership attacks on what a synthesiser releases."""
