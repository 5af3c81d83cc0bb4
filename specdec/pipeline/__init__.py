"""The pipeline's one table, and what keeps Snakemake and DVC in step.

Only Snakemake executes jobs; DVC records contents. Both are driven from ``table.PHASES``: the rules take
code hashes and file names from here, ``dvc.yaml`` is generated from it. Apart from the rooms that do the
work, because nothing here may import torch: every ``snakemake`` start runs it.
"""

from specdec.pipeline.code_hash import code_hashes
from specdec.pipeline.environment_path import use_this_environment
from specdec.pipeline.layout import GATES, Layout
from specdec.pipeline.progress import plan
from specdec.pipeline.record import record
from specdec.pipeline.table import PHASES

__all__ = ["GATES", "PHASES", "Layout", "code_hashes", "plan", "record", "use_this_environment"]
