# Berth's workshop. `make` alone lists what can be made.

SHELL       := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: build program release-programs release image packages-test demo dev test test-long slurm-test clients-test hosts vm lint page page-dev page-test page-pictures page-bench aims bench bench-client bench-compare chaos fuzz notices clean help

# How long and how much; each can be set on the command line: make fuzz FUZZTIME=5m
PKGS      ?= ./...
TESTFLAGS ?=
BUILDFLAGS ?=
DEMOFLAGS ?=
DEVFLAGS  ?=
FUZZTIME  ?= 10s
FUZZLIMIT ?= 30m
SEEDS     ?= 500
MINUTES   ?= 10
CHAOSTIME ?= 6h
ROUNDS    ?= 100
CUTS      ?= 10s,29s,31s,120s
FLOOD     ?= 10000

# Packages that start no goroutine are marked in their comment (test/arch): make test runs their tests without
# the race detector, which makes them five to ten times as slow and has nothing to find there.
PURE = $(shell grep -lrxE '//berth:(pure|single)' --include='*.go' --exclude-dir=testdata --exclude-dir=node_modules . | xargs -n1 dirname | sort -u)

# Packages that make test runs without the race detector. Under it a simulated cluster costs more than five times as much, so test/sim
# runs there, too, but with -short only one random course of events.
PLAIN = ./test/sim $(PURE)

# Tests that are not built with the race detector: raft has a race in one, and the detector itself allocates in the other.
UNRACED = -run '^(TestAllPeersAtOtherAddresses|TestCostsOfRequests)$$' ./cluster ./httpapi

# Of all tests those that take longest begin first. Some wait most of the time, so
# there are more at once than cores. A program with the race detector sleeps for a
# second before it exits unless GORACE says otherwise, and a run starts hundreds.
FIRST  := ./test/e2e ./test/hosts ./cluster ./cmd/berthd ./test/sim ./test/agent
GOTEST := GORACE=atexit_sleep_ms=20 go test -vet=off -p 3 -timeout 45m -json
TALLY  := go build -buildvcs=false -o bin/tally ./test/internal/tally

TOOL := go tool -modfile=tools.mod

# The driver's header marks old calls as deprecated, which is not ours to mend.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

build: program ## compile every package, and the programs to bin/berth, bin/berthd and bin/berth-supervisor
	go build ./...

program:
	@CGO_ENABLED=0 go build $(BUILDFLAGS) -o bin/berth-supervisor ./cmd/berth-supervisor && echo "built bin/berth-supervisor"
	@CGO_ENABLED=0 go build $(BUILDFLAGS) -o bin/berth ./cmd/berth && echo "built bin/berth"
	@go build $(BUILDFLAGS) -o bin/berthd ./cmd/berthd && echo "built bin/berthd"

release-programs:
	@go run ./test/internal/release -programs

# Tools of a release are kept in the user's cache folder.
TOOLS = $${XDG_CACHE_HOME:-$$HOME/.cache}/berth/tools
NFPM  = $(TOOLS)/nfpm-v2.45.2/nfpm
HELM  = $(TOOLS)/helm-v4.3.1/helm

release: ## write what is published of this commit into dist/: programs as tar.gz, deb and rpm for amd64 and arm64, checksums, the list of parts; alike in every folder
	@[ -x "$(NFPM)" ] || GOBIN="$(TOOLS)/nfpm-v2.45.2" go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
	@command -v aarch64-linux-gnu-gcc > /dev/null || [ "$$(id -u)" -ne 0 ] || \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross > /dev/null || true
	@go run ./test/internal/release -nfpm "$(NFPM)"

image: ## make the container image of dist/ for this architecture, after make release; needs root, buildah and mmdebstrap
	@archive=$$(ls dist/berth_*_linux_$$(go env GOARCH).tar.gz); out="$${archive%.tar.gz}.oci.tar"; \
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) deploy/container/build "$$archive" "$$out"
	@go run ./test/internal/release -sums

demo: program ## run the main job on a built-in cluster: forty jobs, and a leader that is killed
	@bin/berth demo $(DEMOFLAGS)

dev: program ## run a cluster of three peers and two nodes with simulated GPUs, until Ctrl-C
	@bin/berth dev $(DEVFLAGS)

# The seeds of the simulator differ from commit to commit, so that many are run in the course of time.
test: export BERTH_SIM_SEED ?= $(shell git rev-parse --short=6 HEAD 2>/dev/null)
test: ## run the short tests, with the race detector where there are goroutines; the last line holds the totals
	@$(TALLY)
ifeq ($(PKGS),./...)
	{ $(GOTEST) -short -race $(TESTFLAGS) $(FIRST) $$(go list ./... | grep -vxFf <(go list $(PURE))) || failed=1; \
	  $(GOTEST) -short $(TESTFLAGS) $(PLAIN) || failed=1; \
	  $(GOTEST) -short $(TESTFLAGS) $(UNRACED) || failed=1; exit $${failed:-0}; } | bin/tally
