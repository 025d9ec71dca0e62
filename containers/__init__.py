"""Sandboxes: the isolation in which untrusted code runs, one backend a file."""
