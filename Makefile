# The commands for daily work. `make help` lists them.

SHELL := /bin/bash
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
export JOBS
# On a Mac, this adds the server and the simulator to the package. Apps do not need them.
export SOUK_SERVER = 1
# The number of seconds after which a test case of a long check counts as stuck.
LONG := SOUK_TEST_CASE_SECONDS=21600
# The Python interpreter for the scripts in Tests/Judges, which compare our results with those of other programs.
export SOUK_PYTHON ?= $(CURDIR)/.venv/bin/python

GATES := check-format check-imports check-waiting check-language check-build check-api check-apple check-docs check-linkage check-consumer check-threads

# The gates share build folders and the terminal, so they run one after another.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help run test check check-all self-test format bench dist check-dist cluster crash chaos chaos-cluster api lives archives secrets values figures extremes identities fuzz shake docs clean $(GATES)

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: ## Build Souk and run a demonstration of a purchase (ARGS=--keep keeps the servers running)
	@Scripts/install-dependencies run
	swift build -c release --product souk --manifest-cache none -j $(JOBS)
	@"$$(swift build -c release --show-bin-path)/souk" demo $(ARGS)

test: ## Build and run every test; the last line says how many passed and failed (FILTER=PluginHub runs one target, JUDGES=1 also its comparisons with other programs)
	@Scripts/install-dependencies test
	@Scripts/run-tests $(if $(FILTER),--only $(FILTER) $(if $(JUDGES),--judges))

check: ## Run what CI runs: the gates, one self-test and one long check in turn, then every test; prints a table of times
	@Scripts/install-dependencies test
	@Scripts/check

check-all: ## Run check with every self-test and every long check whole; takes hours
	@Scripts/install-dependencies test
	@Scripts/check --all

# Each gate alone: make check-imports, make check-threads, …
$(GATES):
	@Scripts/$@

self-test: ## Plant faults for each gate that was changed, check that the gate finds them, and record the success
	@Scripts/check --self-tests

format: ## Format every Swift file with swift format
	@swift format --in-place --parallel --recursive Package.swift Sources Benchmarks Examples Tests

bench: ## Measure the frequent operations, and compare each with a reference (ARGS=nginx compares reads with nginx)
	@Scripts/install-dependencies $(if $(filter nginx,$(ARGS)),bench,run)
	swift build -c release --product Benchmarks -j $(JOBS)
	@"$$(swift build -c release --show-bin-path)/Benchmarks" $(ARGS)

dist: ## Make the packages of the server in .build-dist/artifacts: Debian package, tarball, Containerfile, SBOM, checksums (ARGS="--binary FILE")
	@Scripts/install-dependencies dist
	@Scripts/make-dist $(ARGS)

check-dist: ## Run the life of a server from its Debian package in a bare Debian: install, buy, upgrade under load, restore, purge (needs root)
	@Scripts/install-dependencies dist
	@Scripts/check-dist $(ARGS)

crash: ## Kill the app, the server and the simulated store at every step, and let writes to the app's disk fail (also part of the tests)
	@Scripts/install-dependencies run
	swift build --product CrashLoop -j $(JOBS)
	@"$$(swift build --show-bin-path)/CrashLoop" all 1

chaos: ## Kill souk serve KILLS=200 times under load, and let each operation on its disk fail once
	@Scripts/install-dependencies test
	swift build --product CrashLoop -j $(JOBS)
	swift build --product souk -j $(JOBS)
	@"$$(swift build --show-bin-path)/CrashLoop" chaos $(or $(KILLS),200)
	@SOUK_DISK_EVERY=1 Scripts/run-tests --filter DurabilityTests

cluster: ## Start PostgreSQL, three servers and HAProxy on this machine, and read a purchase from each (ARGS=--keep leaves them running)
	@Scripts/install-dependencies test
	swift build --product souk -j $(JOBS)
	@Scripts/cluster --programs "$$(swift build --show-bin-path)" $(ARGS)

