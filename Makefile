# Every target does its own set-up and can be repeated.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix bench fuzz torture studies docs clean images packages

PYTHON   := python3
BIN      := .venv/bin
FAIRC    := $(BIN)/fairc
VENV     := .venv/.installed
# The triple that cargo builds for; endpoints/.cargo/config.toml says why it is named.
export CARGO_BUILD_TARGET := $(shell uname -m)-unknown-linux-gnu
ENDPOINT := endpoints/target/$(CARGO_BUILD_TARGET)/release/fairc-endpoints
RUST     := $(shell find endpoints -name target -prune -o -type f -print 2>/dev/null)

help: ## what each target does
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

# In addition to the plain image and the kernel of `uml`. `make setup IMAGES=` leaves out the one with Chromium: a
# minute and 1.4 GB, for page loads only.
IMAGES := --browser
# Which Debian packages: `all`, or what the engine `uml` needs (`fast`).
PACKAGES := all

setup: packages ## install everything: Debian packages, .venv, endpoints, images, the kernel of `uml`
	@$(MAKE) --no-print-directory -j3 images $(ENDPOINT)

# What the engine `uml` needs and no more: no Chromium, Docker or QEMU.
demo: ## set up the engine `uml`, run examples/quickstart.fexp and say where its report is
	@$(MAKE) --no-print-directory PACKAGES=fast IMAGES= setup
	@$(FAIRC) run examples/quickstart.fexp

test: setup check ## every check and every test
	cd endpoints && cargo test --release --quiet
	$(BIN)/python -m pytest -n 2

check: $(VENV) ## format, lint, types, layers: changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	cd endpoints && cargo fmt --check && cargo clippy --release --all-targets --quiet -- -D warnings

fix: $(VENV) ## format, and mend what the linters can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd endpoints && cargo fmt

bench: setup ## measure this machine: speed, fixed cost, compile time, start-up time
	cd scripts && ../$(BIN)/python -m bench

fuzz: $(VENV) ## 21,000 broken files: diagnostics, no traceback, no hang
	$(BIN)/python tests/support/fuzzing.py

MINUTES := 30
SEED    := 15
ONLY    :=
NUMBER  :=
torture: setup ## faults of every kind for MINUTES=30, on record in docs/reliability.md; goes on where it stopped
	@cd tests/support && ../../$(BIN)/python -m torture --minutes $(MINUTES) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) $(if $(NUMBER),--number $(NUMBER))

NAMES :=
studies: setup ## run the published studies whole (hours; goes on where it stopped), or NAMES="fmp conex"; writes their pages
	@cd scripts && ../$(BIN)/python -m studies $(NAMES)

docs: $(VENV) ## write the generated parts of docs/ anew
	$(BIN)/python -m fairc.runtime.documents docs
	$(BIN)/python -m pytest --quiet --update tests/dsl tests/compiler

clean: ## remove what was built in this folder (not results/, no image, no kernel)
	rm -rf .venv build dist *.egg-info endpoints/target .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Side by side with the endpoints: much of it waits for downloads.
images: $(VENV)
	@$(FAIRC) image build $(IMAGES)

packages:
	@scripts/setup $(PACKAGES)

# A stamp, so that nothing is installed twice. `pip install .` would copy; -e lets edits work at once.
$(VENV): requirements.lock setup.cfg | packages
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(ENDPOINT): $(RUST) | packages
	@# Not with the job server of -j3, to which make gives a program no access unless it is a make.
	cd endpoints && MAKEFLAGS= cargo build --release --locked --quiet
	@sha256sum < $@ | cut -c 1-64 > $@.sha256
