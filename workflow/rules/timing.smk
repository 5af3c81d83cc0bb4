rule timing:
    input:
        LAYOUT.files("timing"),


# Written before the first timed visit.
checkpoint freeze_design:
    input:
        cards=LAYOUT.cards(LAYOUT.models_timed("timing")),
        held_out="results/prompts/held_out.jsonl",
        gates=gates_passed,
        settings="results/timing/settings.json",
        # the file given by --configfile stands first, the workflow's own params.yaml last
        study=ancient(str(workflow.configfiles[0])),
    output:
        "results/timing/design.json",
    log:
        "logs/timing/design.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["timing"]["freeze"],
        values=settings("timing"),
    shell:
        "specdec freeze --params {params.values:q} --study {input.study} --models results/models "
        "--held-out {input.held_out} --out {output} > {log} 2>&1"


# All cores and the one bench: nothing else runs beside a measurement. No `benchmark:` here, since
# Snakemake would sample the process while it is being timed; the cell holds its own times.
rule timing_cell:
    input:
        environment="results/environment/environment.json",
        cards=LAYOUT.cards(LAYOUT.models_timed("timing")),
        prompt="results/prompts/cells/{context}/{family}.jsonl",
        gates=gates_passed,
        settings="results/timing/settings.json",
        design=frozen_design,
    output:
        "results/timing/cells/{context}/{family}.jsonl",
    log:
        "logs/timing/{context}/{family}.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        bench=1,
        gpu=LAYOUT.n_gpus(),
        mem_mb=12000,
    params:
        code=CODE["timing"]["time_cell"],
        values=settings("timing"),
    shell:
        "specdec progress {output} ; "
        "specdec time-cell --phase timing --context {wildcards.context} --family {wildcards.family} "
        "--params {params.values:q} --environment {input.environment} --models results/models "
        "--prompts {input.prompt} --design {input.design} --out {output} > {log} 2>&1"


rule step_costs:
    input:
        environment="results/environment/environment.json",
        cards=LAYOUT.cards(LAYOUT.models_timed("timing")),
        gates=gates_passed,
        settings="results/timing/settings.json",
    output:
        "results/timing/step_costs.json",
    log:
        "logs/timing/step_costs.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        bench=1,
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=CODE["timing"]["step_costs"],
        contexts=sorted(config["prompts"]["contexts"]),
        values=settings("timing"),
    shell:
        "specdec step-costs --params {params.values:q} --contexts {params.contexts} "
        "--environment {input.environment} --models results/models --out {output} > {log} 2>&1"


# After the timing, and with all cores, so that its forwards never run beside a measurement.
rule divergences:
    input:
        cells=LAYOUT.cells("timing"),
        cards=LAYOUT.cards(["target"]),
        held_out="results/prompts/held_out.jsonl",
    output:
        "results/timing/divergences.json",
    log:
        "logs/timing/divergences.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        bench=1,
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=CODE["timing"]["divergences"],
        values=as_json(
            engine=config["engine"], tie_ulps=config["gates"]["bf16"]["tie_ulps"]
        ),
    shell:
        "specdec divergences --params {params.values:q} --models results/models "
        "--held-out {input.held_out} --out {output} {input.cells} > {log} 2>&1"


rule collect_timing:
    input:
        LAYOUT.cells("timing"),
    output:
        report(
            "results/timing/runs.csv",
            caption="../captions/runs.rst",
            category="Measurements",
        ),
    log:
        "logs/timing/collect.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["timing"]["collect"],
    shell:
        "specdec collect --out {output} {input} > {log} 2>&1"
