"""specdec: does speculative decoding pay here, and if not, which cost eats the gain?"""

from specdec.errors import SpecdecError

__version__ = "0.1.0"

__all__ = ["SpecdecError", "__version__"]
