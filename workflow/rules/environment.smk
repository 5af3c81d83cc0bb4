rule environment:
    input:
        LAYOUT.files("environment"),


# Made once: results belong to the machine that it describes (`make remeasure` takes the present one). Cores and GPU as
# for a timed job, so that on a cluster it sees what they will see.
rule describe_machine:
    output:
        "results/environment/environment.json",
    log:
        "logs/environment.log",
    conda:
        "../envs/specdec.yaml"
    threads: workflow.cores
    resources:
        gpu=LAYOUT.n_gpus(),
    params:
        code=CODE["environment"]["environment"],
    shell:
        "specdec environment --out {output} > {log} 2>&1"
