# Every target does its own set-up and can be repeated.
.DEFAULT_GOAL := help
.PHONY: help setup install demo test bbr3-peer check fix count bench torture studies figures docs clean dist machine

PYTHON   := python3
BIN      := .venv/bin
FAIRC    := $(BIN)/fairc
VENV     := .venv/.installed
DEVELOPER := .venv/.developer
# Packages of their own that add words to fairc; one of them needs SciPy, so who only wants a demo does without.
PLUGINS  := $(patsubst %/,%,$(wildcard plugins/*/))
# The triple that cargo builds for; endpoints/.cargo/config.toml says why it is named.
export CARGO_BUILD_TARGET := $(shell uname -m)-unknown-linux-gnu
ENDPOINT := endpoints/target/$(CARGO_BUILD_TARGET)/release/fairc-endpoints
RUST     := $(shell find endpoints -name target -prune -o -type f -print 2>/dev/null)

# Hundreds of tests start a process that imports all of fairc: its bytecode is kept, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

help: ## what each target does
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

# In addition to what `uml` needs: the images of the other engines. `make setup IMAGES="--engine vm"` leaves out the one with
# Chromium: a minute and 1.4 GB, for page loads only.
IMAGES := --engine vm --browser

setup: ## install everything: Debian packages, .venv, endpoints, images, the kernel of `uml`
	@scripts/setup all
	@$(MAKE) --no-print-directory -j3 machine $(ENDPOINT) $(DEVELOPER)
	@$(FAIRC) image build $(IMAGES)

# What a user of the engine `uml` needs and no more: no tools for development, no Chromium, Docker or QEMU. The kernel is
# the longest of it, so it begins first, and the rest is set up beside it.
install: ## set up the engine `uml`, and nothing for development
	@scripts/setup machine
	@$(MAKE) --no-print-directory -j3 machine $(ENDPOINT) $(VENV)

demo: install ## the same, then run examples/quickstart.fexp and say where its report is
	@$(FAIRC) run examples/quickstart.fexp

test: setup check ## every check and every test
	cd endpoints && cargo test --release --quiet
	$(BIN)/python -m pytest -n 2 --durations=25

bbr3-peer: ## bbr3 beside another implementation, with the same acknowledgements and losses
	cd endpoints/bbr3-peer && CARGO_TARGET_DIR=../target cargo test --release --locked --quiet bbr3::peer

check: $(DEVELOPER) ## format, lint, types, layers: changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	cd endpoints && cargo fmt --check && cargo clippy --release --all-targets --quiet -- -D warnings

fix: $(DEVELOPER) ## format, and mend what the linters can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd endpoints && cargo fmt

count: ## the size of the code now and then: imports in functions, caches, lines
	@$(PYTHON) scripts/count.py

bench: setup ## measure this machine: speed, fixed cost, compile time, start-up time
	cd scripts && ../$(BIN)/python -m bench

MINUTES := 30
SEED    := 15
ONLY    :=
NUMBER  :=
torture: setup ## faults of every kind for MINUTES=30, on record in docs/trust/reliability.md; goes on where it stopped
	@cd tests/support && ../../$(BIN)/python -m torture --minutes $(MINUTES) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) $(if $(NUMBER),--number $(NUMBER))

NAMES :=
studies: setup ## run the published studies whole (hours; goes on where it stopped), or NAMES="fmp conex"; writes their pages
	@cd scripts && ../$(BIN)/python -m studies $(NAMES)

figures: install $(DEVELOPER) ## run one cell on `uml` and draw the figures of the words of links anew
	@cd scripts && ../$(BIN)/python -m figures

docs: $(DEVELOPER) ## write the generated parts of docs/ anew
	$(BIN)/python -m fairc.runtime.documents docs
	$(BIN)/python -m pytest --quiet --update tests/dsl tests/compiler

clean: ## remove what was built in this folder (not results/, no image, no kernel)
	rm -rf .venv build dist *.egg-info endpoints/target .mypy_cache .ruff_cache .pytest_cache .hypothesis

OUT := dist
MIRROR :=
dist: install $(DEVELOPER) ## write wheels and the sources of a release into dist/, from a tree without changes
	@cd scripts && ../$(BIN)/python -m dist ../$(OUT) $(MIRROR:%=--mirror %)

machine: .venv/.first
	@$(BIN)/python -m fairc image build

# Installs the Python packages of some lists; the second argument is what the bar is called.
packages = @scripts/progress "$2" --of "$$(cat $1 | grep -c ==)" '^(?:Collecting|Requirement already)' \
	$(BIN)/pip install --require-hashes --no-deps $(patsubst %,-r %,$1)
# With the few packages that build the kernel and the image, so that this need not wait for the large ones.
FIRST := annotated-types backports.zstd click jinja2 markupsafe pydantic pydantic-core typing-extensions typing-inspection
.venv/.first: requirements.lock
	@scripts/setup machine
	$(PYTHON) -m venv .venv
	@awk -v first=" $(FIRST) " '/^[a-z]/ { split($$0, name, "=="); wanted = index(first, " " name[1] " ") } wanted' \
		requirements.lock > .venv/first.lock
	$(call packages,.venv/first.lock,first packages)
	@touch $@

# A stamp, so that nothing is installed twice. `pip install .` would copy; -e lets edits work at once.
$(VENV): .venv/.first requirements.lock setup.cfg
	$(call packages,requirements.lock,Python packages)
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(DEVELOPER): $(VENV) requirements-dev.lock $(PLUGINS:%=%/pyproject.toml)
	$(call packages,requirements.lock requirements-dev.lock,development tools)
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation $(PLUGINS:%=-e ./%)
	@touch $@

$(ENDPOINT): $(RUST)
	@scripts/setup endpoints
	@# Not with the job server of -j3, to which make gives a program no access unless it is a make.
	@cd endpoints && MAKEFLAGS= CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=80 \
		../scripts/progress endpoints '(\d+)/(\d+)' cargo build --release --locked
	@sha256sum < $@ | cut -c 1-64 > $@.sha256
