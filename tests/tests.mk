# tests.mk: the recipes of `make test`, `make soak`, `make fuzz`, `make bench` and `make lint`.
LINT := $(sort $(wildcard tests/lint/*.sh))
E2E := $(sort $(wildcard tests/e2e/*/test_*.sh))

##### make test: a seeded sample of every proof; make test T=NAME: the tests of that name #########
# What an earlier build compiled, in another clone too, is taken from a cache (ccache, which deps-test installs).
test check sanitize soak fuzz mutants: export PATH := /usr/lib/ccache:$(PATH)
test check sanitize soak fuzz mutants: export CCACHE_DIR ?= $(HOME)/.cache/windlass/ccache
test check sanitize soak fuzz mutants: export CCACHE_MAXSIZE ?= 5G
# Debug information may name the folder of the clone that compiled.
test check sanitize soak fuzz mutants: export CCACHE_NOHASHDIR := 1
.PHONY: test check servers unit lint format sanitize demo help
ifdef T
test: deps-test
	+@BUILD=$(BUILD) tests/one.sh '$(T)' $(LINT) $(UNIT_PROGRAMS) $(E2E) $(FUZZ_SOURCES)
else
test: deps-test servers
	@$(MAKE) --no-print-directory all unit-programs
	@BUILD=$(BUILD) WINDLASS_BUILT=$(abspath $(BUILD)) tests/run.sh --again --beside tests/beside.sh --lanes 4 \
		$(LINT) $(UNIT_PROGRAMS) $(E2E)
endif
# The tests that every change must pass. Unit tests (with the golden files) mostly wait: several lanes a processor.
# The emulated card computes each CUDA kernel on the CPU, a third of the time of all: `make test` has it.
LANES := $(shell expr 4 '*' $$(nproc))
check: all unit-programs
	@BUILD=$(BUILD) tests/run.sh --lanes $(LANES) $(LINT) $(filter-out $(BUILD)/emulated/%,$(UNIT_PROGRAMS))
# The real API servers, built once per machine: about 15 minutes, with lines of progress; Azurite and Ceph.
servers:
	@tests/cluster/build-kubernetes.sh >/dev/null
	@tests/cluster/get-clients.sh >/dev/null
	@tests/cluster/build-crd-server.sh >/dev/null
	@tests/azurite/get.sh >/dev/null
	@tests/s3/get.sh >/dev/null
unit: unit-programs
	@BUILD=$(BUILD) tests/run.sh --lanes $(LANES) $(UNIT_PROGRAMS)
sanitize:
	@tests/run.sh tests/sanitize.sh
# For the order in a new clone: what took 5 s or more in this tree's last `make test`, the longest first.
.PHONY: seconds
seconds:
	@awk '{ name = $$1; sub(/^sanitize-[a-z-]*\//, "", name); if ($$2 > most[name]) most[name] = $$2 } \
		END { for (name in most) if (most[name] >= 5) print name, most[name] }' build/tests/seconds \
		| sort -k2,2nr -k1,1 >tests/seconds.txt
lint:
	@tests/run.sh --lanes $(LANES) $(LINT)
# For tests/lint/tidy.sh: each source that is built here, with the flags that change its meaning.
.PHONY: tidy-sources
tidy-sources:
	@$(foreach source,$(LIB_SOURCES) $(OPERATOR_SOURCES) operator/main.c $(AGENT_SOURCES) agent/main.c $(SHIM_SOURCES) $(TRAINER_SOURCES),$(info \
		$(source) $(if $(WITH_CUDA),-DWITH_CUDA=1 -isystem $(CUDA_ROOT)/include) $(CFLAGS_$(subst /,_,$(basename $(source))))))true
