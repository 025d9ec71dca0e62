"""The images for container engines: one list of packages, and the definitions made from it."""
