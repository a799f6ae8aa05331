# The commands of the project; `make help` lists them. Everything is built under build/.
SHELL := /bin/bash
BUILD ?= build
JOBS ?= $(shell nproc)
SECONDS ?= 60
RUNS ?=
MODELS ?= 1000000
SEED ?= 1
CMAKE_FLAGS ?=
PREFIX ?= /usr/local
# Directly below the sources, where the compiler cache works.
MODEL_BUILD := build-models
PYTHON ?= python3
FILES ?= $(shell git ls-files 'src/*.cpp' 'tools/*.cpp')

configure = cmake -S . -B $(1) -G Ninja -DCMAKE_BUILD_TYPE=$(2) $(3) $(CMAKE_FLAGS) >$(1)/configure.log 2>&1 \
	|| { cat $(1)/configure.log; exit 1; }

# A folder keeps what it was configured for: `make demo` after `make test` leaves the tests in it, `make demo` in a new
# folder asks for none. Packages are installed for what the folder has.
configured = $(shell grep -qs '^EC_$(1):BOOL=ON' $(BUILD)/CMakeCache.txt && echo $(2))
packages = build $(call configured,TESTS,test) $(call configured,PYTHON,python)
define configure_kept
@scripts/install-packages $(packages)
@mkdir -p $(BUILD)
@$(call configure,$(BUILD),Release,$(if $(wildcard $(BUILD)/CMakeCache.txt),,-DEC_TESTS=OFF))
endef

.PHONY: help all demo test interop bench fuzz fuzz-models sanitize tidy format format-check docs wheel install clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

all: ## build everything that the build folder is configured for
	$(configure_kept)
	@cmake --build $(BUILD) -j $(JOBS)

demo: ## build, then inspect, check, optimise, run and measure the bundled example
	$(configure_kept)
	@cmake --build $(BUILD) -j $(JOBS) --target edgecompile
	@examples/demo.sh $(BUILD)/bin/edgecompile $(BUILD)/demo

test: ## build with warnings as errors and run every test that needs only Debian packages
	@scripts/install-packages build test python
	@mkdir -p $(BUILD)
	@$(call configure,$(BUILD),Release,-DEC_TESTS=ON -DEC_PYTHON=ON -DPython_EXECUTABLE=/usr/bin/python3)
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure --timeout 300 -LE external

interop: ## compare with the PyPI peers (makes virtual environments)
	@scripts/install-packages python
	$(configure_kept)
	@cmake --build $(BUILD) -j $(JOBS) --target edgecompile
	@tests/interop/run.sh

bench: ## side-by-side tables against the peers, into benchmarks/results
	@scripts/install-packages build python
	@benchmarks/run.sh

fuzz: ## fuzz every reader and the op table for SECONDS each, or with RUNS inputs of a fixed seed
	@scripts/install-packages build test fuzz
	@mkdir -p $(BUILD)/fuzz
	@$(call configure,$(BUILD)/fuzz,RelWithDebInfo,-DCMAKE_CXX_COMPILER=clang++-16 -DEC_FUZZ=ON -DEC_SANITIZE=ON -DEC_TESTS=ON -DBUILD_SHARED_LIBS=OFF)
	@cmake --build $(BUILD)/fuzz -j $(JOBS) --target fuzzers
	@tests/fuzz/run.sh $(BUILD)/fuzz $(SECONDS) $(RUNS)

fuzz-models: ## MODELS models from the op table under ASan and UBSan, from SEED on; figures by op are added to build-models/models.json
	@scripts/install-packages build test
	@mkdir -p $(MODEL_BUILD)
	@$(call configure,$(MODEL_BUILD),Release,-DEC_TESTS=ON -DEC_SANITIZE=ON -DEC_SANITIZE_ARITHMETIC=ON -DBUILD_SHARED_LIBS=OFF)
	@cmake --build $(MODEL_BUILD) -j $(JOBS) --target op_fuzzer
	@$(MODEL_BUILD)/tests/fuzz/op/op_fuzzer --seed $(SEED) --count $(MODELS) --jobs $(JOBS) --report $(MODEL_BUILD)/models.json

sanitize: ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-packages build test
	@mkdir -p $(BUILD)/sanitize
	@$(call configure,$(BUILD)/sanitize,Release,-DEC_TESTS=ON -DEC_SANITIZE=ON -DBUILD_SHARED_LIBS=OFF)
	@cmake --build $(BUILD)/sanitize -j $(JOBS)
	@# Memory that is refused is an error which the program tells, not one of the program.
	@ASAN_OPTIONS=allocator_may_return_null=1 ctest --test-dir $(BUILD)/sanitize -j $(JOBS) --output-on-failure --timeout 900 -LE external

tidy: ## clang-tidy over all sources, or over FILES="src/a.cpp ..."
	@scripts/install-packages build tidy
	@mkdir -p $(BUILD)/tidy
	@$(call configure,$(BUILD)/tidy,Release,-DEC_TESTS=OFF -DEC_PRECOMPILE=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
	@cmake --build $(BUILD)/tidy -j $(JOBS) --target ec_tflite_schema_fbs ec_edgetpu_executable_fbs
	@echo $(FILES) | xargs -r -P $(JOBS) -n 1 clang-tidy-16 --quiet -p $(BUILD)/tidy

format: ## clang-format over all sources
	@scripts/install-packages format
	@git ls-files '*.cpp' '*.h' | xargs clang-format-16 -i

format-check: ## tell which sources clang-format would change
	@scripts/install-packages format
	@git ls-files '*.cpp' '*.h' | xargs clang-format-16 --dry-run -Werror

docs: ## regenerate the pages that come from the program's tables
	$(configure_kept)
	@cmake --build $(BUILD) -j $(JOBS) --target edgecompile
	@scripts/generate-docs $(BUILD)/bin/edgecompile .

wheel: ## a Python wheel for PYTHON that needs no compiler to install, into dist/
	@scripts/install-packages build python
	@scripts/build-wheel $(PYTHON)

install: ## install the tool, the library and its headers below PREFIX
	$(configure_kept)
	@cmake --build $(BUILD) -j $(JOBS) --target edgecompile
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove everything built
	rm -rf $(BUILD) build-wheel $(MODEL_BUILD)
