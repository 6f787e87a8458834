# Every target does its own set-up and can be repeated.
.DEFAULT_GOAL := help
.PHONY: help setup setup-all install demo test test-all test-rest bbr3-peer check fix count cost mutants bench torture studies figures site vsix docs clean wheels dist release machine

PYTHON   := python3
BIN      := .venv/bin
FAIRC    := $(BIN)/fairc
VENV     := .venv/.installed
DEVELOPER := .venv/.developer
REST     := .venv/.rest
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

setup: install $(DEVELOPER) ## install what `make test` needs: the engine `uml` and development tools

# The images of the other engines: 1.4 GB, most of it Chromium. Debian's packages for them: QEMU, Docker, Mininet, LaTeX.
setup-all: ## install what `make test-all` needs, too: all engines, Chromium, Docker, LaTeX
	@scripts/setup all
	@$(MAKE) --no-print-directory setup $(REST)
	@$(FAIRC) image build --engine vm --browser

# What a user of the engine `uml` needs and no more: no tools for development, no Chromium, Docker or QEMU. The kernel is
# the longest of it, so it begins first, and the rest is set up beside it.
install: ## set up the engine `uml`, and nothing for development
	@scripts/setup machine
	@$(MAKE) --no-print-directory -j3 machine $(ENDPOINT) $(VENV)

demo: install ## the same, then run examples/quickstart.fexp and say where its report is
	@$(FAIRC) run examples/quickstart.fexp

# What is marked `full` (tests/conftest.py) is left to `make test-all`.
test: setup check ## every check and most tests: six minutes on two idle cores
	cd endpoints && cargo test --profile checks --quiet
	$(BIN)/python -m pytest -n 2 -m "not full"

test-all: test test-rest ## every check and every test

test-rest: setup-all ## what `make test` leaves out: other engines, browsers, Docker, root, packaging, faults, more examples
	$(BIN)/pyright
	cd endpoints && cargo clippy --profile checks --all-targets --quiet -- -D warnings
	$(BIN)/python -m pytest -n 2 -m "full or examples"

bbr3-peer: ## bbr3 beside another implementation, with the same acknowledgements and losses
	cd endpoints/bbr3-peer && CARGO_TARGET_DIR=../target cargo test --release --locked --quiet bbr3::peer

check: $(DEVELOPER) ## format, lint, types, layers: changes nothing
	@scripts/setup developer
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd endpoints && cargo fmt --check

fix: $(DEVELOPER) ## format, and mend what the linters can
	@scripts/setup developer
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd endpoints && cargo fmt

count: ## the size of the code, its longest files and functions
	@$(PYTHON) scripts/count.py

TURNS := 3
cost: install ## what cells cost, CPU seconds and memory; with AGAINST=DIR in turns with another checkout
	@cd scripts && ../$(BIN)/python -m cost --turns $(TURNS) $(if $(AGAINST),--against $(abspath $(AGAINST)))

NUMBERS :=
mutants: setup ## change one place of the program, 24 times, and list the changes that `make test` does not notice (hours)
	@$(BIN)/python tests/support/mutants.py --near $(if $(NUMBERS),--only $(NUMBERS)) make test

bench: setup-all ## measure this machine: speed, fixed cost, compile time, start-up time
	cd scripts && ../$(BIN)/python -m bench

MINUTES := 30
SEED    := 15
ONLY    :=
NUMBER  :=
torture: setup-all ## faults of every kind for MINUTES=30, on record in docs/trust/reliability.md; goes on where it stopped
	@cd tests/support && ../../$(BIN)/python -m torture --minutes $(MINUTES) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) $(if $(TRIES),--tries $(TRIES)) $(if $(NUMBER),--number $(NUMBER))

NAMES :=
studies: setup-all ## run the published studies whole (hours; goes on where it stopped), or NAMES="fmp conex"; writes their pages
	@cd scripts && ../$(BIN)/python -m studies $(NAMES)

figures: install $(DEVELOPER) ## run one cell on `uml` and draw the figures of the words of links anew
	@cd scripts && ../$(BIN)/python -m figures

SITE := site
site: install $(REST) ## build the site into site/: books, gallery, live reports; readable without a server
	@cd scripts && ../$(BIN)/python -m website $(abspath $(SITE))

vsix: ## build the extension for Visual Studio Code (needs npm)
	cd editors/vscode && npm ci --no-audit --no-fund && npm run package

docs: $(DEVELOPER) ## write the generated parts of docs/ anew
	$(BIN)/python -m fairc.runtime.documents docs
	$(BIN)/python -m pytest --quiet --update tests/dsl tests/compiler tests/lsp/test_highlighting.py

clean: ## remove what was built in this folder (not results/, no image, no kernel)
	rm -rf .venv build dist *.egg-info endpoints/target .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

OUT := dist
MIRROR :=
wheels: install $(DEVELOPER) ## write wheels into dist/, from a tree without changes, for machines of your own
	@cd scripts && ../$(BIN)/python -m dist ../$(OUT) --without-sources

dist: install $(DEVELOPER) ## write a release into dist/: wheels and the sources of what is under the GPL in them
	@cd scripts && ../$(BIN)/python -m dist ../$(OUT) $(MIRROR:%=--mirror %)

VERSION :=
release: install $(DEVELOPER) ## VERSION=X.Y.Z: check, commit, tag and build a release, and print what remains for a person
	@cd scripts && ../$(BIN)/python -m release "$(VERSION)" ../$(OUT)

machine: .venv/.first
	@$(BIN)/python -m fairc image build

# Installs the Python packages of some lists; the second argument is what the bar is called. Python compiles what it imports:
# pip would compile every file of theirs.
packages = @scripts/progress "$2" --of "$$(cat $1 | grep -c ==)" '^(?:Collecting|Requirement already)' \
	$(BIN)/pip install --require-hashes --no-deps --no-compile $(patsubst %,-r %,$1)
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

$(REST): $(DEVELOPER) requirements-rest.lock
	$(call packages,requirements-rest.lock,site and notebooks)
	@touch $@

$(ENDPOINT): $(RUST)
	@scripts/setup endpoints
	@# Not with the job server of -j3, to which make gives a program no access unless it is a make.
	@cd endpoints && MAKEFLAGS= CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=80 \
		../scripts/progress endpoints '(\d+)/(\d+)' cargo build --release --locked
	@sha256sum < $@ | cut -c 1-64 > $@.sha256
