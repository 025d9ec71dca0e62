"""How Java tasks are made and built: toolchain, workspaces, methods, mutants, coverage, the sample."""
