rule gates:
    input:
        LAYOUT.files("gates"),


rule run_gate:
    input:
        cards=LAYOUT.cards(),
        prompts="results/prompts/development.jsonl",
    output:
        f"results/gates/{{gate,{'|'.join(GATES)}}}.json",
    log:
        "logs/gates/{gate}.log",
    benchmark:
        "logs/benchmarks/gates/{gate}.tsv"
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        gpu=LAYOUT.n_gpus(),
        mem_mb=8000,
    params:
        code=CODE["gates"]["gate"],
        values=as_json(engine=config["engine"], gates=config["gates"]),
    shell:
        "specdec gate --gate {wildcards.gate} --params {params.values:q} --models results/models "
        "--prompts {input.prompts} --out {output} > {log} 2>&1"


# Nothing is timed behind a failed gate: observations, sweep and timing need this (`gates_passed`).
checkpoint require_gates:
    input:
        expand("results/gates/{gate}.json", gate=GATES),
    output:
        "results/gates/passed.json",
    log:
        "logs/gates/require.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["gates"]["gate"],
    shell:
        "specdec require-gates --out {output} {input} > {log} 2>&1"
