rule report:
    input:
        LAYOUT.files("report"),


rule render:
    input:
        templates=LAYOUT.templates(),
        results=LAYOUT.reported(),
    output:
        page=report(
            "results/report/index.html",
            caption="../captions/page.rst",
            category="Report",
        ),
        summary="results/report/report.md",
    log:
        "logs/report.log",
    benchmark:
        "logs/benchmarks/report.tsv"
    conda:
        "../envs/specdec.yaml"
    params:
        code=CODE["report"]["report"],
        values=as_json(report=config["report"]),
    shell:
        "specdec report --params {params.values:q} --results results --templates report "
        "--out {output.page} > {log} 2>&1"
