"""Private synthesisers beside each other: the tables, the measure, ours, and the peers in environments of their own."""
