# Everything here needs Go, git and make. What more a test needs is installed
# into bin/, or the test is left out with a line that says so.

KUSTOMIZE_VERSION := v5.8.2

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO_BUILD := go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
IMAGE    ?= poolwright-fn
FUZZTIME ?= 10s

# What the tests need of other projects, the GitOps engines among it, is in
# modules of its own.
TEST_MODULES := test/engines/flux test/engines/kpt test/engines/argocd test/checks test/monitoring

# Two run beside one another: more keep a machine from answering in time, and are no sooner done.
in_modules = 'failed=0; for module in $(1); do (cd $$module && nice -n 5 go test $(TEST) ./...) || failed=1; done; exit $$failed'

# Packages with tests on generated input. make test draws the same in every run, so that it
# fails for a reason that is in the change; go test draws other input each time.
GENERATED = $(addprefix github.com/poolwright/poolwright/,$(patsubst %/,%,$(sort $(dir $(shell grep -rl --include='*_test.go' pgregory.net/rapid cmd fn live nodeagent schema test)))))
SEED     ?= 1

# Packages that exclude one another, for the loop devices of the machine: one after the other, beside the
# others, which let them go first. They run thousands of small programs, each of which would wait its turn.
LOOPS := ./nodeagent/source ./nodeagent/controller

# make lint vets. A busy machine may take long.
TEST := -vet=off -timeout 40m

# The stories of cmd/poolwright are told by test/apply, too, which applies what they render, where it has the
# definitions for that.
UPSTREAM := $(or $(POOLWRIGHT_UPSTREAM_CRDS),../shared/crds)
TOLD      = $(if $(wildcard $(UPSTREAM)/openebs-cstor.yaml),-skip "^TestStories$$")

# Programs and tests are compiled in one way, or all would be compiled twice. What tests run is built once, for all
# suites.
export CGO_ENABLED := 0
BUILT := $(CURDIR)/bin/test

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/poolwright
	$(GO_BUILD) -o bin/poolwright ./cmd/poolwright

.PHONY: build-controller
build-controller: ## Build bin/poolwright-controller
	$(GO_BUILD) -o bin/poolwright-controller ./cmd/poolwright-controller

.PHONY: build-nodeagent
build-nodeagent: ## Build bin/nodeagent
	$(GO_BUILD) -o bin/nodeagent ./cmd/nodeagent

.PHONY: demo
demo: build ## Explain an example, and render it, in a temporary folder
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && set -e && \
	bin/poolwright init cstor-local "$$tmp/cstor-local" --example && \
	rm -rf "$$tmp/cstor-local/rendered" && cd "$$tmp" && \
	run() { printf '\n$$ %s\n' "$$*"; "$(CURDIR)/bin/$$@"; } && \
	run poolwright explain cstor-local && \
	run poolwright render cstor-local && \
	for f in $$(find cstor-local/rendered -type f | sort); do printf '\n# %s\n' "$$f"; cat "$$f"; done

.PHONY: test
test: export POOLWRIGHT_TEST_BUILT := $(BUILT)
test: bin/kustomize bin/kustomize-controller $(if $(shell command -v gcc),bin/gitea) control-plane missing ## Run all tests
	go build -o $(BUILT)/ ./cmd/poolwright ./cmd/poolwright-controller
	test/parallel.sh \
	  'failed=0; \
	   nice -n 10 go test $(TEST) $(TOLD) $(filter-out $(GENERATED) $(shell go list $(LOOPS)),$(shell go list ./...)) || failed=1; \
	   nice -n 10 go test $(TEST) $(GENERATED) -rapid.seed=$(SEED) || failed=1; exit $$failed' \
	  'exec go test $(TEST) -p 1 $(LOOPS)' \
	  $(call in_modules,$(wordlist 1,2,$(TEST_MODULES))) \
	  $(call in_modules,$(wordlist 3,9,$(TEST_MODULES)))

.PHONY: test-all
test-all: export POOLWRIGHT_TEST_ALL := 1
test-all: test ## Run all tests, each with all its scenarios, faults and random input (CI)

.PHONY: test-fast
test-fast: ## Run the tests that need no other program and little time
	go test -vet=off -short ./...

.PHONY: check
check: ## Vet and test in a minute what git diff touches (SYSTEM=cstor: a system)
	@go run ./test/check $(if $(SYSTEM),-system $(SYSTEM))

.PHONY: vm
vm: ## Build the virtual machine of the node agent's tests, into .cache/vm
	test/vm/build.sh .cache/vm

.PHONY: test-vm
test-vm: control-plane ## Run the node agent's tests on the disks of a virtual machine (minutes; emulated)
	POOLWRIGHT_TEST_VM=1 go test -timeout 120m -v ./test/vm

KILLS ?= 1000

