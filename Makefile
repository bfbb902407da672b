# make demo    set up what is needed and run the main job on a simulated robot
# make test    set up what is needed and run all tests, on the built wheel and on the checkout
# make test-install   the wheel with its extras learn and view in an empty environment, and what they are for, once
# make check   linter, formatter and type checker
# make docs    the documentation as a site in out/site; a broken link is an error
# make setup   set up for development
# make genesis set up the second simulator, in an environment of its own
# make clean   remove everything that is made here

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-wheel test-install check docs setup genesis clean

# The first Python of at least 3.11 on the PATH; another one: make demo PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Compiled on first import: most files of the dependencies never are.
PIP_INSTALL := -m pip install --quiet --no-compile --constraint constraints.txt
SPECIFIED := pyproject.toml constraints.txt
# Two processes, one thread of linear algebra each.
THREADS := OPENBLAS_NUM_THREADS=1
PYTEST := -m pytest -n 2
# Genesis does not resolve beside mjlab; the player in its environment needs nothing of haloid.
GENESIS := genesis-world==1.4.5 torch==2.13.0 mujoco==3.11.0

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: .venv/.core-stamp
	@.venv/bin/haloid demo -o out/demo

test: .venv/.dev-stamp test-wheel
	@$(THREADS) .venv/bin/python $(PYTEST)

# From a folder without src/, so that the haloid that is tested can only be the wheel's; tests/conftest.py insists on it.
test-wheel: .venv/.dev-stamp .venv-wheel/.stamp
	@rm -rf dist
	@.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@.venv-wheel/bin/python -m pip install --quiet --force-reinstall --no-deps dist/haloid-*.whl
	@cd dist && $(THREADS) HALOID_TEST_WHEEL=1 ../.venv-wheel/bin/python $(PYTEST) -c ../pyproject.toml --rootdir .. \
		-p no:cacheprovider -m "not slow" ../tests

test-install: .venv/.dev-stamp
	@rm -rf .venv-install dist && $(call make-venv,.venv-install)
	@.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@.venv-install/bin/python $(PIP_INSTALL) "$$(echo $(CURDIR)/dist/haloid-*.whl)[learn,view]"
	@cd dist && ../.venv-install/bin/haloid doctor
	@cd dist && ../.venv-install/bin/haloid view squat --export squat.html
	@cd dist && ../.venv-install/bin/haloid train --motion squat --actions controller -o squat
	@cd dist && ../.venv-install/bin/haloid evaluate squat --starts 4

check: .venv/.dev-stamp
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright

docs: .venv/.dev-stamp
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet --strict

setup: .venv/.dev-stamp

genesis: .venv-genesis/.stamp

clean:
	rm -rf .venv .venv-wheel .venv-install .venv-genesis dist build out .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +

.venv/.core-stamp: $(SPECIFIED)
	@$(call make-venv,.venv)
	@echo "Installing haloid and its viewer into .venv"
	@.venv/bin/python $(PIP_INSTALL) --editable '.[view]'
	@touch $@

.venv/.dev-stamp: $(SPECIFIED)
	@$(call make-venv,.venv)
	@echo "Installing haloid and everything its tests need into .venv"
	@.venv/bin/python $(PIP_INSTALL) --editable '.[logs,search,sysid,learn,mjlab,cluster,mjx,view,docs,dev]'
	@touch .venv/.core-stamp $@

.venv-wheel/.stamp: $(SPECIFIED)
	@$(call make-venv,.venv-wheel)
	@echo "Installing haloid's core dependencies and pytest into .venv-wheel"
	@.venv-wheel/bin/python $(PIP_INSTALL) . pytest pytest-xdist hypothesis
	@touch $@

.venv-genesis/.stamp: Makefile
	@$(call make-venv,.venv-genesis)
	@echo "Installing Genesis into .venv-genesis, which takes some minutes"
	@.venv-genesis/bin/python -m pip install --quiet --no-compile $(GENESIS)
	@touch $@

# A virtual environment that works is kept; one whose Python is gone is made anew.
define make-venv
if [ -z "$(PYTHON)" ]; then \
	echo "haloid needs Python 3.11 or newer; found: $$(python3 --version 2>&1 || true)." >&2; \
	echo "Install Python 3.11, or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; \
	exit 1; \
fi; \
$(1)/bin/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(1)
endef