chaos-cluster: ## Cause FAULTS=1000 crashes, network failures and locks at each isolation level, with three servers on one PostgreSQL (ARGS="--planted all")
	@Scripts/install-dependencies test
	swift build --product ClusterChaos -j $(JOBS)
	swift build --product souk -j $(JOBS)
	@Scripts/chaos-cluster --programs "$$(swift build --show-bin-path)" --faults $(or $(FAULTS),1000) $(ARGS)

api: ## Send EXAMPLES=200 valid and invalid requests for each operation of the OpenAPI documents of server and simulator
	@Scripts/install-dependencies test
	@SOUK_API_EXAMPLES=$(or $(EXAMPLES),200) Scripts/run-tests --filter 'OpenAPIJudgeTests|DocumentJudgeTests'

lives: ## Compare the simulator with a naive store in LIVES=500 random customer histories of STEPS=200, from SEED=1 on
	@Scripts/install-dependencies test
	@$(LONG) SOUK_LIVES=$(or $(LIVES),500) SOUK_LIFE_STEPS=$(or $(STEPS),200) SOUK_LIFE_SEED=$(or $(SEED),1) \
		Scripts/run-tests --filter RandomLivesTests

archives: ## Change ARCHIVES=20000 zip archives at random and extract them; Python's zipfile must agree on the accepted ones
	@Scripts/install-dependencies test
	@$(LONG) SOUK_ARCHIVES=$(or $(ARCHIVES),20000) Scripts/run-tests --filter MutationTests

secrets: ## Put SECRETS=100000 random secrets into traffic, from SEED=1 on, and search for them in what is stored and shown
	@Scripts/install-dependencies test
	@$(LONG) SOUK_SECRETS=$(or $(SECRETS),100000) SOUK_SECRETS_SEED=$(or $(SEED),1) Scripts/run-tests --filter RandomSecretsTests

values: ## Check that nothing is spent twice in VALUES=500 random histories of STEPS=120 with transfers, merges, erasures and refunds
	@Scripts/install-dependencies test
	@$(LONG) SOUK_VALUES=$(or $(VALUES),500) SOUK_VALUE_STEPS=$(or $(STEPS),120) Scripts/run-tests --filter ValueTests

figures: ## Compare every figure with the store's books after two years of CUSTOMERS=2000 random customers, from SEED=1 (progress: .build-tests/tests.log)
	@Scripts/install-dependencies test
	@$(LONG) SOUK_FIGURE_CUSTOMERS=$(or $(CUSTOMERS),2000) SOUK_FIGURE_SEED=$(or $(SEED),1) \
		Scripts/run-tests --filter FigureLivesTests

extremes: ## Put extreme numbers and strings into every member of states, requests and catalogues of the simulator
	@Scripts/install-dependencies test
	@$(LONG) SOUK_EXTREMES=all Scripts/run-tests --filter 'ExtremeNumberTests|ExtremeStringTests'

identities: ## Compare IDENTITIES=20000 random pairs of similar identifiers in every type and endpoint
	@Scripts/install-dependencies test
	@$(LONG) SOUK_IDENTITIES=$(or $(IDENTITIES),20000) Scripts/run-tests --filter 'IdentityTests|ExactTextTests|NormalFormTests'

fuzz: ## Search for input that crashes a parser, TIME=600 seconds for each of six (the tests replay earlier findings)
	@Scripts/install-dependencies test
	@Scripts/fuzz --time $(or $(TIME),600)

shake: ## Run every test ROUNDS=3 times with random delays of Swift's jobs, to find tests that depend on the order of jobs
	@Scripts/install-dependencies test
	@Scripts/shake --rounds $(or $(ROUNDS),3)

docs: ## Build the reference documentation of every library as a web site in .build-docs (ARGS=--serve serves it here)
	@Scripts/install-dependencies test
	@Scripts/make-docs $(ARGS)

clean: ## Remove everything that was built (the virtual environment stays)
	rm -rf .build .build-tests .build-focus .build-tsan .build-examples .build-fuzz .build-apple .build-docs
