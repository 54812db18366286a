"""What a synthetic table is worth: each measure a function of (original, synthetic) that returns a frozen result."""
