"""docs/adding-a-drafter.md is run as written: the file, the trial, and the edits that give it a name."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/adding-a-drafter.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r'```(?:python|yaml) title="([^"]+)"\n(.*?)```', PAGE, re.DOTALL))
MODULE = "specdec/decode/drafters/period.py"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package with the documented file in it."""
    folder = tmp_path_factory.mktemp("with_period")
    shutil.copytree(ROOT / "specdec", folder / "specdec", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / MODULE).write_text(BLOCKS[MODULE])
    return folder


def run(package, program):
    # -P and the package's folder first on the path: the copy is imported, not the installed one
    code = f"import sys; sys.path.insert(0, {str(package)!r})\n{program}"
    return subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False, cwd=package)


def test_the_page_has_its_blocks():
    assert set(BLOCKS) == {
        MODULE,
        "try it",
        "specdec/config/drafting.py",
        "specdec/decode/assemble.py",
        "params.yaml",
    }


def test_the_file_alone_drafts_without_changing_the_text(package, tiny_model):
    done = run(package, f"target = {str(tiny_model())!r}\n{BLOCKS['try it']}")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ rounds, \d+ draft tokens accepted\n", done.stdout)


def test_a_drafter_that_breaks_the_contract_is_caught(package, tiny_model, tmp_path):
    """The planted fault: one token more than asked for."""
    broken = tmp_path / "broken"
    shutil.copytree(package, broken)
    text = BLOCKS[MODULE].replace("for index in range(k)]", "for index in range(k + 1)]")
    assert text != BLOCKS[MODULE]
    (broken / MODULE).write_text(text)
    done = run(broken, f"target = {str(tiny_model())!r}\n{BLOCKS['try it']}")
    assert done.returncode != 0
    assert "ContractError" in done.stderr


def test_the_edits_give_it_a_name(package, tiny_model):
    drafting = package / "specdec/config/drafting.py"
    text = drafting.read_text()
    text = text.replace("\nDrafter = Annotated[", f"\n{BLOCKS['specdec/config/drafting.py']}\n\nDrafter = Annotated[")
    drafting.write_text(re.sub(r"(Drafter = Annotated\[\s*)", r"\1PeriodDrafter | ", text))
    assemble = package / "specdec/decode/assemble.py"
    text = assemble.read_text()
    text = text.replace(
        "from specdec.decode.drafters.none import",
        "from specdec.decode.drafters.period import PeriodDrafter\nfrom specdec.decode.drafters.none import",
    )
    place = "        case drafting.ReplayDrafter():"
    assert place in text
    assemble.write_text(text.replace(place, BLOCKS["specdec/decode/assemble.py"] + place))
    program = f"""
import yaml
from specdec.config.arms import Arm
from specdec.config.study import EngineSection
from specdec.decode.assemble import TARGET_ONLY, assemble
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode

section = EngineSection(device="cpu", dtype="float32", executor="static", threads=1, prefill_chunk=512,
                        max_new_tokens=16, stop_at_eos=False)
loaded = Loaded({{"target": {str(tiny_model())!r}}}, section)
texts = []
for arm in (TARGET_ONLY, Arm.model_validate(yaml.safe_load({BLOCKS["params.yaml"]!r})["period_k4"])):
    engine = assemble(arm, loaded)
    committed = engine.prefill([1, 2, 3, 4] * 3)
    rounds = list(decode(engine, committed))
    texts.append(committed.ids)
assert texts[0] == texts[1]
assert {{r.source for r in rounds}} <= {{"period", "none"}} and any(r.n_drafted for r in rounds)
print("named")
"""
    done = run(package, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "named\n"
