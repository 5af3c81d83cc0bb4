"""Where tables for people are printed; apart so that every verb treats a reader that has gone alike."""

from rich.console import Console


class Terminal(Console):
    """A console that lets the command line deal with a reader that has gone (`specdec show | head`)."""

    def on_broken_pipe(self) -> None:
        """Raise on: rich itself would end with 1, which here says that a gate or an audit failed."""
        raise BrokenPipeError
