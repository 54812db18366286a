# Every target sets up what it needs: Python 3.11 or newer, make and a package index are enough.
# Another Python: make PYTHON=python3.12 test. If uv is on the PATH it is used instead of venv and pip.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
UV_PYTHON := $(if $(filter file,$(origin PYTHON)),>=3.11,$(PYTHON))
SHARED_DATA ?= ../shared/data

VENV := .venv
BENCH_VENV := .venv-bench
DOCS_VENV := .venv-docs
SPARK_VENV := .venv-spark
OLD_SPARK_VENV := .venv-spark35
LOWEST_VENV := .venv-lowest
PACKAGE_VENV := .venv-package

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow test-spark test-package test-lowest package sbom licences lint types bench experiments docs clean clean-all

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.plain ## Do the main job on the bundled Adult table; files go to demo/
	@$(VENV)/bin/python examples/demo.py

test: $(VENV)/.test ## Run the tests and the doctests, less those marked slow
	$(VENV)/bin/python -m pytest -m "not slow" -n auto

test-slow: $(VENV)/.test ## Run the tests marked slow
	@$(VENV)/bin/python -m pytest -m slow -n auto || { \
	  status=$$?; \
	  if [ $$status -eq 5 ]; then echo "There are no slow tests."; else exit $$status; fi; }

test-spark: ## Run the tests of the Spark engine, on Spark 4 and 3.5; skipped without Java
	@if ! command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" >/dev/null 2>&1; then \
	  echo "Skipped: Spark needs Java, and there is none here. Install a JRE (Debian and Ubuntu: default-jre-headless)."; \
	else \
	  $(MAKE) --no-print-directory $(SPARK_VENV)/.spark $(OLD_SPARK_VENV)/.spark && \
	  $(SPARK_VENV)/bin/python -m pytest tests/spark tests/workflows/test_on_spark.py tests/workflows/test_engines.py tests/workflows/test_engines_agree.py tests/cli/test_on_spark.py -m spark && \
	  $(OLD_SPARK_VENV)/bin/python -m pytest tests/spark tests/workflows/test_on_spark.py -m "spark and not slow"; \
	fi

test-package: $(VENV)/.plain ## Build the package and install it in clean environments, oldest and newest Python, also without an index
	$(VENV)/bin/python packaging/try_package.py

test-lowest: $(LOWEST_VENV)/.lowest ## Run a part of the tests with the lowest versions that pyproject.toml allows
	$(LOWEST_VENV)/bin/python -m pytest -q -m "not slow" tests/_base/test_compiled.py tests/cli/test_options.py tests/counts/test_counter.py \
	  tests/cli/test_synth.py tests/cli/test_app.py tests/table/test_types.py tests/utility/test_tvd.py tests/risk/attribution/test_cap.py

package: $(PACKAGE_VENV)/.package ## Build the sdist and the wheel into dist/
	$(PACKAGE_VENV)/bin/python -m hatchling build

sbom: $(VENV)/.plain ## Write the bill of materials of the core to dist/sbom.json
	@mkdir -p dist
	$(VENV)/bin/python packaging/sbom.py -o dist/sbom.json

licences: $(VENV)/.test ## Write docs/reference/licences.md anew
	$(VENV)/bin/python packaging/licences.py

lint: $(VENV)/.test ## Check the style with ruff
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check --quiet .

types: $(VENV)/.test ## Check the types with mypy
	$(VENV)/bin/mypy

