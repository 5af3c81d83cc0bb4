"""The audit compares a table with the raw cells that it was collected from."""

import pandas as pd
import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, observations, simulate, target_only

from specdec.analysis.audit import audit
from specdec.analysis.run import analyse
from specdec.records.cells import write_cell_rows
from specdec.records.tables import collect

# all accepted: every round is the same, so that rounds and tokens of a cell can be written down
ARMS = [target_only(), SimulatedArm("draft_k4", k=4, acceptance=1.0, draft=0.1)]
ROUNDS = {"target_only": [[0, 0, 0, 1]] * 60, "draft_k4": [[4, 4, 4, 5]] * 12}


def write_phase(results, phase):
    runs = simulate(ARMS, phase=phase, n_families=2, machine=Machine(noise=0.01))
    cells = []
    for family, mine in runs.groupby("family"):
        rows = [
            {name: None if value is pd.NA else value for name, value in row.items()}
            | {"tokens": list(range(61)), "rounds": ROUNDS[row["arm"]]}
            for row in mine.to_dict("records")
        ]
        cells.append(results / phase / "cells" / f"{family}.jsonl")
        write_cell_rows(cells[-1], rows)
    collect(cells, results / phase / "runs.csv")
    return cells


@pytest.fixture
def cells(tmp_path):
    written = {phase: write_phase(tmp_path, phase) for phase in ("sweep", "timing")}
    (tmp_path / "observations").mkdir()
    table = tmp_path / "observations" / "observations.parquet"
    observations().to_parquet(table)
    tables = (tmp_path / "sweep" / "runs.csv", tmp_path / "timing" / "runs.csv", table)
    analyse(analysis_settings(min_families=2), *tables, tmp_path / "analysis")
    return written


def test_a_table_that_is_its_cells_passes(tmp_path, cells):
    assert audit(tmp_path) == []


def test_a_time_edited_in_a_cell_fails(tmp_path, cells):
    cell = cells["timing"][0]
    text = cell.read_text()
    time = text.split('"decode_ns":')[2].split(",")[0]
    cell.write_text(text.replace(f'"decode_ns":{time}', f'"decode_ns":{int(time) + 1}', 1))
    assert audit(tmp_path) == [f"{tmp_path / 'timing' / 'runs.csv'} differs from its cells in decode_ns"]


def test_a_table_that_lacks_a_cell_fails(tmp_path, cells):
    collect(cells["timing"][:1], tmp_path / "timing" / "runs.csv")
    assert any("its cells" in fault for fault in audit(tmp_path))
