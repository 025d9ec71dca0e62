"""Measurements: each prints medians and ratios of one run side by side, and asserts no time."""
