# Bare "make" lists the targets. The description of a target names its variables;
# their defaults follow here.

SHELL := /bin/bash
GO    ?= go
# Every compilation has these settings, so that the compiler's cache holds each package once. pkg/servers/programs, the
# Dockerfile and .ci/run have the same ones. A target with further tags repeats TAGS.
TAGS := nomsgpack
export GOFLAGS     := -buildvcs=false -trimpath -tags=$(TAGS) -ldflags=-s -gcflags=all=-dwarf=false
export CGO_ENABLED := 0
SETUP := $(GO) run ./cmd/dev/setup
comma := ,

VERSION ?= $(shell git describe --tags --match 'v*' --always --dirty 2>/dev/null)
# make demo
ORDERS      ?= 2000
CONCURRENCY ?= 200
GOODS       ?= 5
STOCK       ?= 300
ITEMS_MAX   ?= 3
REPEAT      ?= 0.1
CANCEL      ?= 0.1
STRATEGY    ?=
# make up, make faults
CLUSTER     ?=
# make faults
SEEDS       ?= 1
CELL        ?=
REDUCED     ?=
# make mutants
ONLY        ?=
# make tour
FAULTS      ?=
# make console
PORT        ?= 0
# make play
FAULT       ?= A
FIXED       ?=
HERE        ?=
SEED        ?=
# make test, make check
PKG         ?= ./cmd/... ./pkg/zklock ./... # first what takes longest
RUN         ?=

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := bin/golangci-lint-$(GOLANGCI_VERSION)

# The tests with the build tag "alone".
ALONE := -tags $(TAGS),alone -run '^Test(Readers|SlowSenders|EveryDeduction)' ./cmd/order-service ./loadtest/system

CLUSTER_TESTS := ./migrations ./pkg/mysqldb ./pkg/mysqlgroup ./loadtest/system ./loadtest/trial

GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
LICENSES    := github.com/google/go-licenses@v1.6.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list
	@[ -t 1 ] && bold='\033[1m' plain='\033[0m'; \
	awk -F ':.*## ' "/^[a-z-]+:.*## / { printf \"  $$bold%-12s$$plain %s\\n\", \$$1, \$$2 }" $(MAKEFILE_LIST)

.PHONY: build
build: ## Compile all commands into bin/
	@$(SETUP) -version '$(VERSION)' order-service stock-service migrate loadtest judge dev

.PHONY: cross
cross: ## Compile all commands for macOS; keeps nothing
	GOOS=darwin $(GO) build ./cmd/...

.PHONY: judge
judge: ## The judge alone: static programs bin/judge-SYSTEM-PROCESSOR for Linux and macOS, amd64 and arm64
	@for system in linux darwin; do for processor in amd64 arm64; do echo "bin/judge-$$system-$$processor"; \
		GOOS=$$system GOARCH=$$processor $(GO) build -ldflags '-s -X orderstock/pkg/command.version=$(VERSION)' \
			-o "bin/judge-$$system-$$processor" ./cmd/judge || exit; done; done

.PHONY: demo
demo: setup-demo ## Whole stack without Docker: fire orders, verdict, stop [ORDERS CONCURRENCY GOODS STOCK ITEMS_MAX REPEAT CANCEL STRATEGY]
	bin/loadtest demo --strategy '$(STRATEGY)' --orders $(ORDERS) --concurrency $(CONCURRENCY) \
		--goods $(GOODS) --stock $(STOCK) --items-max $(ITEMS_MAX) --repeat $(REPEAT) --cancel $(CANCEL)

.PHONY: up
up: setup-stack ## The same stack, left running; prints the addresses. CLUSTER=1: any one server may die [STRATEGY CLUSTER]
	bin/dev up --strategy '$(STRATEGY)' $(if $(CLUSTER),--cluster --stock-services 3)

.PHONY: down
down: bin/dev ## Stop the stack of "make up"
	bin/dev down

.PHONY: status
status: bin/dev ## What "make up" left running, and whether it is ready
	@bin/dev status || [ $$? -eq 1 ] # exit code 1 is an answer, printed above; make must not report an error

# Many tests wait for servers or timeouts: more of them run at once than there are processors.
.PHONY: test
test: setup-dev ## All tests on real servers, with short rounds [PKG RUN]
	bin/dev test -- $(GO) test -p 3 -parallel 4 -short -vet=off -timeout 10m $(if $(RUN),-run '$(RUN)') $(PKG)

.PHONY: check
check: setup-dev ## All tests with the race detector and long rounds, then those that must run alone [PKG RUN]
	bin/dev test -- env CGO_ENABLED=1 $(GO) test -race -timeout 20m $(if $(RUN),-run '$(RUN)') $(PKG)
# Tests with the build tag "alone" compare rates and growth: nothing else may run at the same time.
	$(if $(RUN),,$(if $(filter ./...,$(PKG)),bin/dev test -- env CGO_ENABLED=1 $(GO) test -p 1 -race -timeout 20m $(ALONE)))

.PHONY: test-console
test-console: setup-dev ## The console in a real Chromium, on real servers; leaves its pictures in out/console
	bin/dev test -- $(GO) test -tags $(TAGS),browser -timeout 15m $(if $(RUN),-run '$(RUN)') ./loadtest/console

