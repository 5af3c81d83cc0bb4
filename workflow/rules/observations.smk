rule observations:
    input:
        LAYOUT.files("observations"),


rule observe:
    input:
        cards=LAYOUT.cards(LAYOUT.models_observed()),
        prompts="results/prompts/development.jsonl",
        gates=gates_passed,
        settings="results/observations/settings.json",
    output:
        table="results/observations/observations.parquet",
        summary="results/observations/summary.json",
    log:
        "logs/observations.log",
    benchmark:
        "logs/benchmarks/observations.tsv"
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=CODE["observations"]["observe"],
        values=settings("observations"),
    shell:
        "specdec observe --params {params.values:q} --models results/models --prompts {input.prompts} "
        "--out {output.table} --summary {output.summary} > {log} 2>&1"
