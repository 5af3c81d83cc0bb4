rule prompts:
    input:
        LAYOUT.files("prompts"),


# One job and one file per prompt, so that another family or context measures nobody else again.
rule build_prompt:
    input:
        card="results/models/target/model.json",
        own=LAYOUT.prompt_sources(),
    output:
        "results/prompts/cells/{context}/{family}.jsonl",
    log:
        "logs/prompts/{context}/{family}.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["prompts"]["prompts"],
        split=lambda wildcards: LAYOUT.split(wildcards.family),
        values=as_json(seed=config["seed"], source=config["prompts"]["source"]),
    shell:
        "specdec prompts --params {params.values:q} --model results/models/target --split {params.split} "
        "--context {wildcards.context} --family {wildcards.family} --out {output} > {log} 2>&1"


rule join_split:
    input:
        lambda wildcards: LAYOUT.prompt_cells(wildcards.split),
    output:
        "results/prompts/{split,development|held_out}.jsonl",
    log:
        "logs/prompts/{split}.log",
    conda:
        "../envs/specdec.yaml"
    shell:
        "cat {input} > {output}.part 2> {log} && mv {output}.part {output}"
