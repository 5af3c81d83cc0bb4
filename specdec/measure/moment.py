"""The moment of an event as every record writes it. Apart from the rows that use it, so that a process that
only starts measuring processes need not import torch."""

from datetime import UTC, datetime


def now() -> str:
    """UTC, ISO 8601 with microseconds: comparable as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