else
	$(GOTEST) -short -race $(TESTFLAGS) $(PKGS) | bin/tally
endif

test-long: ## run every test in full length, without the race detector and then with it; half an hour and more
	@$(TALLY)
	{ $(GOTEST) $(TESTFLAGS) ./... || failed=1; $(GOTEST) -race $(TESTFLAGS) $(FIRST) ./... || failed=1; exit $${failed:-0}; } | bin/tally

slurm-test: program ## run the same scripts on a real Slurm and on Berth, and compare; needs root and Debian's package slurm-wlm
	BERTH_PROGRAMS=$(CURDIR)/bin go test -vet=off ./test/slurm -count=1 -v -timeout 10m $(TESTFLAGS)

# A folder for each list of packages, and for each Python, in the user's cache folder.
CLIENTS   := test/e2e/testdata/clients/requirements.txt
CLIENTENV  = $${XDG_CACHE_HOME:-$$HOME/.cache}/berth/clients-$$({ cat $(CLIENTS); python3 -c 'import sys; print(sys.version, sys.prefix)'; } | sha256sum | cut -c1-12)

clients-test: ## run submitit, dask-jobqueue and snakemake from PyPI against a cluster; installs them into the user's cache folder
	@env="$(CLIENTENV)"; \
	if [ ! -e "$$env/ready" ]; then \
		echo "installing $(CLIENTS) into $$env"; \
		rm -rf "$$env" && python3 -m venv "$$env" && "$$env/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r $(CLIENTS) && touch "$$env/ready" || \
			{ echo "not installed: $(CLIENTS)"; [ -n "$${CLIENTS_OPTIONAL-}" ] && exit 0 || exit 1; }; \
	fi; \
	BERTH_TEST_PYTHON="$$env/bin/python" go test -vet=off -short -count=1 -timeout 20m -run '^TestClients$$' -v $(TESTFLAGS) ./test/e2e

VMTOOLS := qemu-system-x86_64 mmdebstrap mke2fs
VMPKGS  := qemu-system-x86 mmdebstrap e2fsprogs debian-archive-keyring

vm: ## boot a Debian with systemd in a virtual machine and test the units of deploy/ there; needs root, installs missing tools
	@[ "$$(id -u)" -eq 0 ] || { echo "make vm cannot run: the files of the image are root's; run it as root" >&2; exit 1; }
	@missing=; for tool in $(VMTOOLS); do command -v $$tool > /dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
		echo "missing are:$$missing; installing $(VMPKGS)"; \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(VMPKGS); \
	fi
	@[ -x "$(NFPM)" ] || GOBIN="$(TOOLS)/nfpm-v2.45.2" go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
	PATH="$$PATH:$$(dirname "$(NFPM)")" go test -vet=off ./test/vm -count=1 -v -timeout 60m $(TESTFLAGS)

# Tools of test/packages, and Debian's packages that have them.
PACKTOOLS := mmdebstrap:mmdebstrap buildah:buildah podman:podman runc:runc /usr/lib/podman/netavark:netavark /usr/lib/podman/aardvark-dns:aardvark-dns lintian:lintian piuparts:piuparts rpm:rpm systemd-analyze:systemd shellcheck:shellcheck yamllint:yamllint jq:jq
PYTHON    := deploy/requirements.txt

