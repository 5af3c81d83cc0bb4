"""A prompt written alone is the same bytes as its rows in the whole split."""

from specdec.config.study import Prompts
from specdec.prompts.build import write_cell, write_prompts


def test_cells_joined_in_order_are_the_split(tiny_model, tmp_path):
    model = tiny_model(positions=1024)
    prompts = Prompts.model_validate(
        {
            "source": {"kind": "builtin"},
            "contexts": [512, 600],
            "development": ["explain_concept"],
            "held_out": ["explain_process", "write_email"],
        }
    )
    write_prompts(3, prompts, model, tmp_path / "development.jsonl", tmp_path / "held_out.jsonl")
    joined = b""
    for context in (512, 600):
        for family in ("explain_process", "write_email"):
            cell = tmp_path / f"{context}-{family}.jsonl"
            write_cell(3, prompts.source, model, "held_out", context, family, cell)
            joined += cell.read_bytes()
    assert joined == (tmp_path / "held_out.jsonl").read_bytes()
