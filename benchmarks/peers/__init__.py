"""Other synthesisers, each in an environment of its own."""
