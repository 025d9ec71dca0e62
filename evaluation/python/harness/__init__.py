"""The package that goes into the sandbox, alone on its import path."""
