rule prompts:
    input:
        LAYOUT.files("prompts"),


rule build_prompts:
    input:
        card="results/models/target/model.json",
        own=LAYOUT.prompt_sources(),
    output:
        development="results/prompts/development.jsonl",
        held_out="results/prompts/held_out.jsonl",
    log:
        "logs/prompts/build.log",
    benchmark:
        "logs/benchmarks/prompts.tsv"
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["prompts"]["prompts"],
        values=as_json(seed=config["seed"], prompts=config["prompts"]),
    shell:
        "specdec prompts --params {params.values:q} --model results/models/target "
        "--development {output.development} --held-out {output.held_out} > {log} 2>&1"


rule split_prompts:
    input:
        "results/prompts/development.jsonl",
        "results/prompts/held_out.jsonl",
    output:
        LAYOUT.cells("prompts"),
    log:
        "logs/prompts/split.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["prompts"]["split_prompts"],
    shell:
        "specdec split-prompts --splits {input} -- {output} > {log} 2>&1"
