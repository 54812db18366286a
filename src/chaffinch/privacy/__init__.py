"""Privacy as a ledger: every touch of the data is charged before it happens. A private synthesiser has no other way in."""
