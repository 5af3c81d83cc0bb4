rule analysis:
    input:
        LAYOUT.files("analysis"),


rule analyse:
    input:
        sweep="results/sweep/runs.csv",
        timing="results/timing/runs.csv",
        step_costs="results/timing/step_costs.json",
        design="results/timing/design.json",
        observations="results/observations/observations.parquet",
    output:
        report(
            LAYOUT.outputs("analysis"),
            caption="../captions/analysis.rst",
            category="Conclusions",
        ),
    log:
        "logs/analysis.log",
    benchmark:
        "logs/benchmarks/analysis.tsv"
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["analysis"]["analyse"],
        values=as_json(
            analysis=config["analysis"],
            arms=config["sweep"]["arms"],
            drafter=config["observations"]["drafter"],
        ),
    shell:
        "specdec analyse --params {params.values:q} --sweep {input.sweep} --timing {input.timing} "
        "--step-costs {input.step_costs} --design {input.design} --observations {input.observations} "
        "--out-dir results/analysis > {log} 2>&1"
