"""Which accelerators there are, asked without starting one: a started device holds memory and is no longer idle."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NODES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")

_QUERY = ("name", "driver_version", "memory.total")

_ASK_TORCH = """
import torch
for index in range(torch.cuda.device_count()):
    device = torch.cuda.get_device_properties(index)
    print(device.name, "", device.total_memory // 2**20, sep=",")
"""


def accelerators() -> list[dict[str, str]]:
    """``[{name, driver, memory_mib}]`` of the devices that this process may see; empty without any.

    ``nvidia-smi`` answers in a moment; where it is absent but a device node is there, torch is asked in a
    process that ends at once.
    """
    smi = shutil.which("nvidia-smi")
    if smi:
        command = [smi, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            if not visible.strip():
                return []
            command.append(f"--id={visible}")
        return _parse(_output(command))
    if any(Path(node).exists() for node in NODES):
        return _parse(_output([sys.executable, "-c", _ASK_TORCH]))
    return []


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _parse(text: str) -> list[dict[str, str]]:
    rows = [[field.strip() for field in line.split(",")] for line in text.splitlines() if line.strip()]
    return [{"name": row[0], "driver": row[1], "memory_mib": row[2]} for row in rows if len(row) == len(_QUERY)]
