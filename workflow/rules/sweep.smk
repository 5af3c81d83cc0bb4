rule sweep:
    input:
        LAYOUT.files("sweep"),


# All cores and the one bench: nothing else runs beside a measurement. No `benchmark:` here, since
# Snakemake would sample the process while it is being timed; the cell holds its own times.
rule sweep_cell:
    input:
        environment="results/environment/environment.json",
        cards=LAYOUT.cards(LAYOUT.models_timed("sweep")),
        prompt=f"results/prompts/cells/{config['sweep']['context']}/{{family}}.jsonl",
        gates=gates_passed,
        settings="results/sweep/settings.json",
    output:
        "results/sweep/cells/{family}.jsonl",
    log:
        "logs/sweep/{family}.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        bench=1,
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=CODE["sweep"]["time_cell"],
        context=config["sweep"]["context"],
        # the cell's own family alone, so that a new one re-measures nobody else
        values=lambda wildcards: settings("sweep", families=[wildcards.family]),
    shell:
        "specdec progress {output} ; "
        "specdec time-cell --phase sweep --context {params.context} --family {wildcards.family} "
        "--params {params.values:q} --environment {input.environment} --models results/models "
        "--prompts {input.prompt} --out {output} > {log} 2>&1"


rule collect_sweep:
    input:
        LAYOUT.cells("sweep"),
    output:
        report(
            "results/sweep/runs.csv",
            caption="../captions/runs.rst",
            category="Measurements",
        ),
    log:
        "logs/sweep/collect.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["sweep"]["collect"],
    shell:
        "specdec collect --out {output} {input} > {log} 2>&1"
