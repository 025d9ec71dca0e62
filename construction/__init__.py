"""How tasks are made: environments, methods, coverage, mutants, and the search that writes a manifest."""