bench: $(BENCH_VENV)/.bench ## Run the benchmarks that benchmarks/README.md names
	@found=no; \
	for script in benchmarks/*.py; do \
	  name=$$(basename "$$script" .py); \
	  if [ -f "$$script" ] && grep -qs "$$name.py" benchmarks/README.md; then \
	    found=yes; echo "== $$script"; $(BENCH_VENV)/bin/python -m "benchmarks.$$name" || exit 1; \
	  fi; \
	done; \
	if [ $$found = no ]; then echo "benchmarks/README.md names no script of benchmarks/: nothing to run."; fi

experiments: $(VENV)/.plain ## Rerun the tables of the papers and the other studies; say which are not run
	@SHARED_DATA="$(SHARED_DATA)" $(VENV)/bin/python -m experiments

docs: $(DOCS_VENV)/.docs ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict
	@echo "Open site/index.html."

clean: ## Remove what was built, and caches; environments stay
	rm -rf demo site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@for folder in src tests examples benchmarks experiments; do \
	  if [ -d $$folder ]; then find $$folder -type d -name __pycache__ -prune -exec rm -rf {} +; fi; \
	done

clean-all: clean ## Remove the environments too
	rm -rf $(VENV) $(BENCH_VENV) $(DOCS_VENV) $(SPARK_VENV) $(OLD_SPARK_VENV) $(LOWEST_VENV) $(PACKAGE_VENV)

# A stamp in the environment says that its packages were installed from this pyproject.toml.
# $(call environment,ENVIRONMENT)  $(call packages,ENVIRONMENT) REQUIREMENTS  $(call install,ENVIRONMENT,REQUIREMENT)
ifdef UV
environment = @$(1)/bin/python -c "" 2>/dev/null || { rm -rf $(1); uv venv --quiet --python "$(UV_PYTHON)" $(1); }
packages = uv pip install --quiet --python $(1)/bin/python
else
environment = @$(1)/bin/python -c "import pip" 2>/dev/null || { $(CHECK_PYTHON); $(PYTHON) -m venv --clear $(1); }
packages = $(1)/bin/python -m pip install --quiet --disable-pip-version-check
endif

define install
$(call environment,$(1))
$(call packages,$(1)) -e '$(2)'
endef

define CHECK_PYTHON
command -v $(PYTHON) >/dev/null 2>&1 || { \
  echo "There is no '$(PYTHON)' here. Chaffinch needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }; \
$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
  echo "Chaffinch needs Python 3.11 or newer. '$(PYTHON)' is $$($(PYTHON) -V 2>&1)." >&2; \
  echo "Name another: make PYTHON=python3.11 ..." >&2; exit 1; }; \
$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || { \
  echo "'$(PYTHON)' has no venv module. Install it (Debian and Ubuntu: python3-venv), or install uv." >&2; exit 1; }
endef

$(VENV)/.plain: pyproject.toml
	$(call install,$(VENV),.)
	@touch $@

$(VENV)/.test: pyproject.toml
	$(call install,$(VENV),.[test])
	@touch $@ $(VENV)/.plain

$(BENCH_VENV)/.bench: pyproject.toml
	$(call install,$(BENCH_VENV),.[bench])
	@touch $@

$(SPARK_VENV)/.spark: pyproject.toml
	$(call install,$(SPARK_VENV),.[test-spark])
	@touch $@

# Spark 3.5 knows pandas 2 and no newer one, and comes as source whose build asks for pkg_resources, which setuptools had until 81.
$(OLD_SPARK_VENV)/.spark: pyproject.toml
	$(call environment,$(OLD_SPARK_VENV))
	$(call packages,$(OLD_SPARK_VENV)) 'setuptools<81' wheel
	$(call packages,$(OLD_SPARK_VENV)) --no-build-isolation 'pyspark[connect]<4' 'pandas<3'
	$(call packages,$(OLD_SPARK_VENV)) -e '.[private]' pytest pytest-xdist hypothesis
	@touch $@

# Wheels only: the lowest versions of compiled packages are old, and no compiler should be asked for them.
$(LOWEST_VENV)/.lowest: pyproject.toml packaging/bounds.py
	@$(LOWEST_VENV)/bin/python -c "" 2>/dev/null || { $(CHECK_PYTHON); $(PYTHON) -m venv --clear $(LOWEST_VENV); }
	$(PYTHON) packaging/bounds.py pandas > $(LOWEST_VENV)/lowest.txt
	$(LOWEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary chaffinch \
	  --constraint $(LOWEST_VENV)/lowest.txt -e '.[pandas]' pytest hypothesis
	@touch $@

$(PACKAGE_VENV)/.package: pyproject.toml
	@$(CHECK_PYTHON); $(PYTHON) -m venv --clear $(PACKAGE_VENV)
	$(PACKAGE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'hatchling>=1.24'
	@touch $@

$(DOCS_VENV)/.docs: pyproject.toml
	$(call install,$(DOCS_VENV),.[docs])
	@touch $@
