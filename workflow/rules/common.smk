import json
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

sys.path.insert(0, str(Path(workflow.basedir).parent))

from specdec import SpecdecError
from specdec.config import parse_study
from specdec.pipeline.code_hash import code_hashes
from specdec.pipeline.environment_path import use_this_environment
from specdec.pipeline.layout import GATES, Layout
from specdec.pipeline.progress import plan
from specdec.pipeline.record import begin, forget, record, unrecorded
from specdec.pipeline.settings import phase_settings
from specdec.pipeline.table import PHASES

use_this_environment()

try:
    LAYOUT = Layout(parse_study(config, ", ".join(map(str, workflow.configfiles))))
except SpecdecError as error:
    raise WorkflowError(f"specdec: {error}")

validate(config, "../schemas/params.schema.json", set_default=False)

CODE = code_hashes()


wildcard_constraints:
    model="[a-z][a-z0-9_]*",
    context="[0-9]+",
    family="[a-z][a-z0-9_]*",
    gate="|".join(GATES),
    phase="|".join(PHASES),
    mechanism="[a-z][a-z0-9_]*",


def gates_passed(wildcards):
    """The judgement over the gates, for steps that may only run behind it.

    It must be there (a checkpoint: what depends on it is decided again once it is), but what it says changes
    no time (`ancient`): gates that pass again measure nothing again.
    """
    return ancient(checkpoints.require_gates.get().output[0])


def frozen_design(wildcards):
    """The frozen design, for its cells: another family or plan of analysis measures no cell again."""
    return ancient(checkpoints.freeze_design.get().output[0])


def as_json(**values):
    """One stable string: what a job is given, and what Snakemake compares between runs."""
    return json.dumps(values, sort_keys=True)


def settings(phase, **own):
    """Parameters of a measuring phase, as its jobs get them."""
    return as_json(**phase_settings(config, phase, **own))


def ladder_settings(**own):
    """Parameters of the ladder's cells; which cells there are is no parameter of a cell."""
    kept = {
        key: value
        for key, value in config["mechanisms"]["ladder"].items()
        if key not in ("contexts", "families")
    }
    return as_json(engine=config["engine"], ladder={**kept, **own})


def apart_settings(mechanism):
    """Parameters of a mechanism that is measured by itself."""
    section = config["mechanisms"]
    return as_json(
        engine=config["engine"], ladder=section["ladder"], own=section[mechanism]
    )
