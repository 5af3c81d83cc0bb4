"""The pipeline's one table, and what keeps Snakemake and DVC in step.

Only Snakemake executes jobs; DVC records contents. Both are driven from ``table.PHASES``: the rules take
code hashes and file names from here, ``dvc.yaml`` is generated from it. Apart from the rooms that do the
work, because nothing here may import torch: every ``snakemake`` start runs it.
"""