packages-test: ## install, upgrade, remove and check what make release and make image have written to dist/, the Helm chart and the Ansible role; as root, installs missing tools
	@for tool in $(PACKTOOLS); do \
		command -v "$${tool%%:*}" > /dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$${tool#*:}" > /dev/null || echo "not installed: $${tool#*:}"; \
	done
	@[ -x "$(NFPM)" ] || GOBIN="$(TOOLS)/nfpm-v2.45.2" go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
	@[ -x "$(HELM)" ] || { echo "building helm, which takes minutes once"; GOBIN="$(TOOLS)/helm-v4.3.1" go install helm.sh/helm/v4/cmd/helm@v4.3.1; }
	@for python in python3.14 python3.13 python3.12 python3; do \
		! command -v $$python > /dev/null || [ -e "$(TOOLS)/python/ready" ] || \
		{ $$python -c 'import sys; sys.exit(sys.version_info < (3, 12))' && $$python -m venv "$(TOOLS)/python" && "$(TOOLS)/python/bin/pip" install -q --disable-pip-version-check -r $(PYTHON) && touch "$(TOOLS)/python/ready"; } || true; \
	done
	PATH="$$(dirname "$(HELM)"):$$(dirname "$(NFPM)"):$(TOOLS)/python/bin:$$PATH:/usr/sbin:/sbin" go test -vet=off ./test/packages -count=1 -v -timeout 60m $(TESTFLAGS)

hosts: program ## set up a cluster by the README's commands on machines that are namespaces of this one, and keep it until Ctrl-C; needs root
	@go build -o bin/hosts ./test/hosts && bin/hosts

lint: ## check format, module files and the linters, those of go vet among them
	$(TOOL) golangci-lint config verify
	@unformatted=$$($(TOOL) gofumpt -l .); \
	if [ -n "$$unformatted" ]; then \
		echo "not formatted; mend with: $(TOOL) gofumpt -w FILE"; echo "$$unformatted"; exit 1; \
	fi
	go mod tidy -diff
	go mod verify
	$(TOOL) golangci-lint run $(PKGS)

# The page for browsers. What is built is committed, so that Node is needed only to change it.
page/node_modules: page/package-lock.json
	cd page && npm ci --no-audit --no-fund
	@touch page/node_modules

page: page/node_modules ## build the page for browsers from page/ into httpapi/dashboard/dist, with checks; needs Node 20.19 or later
	cd page && npm run -s types && npm run -s check && npm run -s unit && npm run -s build

page-dev: page/node_modules ## serve the page from its sources at port 12080, on top of the peer BERTH_PEER=http://127.0.0.1:10000
	cd page && npm run -s types && npm run -s dev

page-test: page/node_modules ## test the page in Chromium against clusters of this machine; needs make program and Debian's package chromium
	cd page && npm run -s browser

page-pictures: page/node_modules ## make the pictures of README.md and docs/page.md in docs/pictures, as page-test does without keeping them
	mkdir -p docs/pictures
	cd page && PICTURES=../docs/pictures node --test test/pictures.test.mjs
	@if command -v pngquant >/dev/null; then pngquant --strip --speed 1 --force --ext .png 64 docs/pictures/*.png; else echo "Debian's package pngquant would make them smaller"; fi

page-bench: page/node_modules ## measure the page in Chromium against a cluster of this machine (RUNS=3), as rows for RESULTS.md; needs make program and Debian's package chromium
	@cd page && node bench/budget.mjs

aims: program ## play public traces (TRACES=folder) and hold the figures against the aims, as rows for RESULTS.md
	@go run ./test/bench aims -traces "$(TRACES)" -md

bench-client: release-programs ## measure calls of the client as processes, next to sbatch if that is there; BEFORE=path of an older berth to compare with
	go run ./test/bench client -md $(if $(BEFORE),-before "$(BEFORE)")

bench-compare: program ## measure the programs of commit BASE and those of this tree in turns (RUNS=3), as rows for RESULTS.md; needs a quiet machine and ten minutes
	@[ -n "$(BASE)" ] || { echo "which commit is to be compared with? make bench-compare BASE=commit" >&2; exit 1; }
	go run ./test/bench compare -md -base "$(BASE)" -runs $(or $(RUNS),3) -trials 20

bench: program ## measure the state, the peers, a whole cluster and a flood of connections on this machine
	go test -run '^$$' -bench . -benchmem ./fsm/... ./cluster/sched ./httpapi ./httpapi/admin
	go run ./test/bench
	bin/berth bench
	go test ./test/e2e -count=1 -run TestAFloodOfConnections -v -flood.connections=$(FLOOD)

chaos: ## kill and cut off real processes for a while, then run SEEDS=500 simulated clusters of MINUTES=10
	go test ./test/e2e -count=1 -run 'TestAnyProcessDies|TestNodesAreCutOff' -timeout 30m -chaos.rounds=$(ROUNDS) -chaos.cuts=$(CUTS)
	go test ./test/sim -count=1 -run TestSim -timeout $(CHAOSTIME) -sim.seeds=$(SEEDS) -sim.minutes=$(MINUTES)

fuzz: ## fuzz every fuzz target for FUZZTIME=10s
	@found=0; \
	for dir in $$(grep -rlE --include='*_test.go' --exclude-dir=testdata '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do \
		for target in $$(go test -list '^Fuzz' "$$dir" | grep '^Fuzz'); do \
			found=$$((found + 1)); \
			echo "== $$dir $$target"; \
			timeout --kill-after=10s $(FUZZLIMIT) go test "$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); \
		done; \
	done; \
	echo "$$found fuzz targets, nothing found"

notices: ## write the licences of all that is linked into the programs to dist/THIRD_PARTY_NOTICES
	@mkdir -p dist
	@go run ./test/internal/notices -page httpapi/dashboard/dist/licenses.txt ./cmd/berth ./cmd/berthd ./cmd/berth-supervisor > dist/THIRD_PARTY_NOTICES.new
	@mv dist/THIRD_PARTY_NOTICES.new dist/THIRD_PARTY_NOTICES && echo "wrote dist/THIRD_PARTY_NOTICES"

clean: ## remove what was built
	rm -rf bin dist test/bench/out

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
