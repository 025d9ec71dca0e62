"""One specification language a file: how its completions are parsed."""
