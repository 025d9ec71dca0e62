"""Workspaces, checkers by language, the judge, metrics."""