.PHONY: test-kills
test-kills: ## Kill the node agent KILLS (1000) times at random points of the lives of volumes on loop devices
	POOLWRIGHT_TEST_KILLS=$(KILLS) go test -timeout 300m -v ./nodeagent/source -run 'TestKills|TestBait'

.PHONY: test-faults
test-faults: ## Spoil each run of each program of the node agent on loop devices in all ways, for each program of one kind
	POOLWRIGHT_TEST_ALL=1 POOLWRIGHT_TEST_FAULTS=1 go test -timeout 100m -v ./nodeagent/source -run 'TestFaults'

.PHONY: kills-controller
kills-controller: control-plane bin/gitea ## Kill the controller KILLS (1000) times in each mode, from seed FIRST on, and in a work tree
	go test ./controller/worktree -run '^TestKills$$' -timeout 24h -v -kills $(KILLS)
	go test ./controller/keeper -run '^TestKills$$' -timeout 24h -v -kills $(KILLS) -first $(FIRST)

.PHONY: test-scale
test-scale: control-plane ## Run the node agents of 200 nodes, and one with 1,000 Volumes, and measure them (minutes)
	POOLWRIGHT_TEST_SCALE=1 go test -timeout 40m -v ./nodeagent/source -run 'TestPass'
	POOLWRIGHT_TEST_SCALE=1 go test -timeout 40m -v ./nodeagent/controller -run 'TestTwoHundredNodes|TestThousandVolumes'

.PHONY: missing
missing:
	@for tool in gcc kpt podman qemu-system-x86_64; do \
	  command -v $$tool >/dev/null || echo "skipped: the tests that run $$tool, because it is not on this machine"; \
	done
	@test -d $(UPSTREAM) || echo "skipped: the tests against upstream definitions, because there are none in $(UPSTREAM)"

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (10s)
	@set -e; for pkg in $$(go list ./...); do \
	  for name in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$name"; \
	    go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
	  done; \
	done

HISTORIES ?= 1000
FIRST     ?= 1

.PHONY: histories
histories: ## Live through HISTORIES (1000) random histories of each sort of cStor clusters, from seed FIRST on
	go test ./test/cstor -run '^Test(Split|Listed)?Histories$$' -timeout 12h -v -histories $(HISTORIES) -first $(FIRST)

.PHONY: histories-controller
histories-controller: ## Live through HISTORIES (1000) random histories with the controller and with a person, and compare the ends
	go test ./test/cstor -run '^TestControlledHistories$$' -timeout 12h -v -histories $(HISTORIES) -first $(FIRST)

.PHONY: losses
losses: ## Compare what-if with the played operators of cStor on 1,000 random clusters and losses
	go test ./test/cstor -run '^TestLosses$$' -timeout 1h -v -losses 1000

PACKAGES ?= 10000
WORKERS ?= 1

.PHONY: physical
physical: ## Hold on PACKAGES (10000) clusters of physical disks, and HISTORIES (1000) of 30 events, that one disk has one owner
	go test ./test/physical -timeout 12h -v -packages $(PACKAGES) -histories $(HISTORIES) -first $(FIRST) -workers $(WORKERS)

.PHONY: bench
bench: build bin/kustomize ## Measure, and print a table that anyone can repeat
	go run ./cmd/internal/bench/render $(BENCH)

.PHONY: bench-large
bench-large: build ## The same for 5,000 nodes, which needs 12 GiB of memory
	go run ./cmd/internal/bench/render -sizes 5000x24 $(BENCH)

.PHONY: bench-live
bench-live: build control-plane ## Measure the inventory of a real API server with 24,000 block devices
	go run ./cmd/internal/bench/live

.PHONY: bench-controller
bench-controller: build build-controller control-plane ## Measure the controller of Hydrations at 1,000 nodes, and with 100 Hydrations
	go run ./cmd/internal/bench/controller $(BENCH)

.PHONY: lint
lint: bin/staticcheck bin/errcheck bin/revive ## Check formatting, vet, and run staticcheck, errcheck and revive
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	  test -z "$$unformatted" || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	bin/staticcheck ./...
	bin/errcheck -exclude test/lint/errcheck.txt ./...
	bin/revive -config test/lint/revive.toml ./...
	@set -e; for module in $(TEST_MODULES); do (cd $$module && go vet ./...); done

# The linters are pinned in a module of their own. They read the program as the Go
# that built them does, so another Go builds them anew.
GO_VERSION_FILE := bin/.$(shell go env GOVERSION)
$(GO_VERSION_FILE):
	@mkdir -p bin && rm -f bin/.go* && touch $@

bin/staticcheck: LINTER := honnef.co/go/tools/cmd/staticcheck
bin/errcheck: LINTER := github.com/kisielk/errcheck
bin/revive: LINTER := github.com/mgechev/revive
bin/staticcheck bin/errcheck bin/revive: test/lint/go.mod $(GO_VERSION_FILE)
	cd test/lint && CGO_ENABLED=0 go build -o "$(CURDIR)/$@" $(LINTER)

