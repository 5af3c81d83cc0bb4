"""The one exception family. A message is a sentence that names the file, key or value and the remedy.

The command line prints it in one line and exits with ``exit_code``; a traceback is for bugs alone.
"""


class SpecdecError(Exception):
    """A fault that the user can mend."""

    exit_code = 2


class ConfigError(SpecdecError):
    """A parameter file that cannot describe a study."""


class ModelError(SpecdecError):
    """A model that cannot be fetched, read or used."""


class PromptError(SpecdecError):
    """A prompt that cannot be built, read or fitted to its context."""


class RecordError(SpecdecError):
    """A result file that is missing, torn, of another schema or of another study."""


class MachineError(SpecdecError):
    """This machine is not the one whose results it would join, or lacks something."""


class GateFailed(SpecdecError):
    """A correctness gate or an audit said no: the study itself is at fault, not its input."""

    exit_code = 1