# The lists of exceptions (tests/lint/exceptions/*.txt), after a finding was fixed or a file renamed: they only get shorter.
.PHONY: lint-update
lint-update:
	@for name in $(patsubst tests/lint/exceptions/%.txt,%,$(wildcard tests/lint/exceptions/*.txt)); do tests/lint/$$name.sh --update || bad=1; done; test -z "$$bad"
# The part of each folder's README.md that names its modules and what it may include.
.PHONY: readmes
readmes:
	@python3 -B tests/lint/readmes.py
format:
	@clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

##### faults that tests must notice (tests/mutants/README.md) #####################################
.PHONY: mutants
mutants: all unit-programs
	@tests/run.sh --show tests/mutants/run.py

##### fuzzing: one libFuzzer program per parser of outside bytes #################################
# A separate instrumented tree, built by clang; only gcc's warnings count. At -O1 compiling the vector loops alone would
# take half a minute.
FUZZ_MAKE = $(MAKE) --no-print-directory BUILD=build/fuzz CC=clang CUDA=0 WARNINGS= \
	SANITIZE=address,undefined CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' CFLAGS_VECTOR=-O0
# FUZZ_ONLY="manifest onnx": only these.
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c tests/fuzz/data/fuzz_*.c))
FUZZERS := $(if $(FUZZ_ONLY),$(FUZZ_ONLY:%=$(BUILD)/fuzz_%),$(patsubst %.c,$(BUILD)/%,$(notdir $(FUZZ_SOURCES))))
.PHONY: fuzz fuzzers fuzzers-build
fuzzers-build:
	+@$(FUZZ_MAKE) fuzzers
fuzz: deps-test fuzzers-build
	@tests/run.sh tests/fuzz.sh
fuzzers: $(FUZZERS)
define FUZZ_LINK
	@echo "  LINK $@"
	@$(CC) $(ALL_LDFLAGS) $(FAST_LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS_AGENT) $(LIBS_OPERATOR) $(LIBS_LIB) -lm
endef
$(BUILD)/fuzz_%: $(OBJ)/tests/fuzz/fuzz_%.c.o $(OBJ)/agent.a $(OBJ)/operator.a $(OBJ)/lib.a
	$(FUZZ_LINK)
$(BUILD)/fuzz_%: $(OBJ)/tests/fuzz/data/fuzz_%.c.o $(OBJ)/agent.a $(OBJ)/operator.a $(OBJ)/lib.a
	$(FUZZ_LINK)

##### make soak: the full counts, recorded in docs/soak.md #######################################
.PHONY: soak
soak: deps-test
	@$(MAKE) --no-print-directory all unit-programs fuzzers-build
	@tests/soak.sh

##### make bench: tables, and build/bench/*.json #################################################
.PHONY: bench
bench: deps-bench
	@$(MAKE) --no-print-directory all
	@mkdir -p build/bench
	@set -e; for script in $(sort $(wildcard tests/bench/*.sh)); do bash $$script; done

##### make demo: a real video becomes a painting ################################################
demo: deps-demo
	@$(MAKE) --no-print-directory all
	@examples/style-transfer/fetch.sh
	@build/windlass run -f examples/style-transfer/batchscore.yaml

##### the chart's CRDs are made of crds/; tests/lint/chart.sh sees that they are current ##########
.PHONY: chart
chart:
	@charts/make-crds.sh charts/windlass/templates

##### a real Kubernetes of one node on this machine; our images ###################################
.PHONY: cluster-up cluster-down cluster-demo images push
cluster-up:
	@tests/cluster/up.sh
cluster-down:
	@tests/cluster/down.sh
cluster-demo: deps-demo
	@tests/cluster/demo.sh
# IMAGES=agent-cuda, REGISTRY=registry.example.com/team, BASE=packages: see images/build.sh.
images:
	@images/build.sh build $(IMAGES)
push:
	@images/build.sh push $(IMAGES)
# KEY=release.key REGISTRY=registry.example.com/team RELEASE="programs chart images": see images/release/release.sh.
.PHONY: release publish
release:
	@images/release/release.sh make $(RELEASE)
publish:
	@images/release/release.sh publish

##### docs/api.md is made of crds/batchscore.yaml; tests/lint/api.sh sees that it is current ######
.PHONY: api
api: windlass
	@$(BUILD)/windlass explain > docs/api.md

##### docs/cli.md is made of the programs' --help; tests/lint/cli.sh sees that it is current ######
.PHONY: cli
cli: all
	@images/make-cli.sh > docs/cli.md

##### packages ###################################################################################
.PHONY: deps deps-demo deps-test deps-bench
deps deps-demo deps-test deps-bench:
	@images/deps.sh $@

help:
	@echo "make            build/windlass, windlass-agent, windlass-shim, windlass-trainer (make deps installs what they need)"
	@echo "make install    all four, and kubectl-windlass, into PREFIX=/usr/local (DESTDIR= before it)"
	@echo "make demo       install, build, and turn a real video into a painting on this machine"
	@echo "make check      what every change must pass: build, lint, unit tests and golden files; a few minutes"
	@echo "make test       install what is missing and run every test; ends with 'N passed, N failed'"
	@echo "make test T=test_buffer   one test by its name, a C program or a script"
	@echo "make unit       the unit tests alone        make lint     layers, circles, names, sizes, English, clang-tidy, format, docs"
	@echo "make lint-update  shorten tests/lint/exceptions/*.txt, the lists of tolerated findings, after one was fixed"
	@echo "make sanitize   the unit tests under ASan, UBSan and TSan"
	@echo "make fuzz       every fuzzer, FUZZ_SECONDS=60 each"
	@echo "make soak       the full counts of every proof, recorded in docs/soak.md"
	@echo "make bench      all benchmarks, most with a peer to compare; tables and build/bench/*.json"
	@echo "make cluster-up    a real Kubernetes of one node on this machine   make cluster-down   ends it"
	@echo "make cluster-demo  the demo on it: chart, manifest, video"
	@echo "make gpu-test   the engine alone on a GPU; gpu-bench measures it; gpu-build makes build/gpu, to be carried"
	@echo "make images     the container images           make push REGISTRY=registry.example.com/team"
	@echo "make release    programs, chart, images, their SBOMs and signatures in build/release; make publish pushes them"
	@echo "make format     clang-format everything     make clean    remove build/"
	@echo "make api        docs/api.md from crds/      make chart    the chart's CRDs from crds/"
	@echo "make cli        docs/cli.md from the programs' --help"
	@echo "variables: CUDA=auto|0|1  SANITIZE=address,undefined|thread  CFLAGS='-O2 -g'"
	@echo "           REGISTRY=...  IMAGES='operator agent trainer agent-cuda trainer-cuda'  GPUS=8 (cluster-up)"
