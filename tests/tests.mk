# tests.mk: what `make test`, `make soak`, `make fuzz`, `make bench` and `make lint` run.
LINT := tests/lint/includes.sh tests/lint/sizes.sh tests/lint/format.sh
E2E := $(sort $(wildcard tests/e2e/test_*.sh))

.PHONY: test unit lint format
test: deps-test all unit-programs
	@BUILD=$(BUILD) tests/run.sh $(LINT) $(UNIT_PROGRAMS) $(E2E)
unit: unit-programs
	@BUILD=$(BUILD) tests/run.sh $(UNIT_PROGRAMS)
lint:
	@tests/run.sh $(LINT)
format:
	@clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

.PHONY: deps deps-test
deps deps-test:
	@images/deps.sh $@
