"""What every stage needs and no stage owns: errors, seeds, progress, threads, safe files, plain tables."""
