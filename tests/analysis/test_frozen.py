"""Only cells of the frozen design are analysed; a plan changed after the freeze is told."""

import pandas as pd
import pytest

from specdec.analysis.frozen import frozen_state
from specdec.config import load_study
from specdec.errors import RecordError

ANALYSIS = load_study("studies/smoke.yaml").analysis
DESIGN = {
    "design_hash": "d" * 64,
    "frozen_at": "2026-01-01T00:00:00.000000+00:00",
    "design": {"study_hash": "s", "prompts": [{"context": 64, "family": "one", "prompt_hash": "p"}]},
    "plan": ANALYSIS.model_dump(mode="json"),
}


def rows(**changes):
    row = {
        "context": 64,
        "family": "one",
        "study_hash": "s",
        "prompt_hash": "p",
        "started_at": "2026-01-02T00:00:00.000000+00:00",
    }
    return pd.DataFrame([row | changes])


def test_cells_of_the_design_pass_and_the_freeze_is_told():
    state = frozen_state(DESIGN, rows(), ANALYSIS)
    assert state["design_hash"] == DESIGN["design_hash"]
    assert state["plan_changed"] == []
    assert state["n_cells_before_freeze"] == 0


@pytest.mark.parametrize("changes", [{"study_hash": "other"}, {"prompt_hash": "other"}, {"family": "two"}])
def test_a_cell_of_another_design_is_refused(changes):
    with pytest.raises(RecordError, match="another design"):
        frozen_state(DESIGN, rows(**changes), ANALYSIS)


def test_a_plan_changed_after_the_freeze_is_named():
    state = frozen_state(DESIGN, rows(), ANALYSIS.model_copy(update={"confidence": 0.8}))
    assert state["plan_changed"] == [{"name": "confidence", "frozen": ANALYSIS.confidence, "now": 0.8}]


def test_a_cell_measured_before_the_freeze_is_counted():
    state = frozen_state(DESIGN, rows(started_at="2025-12-31T00:00:00.000000+00:00"), ANALYSIS)
    assert state["n_cells_before_freeze"] == 1
