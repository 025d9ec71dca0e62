"""What brings a Ray cluster up inside a Slurm allocation. Needs the standard library alone."""
