# One command per habit. `make help` lists them.

SHELL := /bin/bash
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
export JOBS
# A Mac builds the server and the simulator too, not only what apps take.
export SOUK_SERVER = 1
# Seconds that one test of a long check may take before it counts as stuck.
LONG := SOUK_TEST_CASE_SECONDS=21600
# The tests call the outside judges through the interpreter of this environment.
export SOUK_PYTHON ?= $(CURDIR)/.venv/bin/python

GATES := check-format check-imports check-waiting check-language check-build check-api check-apple check-docs check-linkage check-consumer check-threads

# The gates share build folders and the output; one after the other.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help run test check check-all self-test format bench cluster crash chaos chaos-cluster api lives archives secrets values extremes identities fuzz shake docs clean $(GATES)

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: ## Build Souk and watch a purchase travel the whole way (ARGS="--keep" leaves the servers running)
	@Scripts/install-dependencies run
	swift build -c release --product souk --manifest-cache none -j $(JOBS)
	@"$$(swift build -c release --show-bin-path)/souk" demo $(ARGS)

test: ## Build and run every test; the last line says how many passed and failed (FILTER=PluginHub: one target alone, JUDGES=1: and its outside judges)
	@Scripts/install-dependencies test
	@Scripts/run-tests $(if $(FILTER),--only $(FILTER) $(if $(JUDGES),--judges))

check: ## Everything CI checks: the gates, self-tests and a long check in turn, then every test; ends with a table of times
	@Scripts/install-dependencies test
	@Scripts/check

check-all: ## What check does, with every self-test and every long check whole; takes hours
	@Scripts/install-dependencies test
	@Scripts/check --all

# Each gate alone: make check-imports, make check-threads, …
$(GATES):
	@Scripts/$@

self-test: ## Plant faults before each gate that was changed, expect it to find them, and record that it did
	@Scripts/check --self-tests

format: ## Lay out every Swift file as the format gate wants it
	@swift format --in-place --parallel --recursive Package.swift Sources Tests Examples

bench: ## Measure the hot paths beside their references
	@Scripts/install-dependencies run
	swift build -c release --product Benchmarks -j $(JOBS)
	@"$$(swift build -c release --show-bin-path)/Benchmarks" $(ARGS)

crash: ## Kill the app, the server and the simulated store at every point of what they do, and fail the app's disk (the tests do it too)
	@Scripts/install-dependencies run
	swift build --product CrashLoop -j $(JOBS)
	@"$$(swift build --show-bin-path)/CrashLoop" all 1

chaos: ## Kill souk serve KILLS=200 times while everybody talks to it, and fail its disk at every operation
	@Scripts/install-dependencies test
	swift build --product CrashLoop -j $(JOBS)
	swift build --product souk -j $(JOBS)
	@"$$(swift build --show-bin-path)/CrashLoop" chaos $(or $(KILLS),200)
	@SOUK_DISK_EVERY=1 Scripts/run-tests --filter DurabilityTests

cluster: ## Start PostgreSQL, three servers and HAProxy on this machine, and read a purchase from each (ARGS=--keep leaves them running)
	@Scripts/install-dependencies test
	swift build --product souk -j $(JOBS)
	@Scripts/cluster --programs "$$(swift build --show-bin-path)" $(ARGS)

chaos-cluster: ## Kill, cut and lock among three servers on one PostgreSQL, FAULTS=1000 at each isolation level (ARGS="--planted all")
	@Scripts/install-dependencies test
	swift build --product ClusterChaos -j $(JOBS)
	swift build --product souk -j $(JOBS)
	@Scripts/chaos-cluster --programs "$$(swift build --show-bin-path)" --faults $(or $(FAULTS),1000) $(ARGS)

api: ## Ask server and simulator what their OpenAPI documents allow and forbid, EXAMPLES=200 of each operation
	@Scripts/install-dependencies test
	@SOUK_API_EXAMPLES=$(or $(EXAMPLES),200) Scripts/run-tests --filter 'OpenAPIJudgeTests|DocumentJudgeTests'

lives: ## Live random lives in the simulator and in a naive store, LIVES=500 of STEPS=200, from SEED=1 on
	@Scripts/install-dependencies test
	@$(LONG) SOUK_LIVES=$(or $(LIVES),500) SOUK_LIFE_STEPS=$(or $(STEPS),200) SOUK_LIFE_SEED=$(or $(SEED),1) \
		Scripts/run-tests --filter RandomLivesTests

archives: ## Change ARCHIVES=20000 archives at random and extract them; zipfile must read what we accept alike
	@Scripts/install-dependencies test
	@$(LONG) SOUK_ARCHIVES=$(or $(ARCHIVES),20000) Scripts/run-tests --filter MutationTests

secrets: ## Plant SECRETS=100000 random secrets in traffic, from SEED=1 on, and look for them in what is kept and shown
	@Scripts/install-dependencies test
	@$(LONG) SOUK_SECRETS=$(or $(SECRETS),100000) SOUK_SECRETS_SEED=$(or $(SEED),1) Scripts/run-tests --filter RandomSecretsTests

values: ## Present, move, share, merge, erase, refund and redeem at random, VALUES=500 lives of STEPS=120: nothing is spent twice
	@Scripts/install-dependencies test
	@$(LONG) SOUK_VALUES=$(or $(VALUES),500) SOUK_VALUE_STEPS=$(or $(STEPS),120) Scripts/run-tests --filter ValueTests

extremes: ## Put extreme numbers and strings in every place of states, requests and catalogues of the simulator
	@Scripts/install-dependencies test
	@$(LONG) SOUK_EXTREMES=all Scripts/run-tests --filter 'ExtremeNumberTests|ExtremeStringTests'

identities: ## Compare IDENTITIES=20000 random pairs of names that look alike, in every type and route
	@Scripts/install-dependencies test
	@$(LONG) SOUK_IDENTITIES=$(or $(IDENTITIES),20000) Scripts/run-tests --filter 'IdentityTests|ExactTextTests|NormalFormTests'

fuzz: ## Look for bytes that crash us, TIME=600 seconds in each of six paths (the tests replay what it found before)
	@Scripts/install-dependencies test
	@Scripts/fuzz --time $(or $(TIME),600)

shake: ## Run every test ROUNDS=3 times while Swift's jobs come late by chance: what holds only in the usual order fails
	@Scripts/install-dependencies test
	@Scripts/shake --rounds $(or $(ROUNDS),3)

docs: ## Build the reference documentation of every library as a web site in .build-docs (ARGS=--serve serves it here)
	@Scripts/install-dependencies test
	@Scripts/make-docs $(ARGS)

clean: ## Remove everything that was built (the virtual environment stays)
	rm -rf .build .build-tests .build-focus .build-tsan .build-examples .build-fuzz .build-apple .build-docs
