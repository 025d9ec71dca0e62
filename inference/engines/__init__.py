"""One file an engine, each with its typed configuration."""