.PHONY: generate
generate: build ## Render the examples again, and write what is derived: the command reference, pictures, deploy/, expected output
	for p in cstor-local cstor-cloud/commits/1-nothing-bound cstor-cloud/commits/2-claims-bound cstor-cloud cstor-volumes diskpools hypercloud localvolumes volumetemplates; do bin/poolwright render examples/$$p; done
	go test ./schema -run 'TestComplete|TestExport|TestDefinitions|TestRaidTable' -update
	go test ./cmd/poolwright -run 'TestScripts|TestDeployedCRDs|TestCommands|TestPictures' -update
	go test ./test/deploy -update
	cd test/checks && go test . -run TestConfigMap -update

.PHONY: image
image: build ## Build the image of the function, with docker or podman
	@for engine in docker podman; do \
	  if $$engine info >/dev/null 2>&1; then exec $$engine build -t $(IMAGE) -f image/Dockerfile .; fi; \
	done; echo "neither docker nor podman runs on this machine"; exit 1

.PHONY: image-controller
image-controller: build build-controller ## Build the image of the controller of Hydrations, with docker or podman
	@for engine in docker podman; do \
	  if $$engine info >/dev/null 2>&1; then exec $$engine build -t poolwright-controller -f image/Dockerfile.controller .; fi; \
	done; echo "neither docker nor podman runs on this machine"; exit 1

.PHONY: image-nodeagent
image-nodeagent: build-nodeagent ## Build the image of the node agent, with docker or podman
	@for engine in docker podman; do \
	  if $$engine info >/dev/null 2>&1; then exec $$engine build -t poolwright-nodeagent -f image/Dockerfile.nodeagent .; fi; \
	done; echo "neither docker nor podman runs on this machine"; exit 1

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin

# The control plane that tests run is built from its Go modules, each a module of
# its own, so that the product's go.mod stays small.
CONTROL_PLANE := test/controlplane
KUBERNETES    := v1.36.4
KUBE_VERSION  := k8s.io/component-base/version

.PHONY: control-plane
control-plane: bin/etcd bin/kube-apiserver bin/kube-controller-manager bin/kubectl ## Build the Kubernetes API server that tests run, and kubectl

bin/etcd: $(CONTROL_PLANE)/etcd/go.mod
	@echo "building etcd for the tests: a minute, the first time only"
	cd $(CONTROL_PLANE)/etcd && CGO_ENABLED=0 go build -ldflags "-s -w" -o "$(CURDIR)/$@" go.etcd.io/etcd/server/v3

bin/kube%: $(CONTROL_PLANE)/kubernetes/go.mod
	@echo "building $(@F) $(KUBERNETES) for the tests, from its Go modules: some minutes, the first time only"
	cd $(CONTROL_PLANE)/kubernetes && CGO_ENABLED=0 go build \
	  -ldflags "-s -w -X $(KUBE_VERSION).gitVersion=$(KUBERNETES) -X $(KUBE_VERSION).gitMajor=1 -X $(KUBE_VERSION).gitMinor=36" \
	  -o "$(CURDIR)/$@" k8s.io/kubernetes/cmd/kube$*

# What tests only wait for, and nothing else shares, is compiled without optimization and debug information, in half
# the time: the key services of clouds in Flux's controller, none of which is called here, and Gitea.
UNOPTIMIZED := -N -l -dwarf=false
CLOUDS := github.com/aws github.com/Azure github.com/envoyproxy github.com/huaweicloud cloud.google.com/go google.golang.org/api

bin/kustomize-controller: test/engines/flux/controller/go.mod
	@echo "building Flux's kustomize-controller for the tests: some minutes, the first time only"
	cd test/engines/flux/controller && CGO_ENABLED=0 go build $(foreach c,$(CLOUDS),-gcflags '$(c)/...=$(UNOPTIMIZED)') \
	  -ldflags "-s -w" -o "$(CURDIR)/$@" github.com/fluxcd/kustomize-controller

# Gitea needs cgo for its database. Its pages come without styles: the tests read its API alone. The standard
# library is compiled as for the other programs, which share it.
bin/gitea: test/gitea/program/go.mod
	@echo "building Gitea for the tests of pull requests: five minutes, the first time only"
	cd test/gitea/program && CGO_ENABLED=1 CGO_CFLAGS=-O0 go build -gcflags 'all=$(UNOPTIMIZED)' -gcflags std= \
	  -tags 'sqlite sqlite_unlock_notify netgo osusergo' -ldflags "-s -w -X main.Version=1.26.0" -o "$(CURDIR)/$@" code.gitea.io/gitea

bin/kustomize: Makefile
	CGO_ENABLED=0 GOBIN="$(CURDIR)/bin" go install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)
