# Training drafters for the study's target, outside the study: no other rule asks for one. For example:
# snakemake --cores 2 results/drafters/feature_head/card.json
rule train_drafter:
    input:
        target="results/models/target/model.json",
        recipe="drafters/{drafter}/recipe.yaml",
    output:
        card="results/drafters/{drafter}/card.json",
        weights="results/drafters/{drafter}/model.safetensors",
    log:
        "logs/drafters/{drafter}.log",
    benchmark:
        "logs/benchmarks/drafters/{drafter}.tsv"
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        mem_mb=8000,
    shell:
        "specdec train-drafter {input.recipe} --target $(dirname {input.target}) --work results/drafters "
        "--out $(dirname {output.card}) --threads {threads} 2> {log}"
