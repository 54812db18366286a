"""Search engines, one module each, of the name of the engine."""
