# One command per habit. `make help` lists them.

SHELL := /bin/bash
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
export JOBS
# The tests call the outside judges through the interpreter of this environment.
export SOUK_PYTHON ?= $(CURDIR)/.venv/bin/python

GATES := check-format check-imports check-build check-apple check-docs check-linkage check-threads
# Everything of ours that takes --self-test.
SELF_TESTED := $(GATES) fuzz run-tests shake

# The gates share build folders and the output; one after the other.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help run test check self-test format bench crash chaos api lives archives fuzz shake clean $(GATES)

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: ## Build Souk and watch a purchase travel the whole way (ARGS="--keep" leaves the servers running)
	@Scripts/install-dependencies run
	swift build -c release --product souk -j $(JOBS)
	@"$$(swift build -c release --show-bin-path)/souk" demo $(ARGS)

test: ## Build and run every test; the last line says how many passed and failed
	@Scripts/install-dependencies test
	@Scripts/run-tests

check: ## Everything CI checks: the gates, their self-tests, then every test
	@Scripts/install-dependencies test
	@$(MAKE) --no-print-directory --keep-going $(GATES)
	@$(MAKE) --no-print-directory self-test
	@Scripts/fuzz --time 60
	@Scripts/run-tests

# Each gate alone: make check-imports, make check-threads, …
$(GATES):
	@Scripts/$@

self-test: ## Plant a fault before each gate and expect the gate to find it
	@set -e; for gate in $(SELF_TESTED); do Scripts/$$gate --self-test; done

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

api: ## Ask the simulator everything its OpenAPI document allows and forbids, TIME=120 seconds (the tests do it for 15)
	@Scripts/install-dependencies test
	@SOUK_API_SECONDS=$(or $(TIME),120) Scripts/run-tests --filter OpenAPIJudgeTests

lives: ## Live random lives in the simulator and in a naive store, LIVES=500 of STEPS=200, from SEED=1 on
	@Scripts/install-dependencies test
	@SOUK_LIVES=$(or $(LIVES),500) SOUK_LIFE_STEPS=$(or $(STEPS),200) SOUK_LIFE_SEED=$(or $(SEED),1) \
		Scripts/run-tests --filter RandomLivesTests

archives: ## Change ARCHIVES=20000 archives at random and extract them; zipfile must read what we accept alike
	@Scripts/install-dependencies test
	@SOUK_ARCHIVES=$(or $(ARCHIVES),20000) Scripts/run-tests --filter MutationTests

fuzz: ## Look for bytes that crash us, TIME=600 seconds in each of five paths (check does it for a minute)
	@Scripts/install-dependencies test
	@Scripts/fuzz --time $(or $(TIME),600)

shake: ## Run every test ROUNDS=3 times while Swift's jobs come late by chance: what holds only in the usual order fails
	@Scripts/install-dependencies test
	@Scripts/shake --rounds $(or $(ROUNDS),3)

clean: ## Remove everything that was built (the virtual environment stays)
	rm -rf .build .build-tsan .build-examples .build-fuzz .build-apple
