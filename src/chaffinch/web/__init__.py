"""The local page: the steward's journey in a browser, on this computer alone. `chaffinch open` starts it."""
