rule models:
    input:
        LAYOUT.files("models"),


rule fetch_model:
    input:
        base=lambda wildcards: LAYOUT.cards(LAYOUT.bases(wildcards.model)),
        files=lambda wildcards: LAYOUT.source_files(wildcards.model),
    output:
        "results/models/{model}/model.json",
    log:
        "logs/models/{model}.log",
    benchmark:
        "logs/benchmarks/models/{model}.tsv"
    conda:
        "../envs/specdec.yaml"
    resources:
        mem_mb=8000,
    params:
        code=CODE["models"]["fetch"],
        values=lambda wildcards: as_json(source=config["models"][wildcards.model]),
        base=lambda wildcards: [
            f"--base results/models/{base}" for base in LAYOUT.bases(wildcards.model)
        ],
    shell:
        "specdec fetch --name {wildcards.model} --params {params.values:q} {params.base} "
        "--out {output} > {log} 2>&1"
