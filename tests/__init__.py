"""The tests, in the folders' own order; tests/performance holds the measurements."""
