# Needs Python >= 3.10 with venv, a Rust toolchain and a C compiler. Everything else is fetched into .venv and target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
BUILT := $(VENV)/.built
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name '*.toml' -o -name '*.cu*')

# The Python that PyO3 builds for: the same for every command, so that nothing is compiled twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PYTEST := $(BIN)/python -m pytest

.PHONY: build demo test test-rust test-python test-naive test-neon sanitize lint fmt stubs bench peers lock check wheel clean help
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-12s %s\n", $$1, $$2}' Makefile

build: $(BUILT)  ## .venv with the package in it, compiled in release mode

$(TOOLS): requirements/build.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements/build.txt -r requirements/dev.txt
	@touch $@

$(BUILT): $(TOOLS) $(SOURCES)
	env -u CONDA_PREFIX VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin develop --release
	@touch $@

demo: build  ## train a convolutional network on handwritten digits
	$(BIN)/python examples/digits.py

test: test-rust test-python  ## every test, on the threaded engine

# The extension module has no main and finds Python's symbols only when Python loads it: it is tested from Python.
test-rust: $(TOOLS)
	cargo test --locked --workspace --exclude gluonish-py

test-python: build
	$(PYTEST)

test-naive: build
	GLUONISH_ENGINE=naive $(PYTEST)

# A compiler with the standard library of the target (`rustup target add aarch64-unknown-linux-gnu`, or Debian's rustc-web
# beside libstd-rust-web-dev:arm64), a linker for it (gcc-aarch64-linux-gnu, which brings libc6-dev-arm64-cross) and
# qemu-user.
ARM := aarch64-unknown-linux-gnu
CROSS_RUSTC ?= rustc
CROSS_LINKER ?= aarch64-linux-gnu-gcc
CROSS_RUN ?= qemu-aarch64 -L /usr/aarch64-linux-gnu

test-neon:  ## the kernels' tests for ARM under qemu-user
	@ls $$($(CROSS_RUSTC) --print target-libdir --target $(ARM))/libstd-*.rlib > /dev/null 2>&1 \
	  || { echo "$(CROSS_RUSTC) has no standard library for $(ARM): install it, or name another with CROSS_RUSTC=" >&2; exit 1; }
	@command -v $(CROSS_LINKER) > /dev/null \
	  || { echo "$(CROSS_LINKER), the linker for $(ARM), is missing: install gcc-aarch64-linux-gnu" >&2; exit 1; }
	@command -v $(firstword $(CROSS_RUN)) > /dev/null \
	  || { echo "$(firstword $(CROSS_RUN)), which runs programs for $(ARM), is missing: install qemu-user" >&2; exit 1; }
	RUSTC="$(CROSS_RUSTC)" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$(CROSS_LINKER)" \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$(CROSS_RUN)" cargo test --locked --no-fail-fast --tests --target $(ARM) \
	  --target-dir target/neon -p gluonish-base -p gluonish-kernels

# Memory errors that no result shows. The runtime of the sanitizer comes with the toolchain; the switch is unstable.
sanitize: $(TOOLS)  ## the tests of kernels and file formats under AddressSanitizer
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" cargo test --locked --no-fail-fast --tests -p gluonish-kernels -p gluonish-formats \
	  --target $(shell rustc -vV | sed -n 's/host: //p') --target-dir target/sanitize

lint: build  ## formatters, linters, types, layers, sizes, unsafe, stubs
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_sizes.py
	$(BIN)/python tools/check_unsafe.py
	$(BIN)/python tools/gen_stubs.py --check

fmt: $(TOOLS)  ## format everything
	cargo fmt --all
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

stubs: build  ## rewrite the op part of python/gluonish/_core.pyi
	$(BIN)/python tools/gen_stubs.py

check: lint test test-naive  ## what CI runs

bench: build  ## ours against the peers that are there, as ratios
	$(BIN)/python benches/run.py

peers: .peers/torch/.ready .peers/numpy/.ready .peers/onnx/.ready .peers/onnxruntime/.ready  ## other libraries, to measure against or take tests from

.peers/torch/.ready: PACKAGES := torch numpy
.peers/numpy/.ready: PACKAGES := numpy
.peers/onnx/.ready: PACKAGES := onnx==1.23.2
.peers/onnxruntime/.ready: PACKAGES := onnxruntime onnx numpy
# The last one there is, with a NumPy that Python 3.12 and later cannot install: `make .peers/mxnet/.ready` by itself.
.peers/mxnet/.ready: PACKAGES := mxnet==1.9.1 numpy==1.23.5
.peers/%/.ready:
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/python -m pip install --quiet $(PACKAGES)
	@touch $@

lock: .peers/uv/.ready  ## renew the pins in requirements/*.txt
	@for name in build dev; do \
	  { echo "# Made by \`make lock\` from $$name.in: exact versions for every Python from 3.10 on. Do not edit."; \
	    .peers/uv/bin/uv pip compile --quiet --universal --upgrade --python-version 3.10 --no-header --no-annotate \
	      requirements/$$name.in; } > requirements/$$name.new && mv requirements/$$name.new requirements/$$name.txt || exit 1; \
	done

.peers/uv/.ready: PACKAGES := uv

wheel: $(TOOLS)  ## a wheel for this interpreter, in dist/
	$(BIN)/maturin build --release --strip --out dist --interpreter $(BIN)/python

clean:  ## remove everything that was built
	rm -rf $(VENV) target dist .pytest_cache .mypy_cache .ruff_cache python/gluonish/_core*.so
	find . -name __pycache__ -not -path './.peers/*' -prune -exec rm -rf {} +
