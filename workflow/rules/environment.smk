rule environment:
    input:
        LAYOUT.files("environment"),


# Made once: results belong to the machine that it describes (`make remeasure` takes the present one).
rule describe_machine:
    output:
        "results/environment/environment.json",
    log:
        "logs/environment.log",
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["environment"]["environment"],
    shell:
        "specdec environment --out {output} > {log} 2>&1"
