# Penstock. `make help` lists the targets.
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
PLUGINS := file mysql elasticsearch lake
GOBUILD := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION) -X main.builtFrom=$(COMMIT)"
# Unit tests of our packages run with the race detector; the suites in internal/e2e start real servers and run without.
PACKAGES = $(shell $(GO) list ./... | grep -v /internal/e2e)

.PHONY: help build test lint unit integration chaos clients bench demo demo-search run fmt proto deps clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/penstock and bin/plugins/*
	$(GOBUILD) -o bin/penstock ./cmd/penstock
	@mkdir -p bin/plugins
	@for p in $(PLUGINS); do echo "building plugin $$p"; $(GOBUILD) -o bin/plugins/penstock-connector-$$p ./connectors/$$p/plugin || exit 1; done

deps: ## install what tests need (apt, Maven), into a cache outside the tree
	@tools/deps.sh tests

test: deps lint unit integration ## run every check: lint, unit tests with -race, suites against real servers

unit: ## unit tests with the race detector (budget 8 minutes)
	CGO_ENABLED=1 $(GO) test -race -timeout 12m $(PACKAGES)

integration: ## suites against real servers and killed processes (budget 8 minutes)
	$(GO) test -timeout 20m -count 1 ./internal/e2e/...

# Random tests begin with the same seed each time in make test, with another in these; testenv.Seed logs it.
chaos clients: export PENSTOCK_TEST_SEED = $(shell date +%s%N)

chaos: ## the suites that kill, at full length: the broker 200 times, and its power, under all kinds of clients, the server under 100,000 rows and their changes, three workers for 10 minutes, then exactly once
	for i in $$(seq 20); do PENSTOCK_TEST_SEED=$$(date +%s%N) $(GO) test -timeout 15m -count 1 -run 'TestRebuil|TestPowerCuts|TestGroupsSurvive|TestCrashAtEveryStep|AgainstModel' ./broker/store ./broker/txn || exit 1; done
	PENSTOCK_KILLS=200 $(GO) test -timeout 15m -count 1 -v -run 'TestKilled$$|TestPowerCut' ./broker
	$(GO) test -timeout 15m -count 1 -v -run TestChangesKilled ./internal/e2e
	PENSTOCK_CHAOS=10m $(GO) test -timeout 35m -count 1 -v -run TestWorkersChaos ./internal/e2e

clients: ## only the suites of other clients and tools on the broker, with more records than in make test, and another random script beside Kafka
	$(GO) test -timeout 15m -count 1 -v -run 'TestAgainstK' ./broker
	KGO_TEST_RECORDS=20000 $(GO) test -timeout 15m -count 1 -v -run 'TestFranzGoOwn|TestClients|TestOtherLanguagesClients|TestJavaTools|TestJavaGroups|TestJavaConnect' ./internal/e2e

lint: tools/bin/golangci-lint tools/bin/gofumpt ## gofumpt and golangci-lint
	@test -z "$$(git ls-files '*.go' | grep -v '\.pb\.go$$' | xargs tools/bin/gofumpt -l | tee /dev/stderr)" || { echo "run: make fmt"; exit 1; }
	tools/bin/golangci-lint run ./...

fmt: tools/bin/gofumpt ## format the code
	@git ls-files '*.go' | grep -v '\.pb\.go$$' | xargs tools/bin/gofumpt -w

tools/bin/golangci-lint: tools/go.mod
	cd tools && $(GO) build -o bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
tools/bin/gofumpt: tools/go.mod
	cd tools && $(GO) build -o bin/gofumpt mvdan.cc/gofumpt

bench: build deps ## measure, and print ratios against peers
	@bench/run.sh

demo: build ## the main job, end to end: MySQL to a lake through the bundled broker
	@tools/deps.sh demo
	@$(GO) run ./examples/demo

demo-search: build deps ## the demo with a real Elasticsearch beside the lake
	@DEMO_SEARCH=1 $(GO) run ./examples/demo

run: build ## start the server and stay
	bin/penstock server

proto: ## generate the plugin protocol's code
	connect-api/connectpb/generate.sh

clean: ## remove what was built
	rm -rf bin tools/bin
