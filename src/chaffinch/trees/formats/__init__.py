"""Trees as others write them: one file a format, each read into the plain form and, where it can be pruned, written back."""
