"""Correctness gates: nothing is timed before they pass."""
