"""Clocks, probes, fingerprint and the session protocol."""
