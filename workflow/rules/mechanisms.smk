rule mechanisms:
    input:
        LAYOUT.files("mechanisms"),


# As `settings` of the other phases, one file for the ladder and one for each mechanism apart.
rule mechanism_settings:
    output:
        "results/mechanisms/settings/{mechanism}.json",
    log:
        "logs/mechanisms/settings/{mechanism}.log",
    conda:
        "../envs/specdec.yaml"
    params:
        values=lambda wildcards: (
            ladder_settings()
            if wildcards.mechanism == "ladder"
            else apart_settings(wildcards.mechanism)
        ),
    shell:
        "printf '%s\\n' {params.values:q} > {output}.part 2> {log} && mv {output}.part {output}"


# All cores and the one bench: nothing else runs beside a measurement.
rule ladder_cell:
    input:
        environment="results/environment/environment.json",
        cards=LAYOUT.cards(LAYOUT.models_timed("mechanisms")),
        prompt="results/prompts/cells/{context}/{family}.jsonl",
        gates=gates_passed,
        settings="results/mechanisms/settings/ladder.json",
    output:
        cell="results/mechanisms/cells/{context}/{family}.jsonl",
        texts="results/mechanisms/texts/{context}/{family}.json",
    log:
        "logs/mechanisms/{context}/{family}.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        bench=1,
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=CODE["mechanisms"]["ladder"],
        # the cell's own place alone, so that a new one re-measures nobody else
        values=lambda wildcards: ladder_settings(
            contexts=[int(wildcards.context)], families=[wildcards.family]
        ),
    shell:
        "specdec progress {output.cell} ; "
        "specdec ladder-cell --context {wildcards.context} --family {wildcards.family} "
        "--params {params.values:q} --environment {input.environment} --models results/models "
        "--prompts {input.prompt} --out {output.cell} --texts {output.texts} > {log} 2>&1"


rule mechanism:
    input:
        environment="results/environment/environment.json",
        cards=LAYOUT.cards(LAYOUT.models_timed("mechanisms")),
        prompts="results/prompts/development.jsonl",
        gates=gates_passed,
        settings="results/mechanisms/settings/{mechanism}.json",
    output:
        "results/mechanisms/measured/{mechanism}.json",
    log:
        "logs/mechanisms/{mechanism}.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        bench=1,
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=lambda wildcards: CODE["mechanisms"][wildcards.mechanism],
        values=lambda wildcards: apart_settings(wildcards.mechanism),
    shell:
        "specdec mechanism --name {wildcards.mechanism} --params {params.values:q} "
        "--environment {input.environment} --models results/models --prompts {input.prompts} "
        "--out {output} > {log} 2>&1"


rule mechanism_figures:
    input:
        observations="results/observations/observations.parquet",
        cells=LAYOUT.cells("mechanisms"),
        texts=LAYOUT.ladder_texts(),
        measured=LAYOUT.measured_apart(),
    output:
        LAYOUT.figures(),
    log:
        "logs/mechanisms/figures.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["mechanisms"]["figures"],
        values=as_json(analysis=config["analysis"], mechanisms=config["mechanisms"]),
    shell:
        "specdec mechanism-figures --params {params.values:q} --observations {input.observations} "
        "--cells {input.cells} --texts {input.texts} --measured {input.measured} "
        "--out-dir results/mechanisms > {log} 2>&1"
