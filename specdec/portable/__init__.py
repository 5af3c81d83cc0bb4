"""The pipeline's measurements on a machine that has only this checkout and torch: no Snakemake, DVC or network."""
