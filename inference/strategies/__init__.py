"""One file a strategy, each with its typed configuration."""