.PHONY: test-cluster
test-cluster: install ## The tests that need a group of MySQL servers (MYSQLD, or Docker with mysql:9.7) [RUN]
	$(GO) test -p 1 -tags $(TAGS),cluster -timeout 20m $(if $(RUN),-run '$(RUN)') $(CLUSTER_TESTS)

.PHONY: lint
lint: $(GOLANGCI) ## Linter and formatting, on the release and the fault build, and on the tests of the cluster and the page
	$(GOLANGCI) run --allow-parallel-runners ./...
	$(GOLANGCI) run --allow-parallel-runners --build-tags $(TAGS),faults ./...
	$(GOLANGCI) run --allow-parallel-runners --build-tags $(TAGS),cluster $(CLUSTER_TESTS)
	$(GOLANGCI) run --allow-parallel-runners --build-tags $(TAGS),browser,compose ./loadtest/console

.PHONY: fmt
fmt: $(GOLANGCI) ## Format all Go files
	$(GOLANGCI) fmt ./...

.PHONY: bench-lock
bench-lock: setup-curator ## Compare the locks; writes out/lock-bench.json and .html [BENCH_FLAGS]
	bin/loadtest bench locks $(BENCH_FLAGS)

.PHONY: faults
faults: setup-loadtest ## Fault matrix, a verdict for each cell: out/faults.json, .html; CLUSTER=1: of a cluster [SEEDS CELL CLUSTER REDUCED]
	bin/loadtest run '$(or $(CELL),faults$(if $(CLUSTER),-cluster)$(if $(REDUCED),-reduced))' --seeds $(SEEDS)

.PHONY: mutants
mutants: setup-loadtest ## Broken variants of the services, each of which must be caught; writes out/mutants.json [ONLY='no reconciler']
	bin/loadtest run '$(or $(ONLY),mutants)'

.PHONY: ladder
ladder: setup-loadtest ## Throughput of every strategy; writes out/ladder.json, a picture and ladder.html [QUICK=1 LADDER_FLAGS]
	bin/loadtest bench ladder $(if $(QUICK),--quick) $(LADDER_FLAGS)

.PHONY: console
console: setup-loadtest ## A page that shows the stack at work, plays the published faults and breaks things [PORT]
	bin/loadtest console --listen 127.0.0.1:$(PORT)

.PHONY: play
play: setup-loadtest ## One published fault on the command line; the last line is the verdict, and make adds "Error 1" to a violation [FAULT FIXED HERE SEED]
	bin/loadtest run '$(FAULT)/$(if $(HERE),here,$(if $(FIXED),fixed,broken))' $(if $(SEED),--seed $(SEED))

.PHONY: tour
tour: setup-loadtest ## All published faults, each broken, fixed and as it runs here; writes out/tour.json [FAULTS=A,B]
	bin/loadtest run $(or $(subst $(comma), ,$(FAULTS)),tour)

.PHONY: install
install: ## Install the servers and compilers that are missing (as root on Debian; elsewhere it names them)
	@$(SETUP) -for tests

.PHONY: readme
readme: bin/dev ## Fill the tables of the documents from the code and from out/, and put the picture of the page in its place
	bin/dev readme

.PHONY: sbom
sbom: build ## List the modules in each program, with their versions; writes out/sbom.txt
	@mkdir -p out
	$(GO) version -m bin/order-service bin/stock-service bin/migrate bin/loadtest bin/judge >out/sbom.txt

.PHONY: licences
licences: ## Licences of the modules in the programs; writes cmd/licences.csv, fails on a forbidden, restricted or unknown one
	@mkdir -p out
# go-licenses asks its own binary for GOROOT, which -trimpath leaves out.
	GOFLAGS=-buildvcs=false GOBIN=$(CURDIR)/bin $(GO) install $(LICENSES)
# The licence of modernc.org/mathutil is BSD-3-Clause with a word missing, which the program does not recognize.
	GOFLAGS=-tags=$(TAGS) bin/go-licenses check --ignore orderstock --ignore modernc.org/mathutil --disallowed_types forbidden,restricted,unknown ./cmd/... 2>out/licences.log \
		|| { cat out/licences.log; false; }
	{ GOFLAGS=-tags=$(TAGS) bin/go-licenses report --ignore orderstock --ignore modernc.org/mathutil ./cmd/... 2>>out/licences.log | \
		cut -d, -f1,3; echo modernc.org/mathutil,BSD-3-Clause; } | LC_ALL=C sort >cmd/licences.csv

.PHONY: vuln
vuln: ## Known vulnerabilities in the code that the programs call; needs the network
	$(GO) run $(GOVULNCHECK) ./...

.PHONY: clean
clean: ## Remove bin/, out/ and the logs and data of "make up"; stops it first
	@[ ! -x bin/dev ] || bin/dev down
	rm -rf bin out .run

# Always run: the compiler itself finds out whether anything changed. Packages are installed while it works.
.PHONY: bin/dev setup-demo setup-stack setup-dev setup-loadtest setup-curator
bin/dev:
	@$(SETUP) dev
setup-demo:
	@$(SETUP) -for servers order-service stock-service loadtest
setup-stack:
	@$(SETUP) -for servers dev order-service stock-service loadtest
setup-dev:
	@$(SETUP) -for tests dev
setup-loadtest:
	@$(SETUP) -for servers loadtest
setup-curator: # one of the locks that it compares
	@$(SETUP) -for curator loadtest

$(GOLANGCI):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@
