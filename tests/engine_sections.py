"""The `engine` section of tiny studies: one thread of the CPU in float32, and what a test changes of it."""

from typing import Any

from specdec.config.study import EngineSection


def engine_section(**changes: Any) -> EngineSection:
    values = {
        "device": "cpu",
        "dtype": "float32",
        "executor": "static",
        "threads": 1,
        "prefill_chunk": 16,
        "max_new_tokens": 8,
        "stop_at_eos": False,
    }
    return EngineSection(**(values | changes))
