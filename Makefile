# What people run here. `make reproduce` is the whole study from a fresh clone; the rest is upkeep.
PYTHON ?= python3
BIN := .venv/bin
STUDY ?=
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help venv reproduce smoke report remeasure test test-slurm test-remote lint generated docs plots rulegraph lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Set up once; afterwards pip runs only when the lock or pyproject.toml has changed.
venv:
	@if cat requirements.lock pyproject.toml | cmp -s - .venv/installed; then exit 0; fi; \
	$(PYTHON) -c 'import sys; v = sys.version_info; v[:2] == (3, 11) or sys.exit(f"specdec: Python 3.11 is needed and $(PYTHON) is {v[0]}.{v[1]}; run make with PYTHON=/path/to/python3.11")'; \
	test -x $(BIN)/python || $(PYTHON) -m venv .venv; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	{ command -v cc || command -v gcc || command -v clang; } >/dev/null || test -n "$${CC:-}" \
	|| $(BIN)/python -m pip install --quiet --disable-pip-version-check 'ziglang==0.17.1' \
	|| echo "specdec: no C compiler and no ziglang; the executor native will run as packed"; \
	cat requirements.lock pyproject.toml > .venv/installed

reproduce: venv  ## the whole study to results/report/index.html (STUDY=studies/x.yaml: another one)
	@$(BIN)/specdec validate $(or $(STUDY),params.yaml)
	@$(BIN)/snakemake --cores 1 $(if $(STUDY),--configfile $(STUDY) --replace-workflow-config)
	@echo "specdec: the report is results/report/index.html"
	@$(if $(STUDY),echo "specdec: results/ now holds $(STUDY); the study of params.yaml comes back with: .venv/bin/dvc checkout -f",true)

smoke:  ## the whole chain on tiny models, under two minutes
	@$(MAKE) --no-print-directory reproduce STUDY=studies/smoke.yaml

remeasure: venv  ## take this machine: describe it anew and measure everything again
	@rm -f results/environment/environment.json
	@$(MAKE) --no-print-directory reproduce

# The same program and the same bytes as the rule `render`, so Snakemake and DVC see no difference; starting
# them would take longer than the page.
report: venv  ## the page again, from the results at hand
	@$(BIN)/specdec report $(if $(STUDY),--study $(STUDY))
	@echo "specdec: the report is results/report/index.html"

test: venv  ## every test (two cores, no GPU, under ten minutes)
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& apt-get install --yes --quiet --no-install-recommends chromium >/dev/null 2>&1; } \
	|| echo "specdec: no chromium here; the browser's tests skip themselves"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup

# The extras come beside the lock: only clusters and remotes need them.
test-slurm: venv  ## a study through a real one-node SLURM (Debian, as root; ten minutes or more)
	@command -v slurmctld slurmd sbatch >/dev/null || { apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends slurmctld slurmd slurm-client; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock 'snakemake-executor-plugin-slurm>=2.8,<3'
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slurm tests/workflow/test_on_slurm.py

test-remote: venv  ## results over SSH to a real server on loopback (Debian, as root)
	@test -x /usr/sbin/sshd || { apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends openssh-server; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock 'dvc-ssh>=4.3,<5'
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m remote tests/workflow/test_remotes.py

lint: venv  ## format, style, types, workflow and generated files
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy
	@$(BIN)/snakefmt --check workflow && $(BIN)/snakemake --lint
	@$(BIN)/specdec schema --check && $(BIN)/python -m specdec.pipeline --check

generated: venv  ## dvc.yaml and the JSON schema, after a change of code or of the typed parameters
	@$(BIN)/specdec schema && $(BIN)/python -m specdec.pipeline

docs: venv  ## the documentation as a site in build/docs (warnings are errors, no network)
	@$(BIN)/python -m specdec.config.reference docs/params.md && $(BIN)/python -m specdec.records.reference docs/record-columns.md
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "specdec: the documentation is build/docs/index.html"

plots: venv  ## DVC's plots in build/plots/index.html, without a network
	@$(BIN)/python -m specdec.report.plots_template build/plots-template.html
	@$(BIN)/dvc plots show --html-template build/plots-template.html --out build/plots

rulegraph: venv  ## the picture of the rules in docs/images (needs graphviz's dot)
	@mkdir -p build && $(BIN)/snakemake --quiet all --rulegraph | dot -Tsvg | sed '/^<!-- Generated/,/-->$$/d' > build/rulegraph.svg
	@mv build/rulegraph.svg docs/images/rulegraph.svg

lock:  ## requirements.lock from the newest versions that pyproject.toml allows
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip install --quiet setuptools '.[dev]'
	@{ sed -n '/^#/p' requirements.lock; build/lock/bin/python -m pip freeze --all --exclude specdec --exclude pip | sed -E 's/\+[a-z0-9.]+$$//'; } > build/requirements.lock
	@mv build/requirements.lock requirements.lock

clean:  ## caches and logs; results, downloads and .venv stay
	@rm -rf build logs .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find specdec tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
