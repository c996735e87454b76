# Everything one does with Taggie. `make` alone lists the targets.
#
# Go, Node and npm are enough for all of them; a C compiler, redis-server, promtool, Chromium and Firefox widen what is tested.
# Every target walks every go.mod of the repository: `./...` stops at the border of a module.

.DEFAULT_GOAL := help
.PHONY: help run demo build engines console test test-long soak capacity check check-go check-generated check-console check-alerts e2e docs-check pictures reactions examples bench release
.DELETE_ON_ERROR:

MODULES     := $(shell find . -name node_modules -prune -o -name go.mod -exec dirname {} \; | LC_ALL=C sort -r)
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GENERATED   := graph examples/genqlient/generated.go
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.8.0
# Without version control stamps, which fail in a checkout that belongs to another user; VERSION takes their place.
# With -trimpath everywhere, another checkout finds in the build cache what this one has compiled.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath -buildvcs=false

# The root comes last. $(call each-module,command) runs a command in every module, and fails at the first that fails.
each-module = set -e; for module in $(MODULES); do (set -x; cd $$module && $(1)); done

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: engines build ## Start the server on embedded engines, with a small demo set at the first start
	bin/taggie serve

demo: build ## Load the full demo set into the running server, and have a crew label it
	bin/taggie demo

build: console bin/taggie-s3 bin/taggie-redis bin/taggie-gate ## Build the server and the engines that are written in Go into bin/
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/taggie .

engines: bin/taggie-s3 bin/taggie-redis bin/taggie-gate embedded/dynamodb/node_modules/.installed ## Fetch and build the embedded engines

bin/taggie-s3 bin/taggie-redis bin/taggie-gate: bin/taggie-%: embedded/%/go.mod
	cd embedded/$* && CGO_ENABLED=0 go build -o ../../$@ .
bin/taggie-s3: embedded/s3/go.sum $(filter-out %_test.go,$(wildcard embedded/s3/*.go))
bin/taggie-redis: embedded/redis/go.sum $(filter-out %_test.go,$(wildcard embedded/redis/*.go))
bin/taggie-gate: $(filter-out %_test.go,$(wildcard embedded/gate/*.go))

# It leaves no stamp where there is no program because another DynamoDB is configured in its place.
embedded/dynamodb/node_modules/.installed: embedded/dynamodb/install.mjs embedded/dynamodb/package.json embedded/dynamodb/package-lock.json
	node $< $(shell go env GOOS GOARCH)

console: console/dist/index.html ## Build the pages, when their sources have changed

console/dist/index.html: console/node_modules/.installed schema.graphqls \
		$(shell find console \( -name node_modules -o -name dist -o -name gql \) -prune -o -type f ! -name '*.go' ! -name '*.md' -print) \
		README.md $(wildcard docs/*.md docs/tour/*.md docs/pictures/*.png)
	cd console && npm run build
	@touch $@

%/node_modules/.installed: %/package.json %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --loglevel=error
	@mkdir -p $(@D) && touch $@

# A prerequisite that is missing leaves tests out, which the last lines say; TAGGIE_TEST_REQUIRE=race,redis,cluster
# makes it a failure, here and in the tests themselves. A program with the race detector would sleep a second before it
# ends, of which there are many. The tests make thousands of clients of engines that speak plain HTTP: with AWS_CA_BUNDLE,
# each client would read the certificates of all authorities first.
test: engines ## Run all tests of all modules; the last lines say what was left out
	@race= left= failed=; export AWS_CA_BUNDLE=; \
	lack() { \
		case ",$$TAGGIE_TEST_REQUIRE," in \
			*",$$1,"*) echo "make test: $$1 is required by TAGGIE_TEST_REQUIRE, but $$2 is missing" >&2; exit 1;; \
		esac; \
		left="$$left  $$1: $$3 ($$2 is missing)\n"; \
	}; \
	if echo '#include <stdlib.h>' | $$(go env CC) -E - >/dev/null 2>&1; then race=-race; export CGO_ENABLED=1 GORACE="atexit_sleep_ms=0 $$GORACE"; \
	else lack race 'a C compiler' 'the race detector'; fi; \
	command -v redis-server >/dev/null || { \
		lack redis redis-server 'the suites on a real Redis'; lack cluster redis-server 'the suites on a Redis Cluster'; }; \
	for module in $(MODULES); do \
		(set -x; cd $$module && go test $$race -timeout 40m $(TESTFLAGS) ./...) || failed="$$failed $$module"; \
	done; \
	echo; \
	if [ -n "$$left" ]; then printf "Left out:\n$$left"; else echo 'Nothing was left out for want of a tool.'; fi; \
	if [ -n "$$failed" ]; then echo "FAILED in:$$failed"; exit 1; fi

# Without the race detector, which would slow down the tests and not the servers. Only on Unix: servers are stopped and continued there.
test-long: engines ## Break servers and Redis, let 100 people label 10,000 items, and check all that was answered (docs/reliability.md)
	TAGGIE_TEST_REQUIRE=redis,cluster TAGGIE_TEST_FULL=yes go test -tags long -count 1 -timeout 40m -v \
		-run '^(TestLongCampaigns|TestManyLabellersFinishEveryItemOnce|TestWhatWasFinishedStaysFinishedWhenServersDieAndRedisIsEmptied)$$' \
		$(TESTFLAGS) ./internal/apitest/fleets
	go test -tags long -count 1 -timeout 40m -v -run '^TestALargeProjectIsDeleted$$' $(TESTFLAGS) ./internal/apitest/queues

# Without the race detector, which would hide how servers use memory. SOAK is how long things break, as a duration of Go.
SOAK ?= 1h
soak: engines ## Break servers, engines and what is between them for SOAK (1h), and measure what servers use (docs/reliability.md)
	AWS_CA_BUNDLE= TAGGIE_TEST_REQUIRE="redis,$$TAGGIE_TEST_REQUIRE" TAGGIE_TEST_SOAK=$(SOAK) \
		go test -tags long -count 1 -timeout 0 -v -run '^TestSoak$$' $(TESTFLAGS) ./internal/apitest/fleets

# CAPACITY are flags that come after these, such as -capacity-items 2000 or -capacity-each 5s; docs/capacity.md lists them.
capacity: engines ## Count what operations take of DynamoDB, Redis and servers, and extrapolate it; 20 minutes (docs/capacity.md)
	AWS_CA_BUNDLE= TAGGIE_TEST_REQUIRE="redis,$$TAGGIE_TEST_REQUIRE" go test -count 1 -timeout 0 -v -run '^TestCapacity$$' $(TESTFLAGS) ./internal/apitest/fleets \
		-capacity-items 20000 -capacity-labellers 100 -capacity-servers 3 -capacity-operations 200 -capacity-rest 20s $(CAPACITY)

check: check-generated check-go check-console check-alerts ## Format, vet, linters, tidy modules, current generated code, the tests of the pages and of the alerts

check-go:
	@unformatted=$$(find . -name node_modules -prune -o -name '*.go' -exec gofmt -l {} +); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	@$(call each-module,go mod tidy -diff)
	@$(call each-module,go run $(GOLANGCI) run --build-tags long ./...)

# Generates into place and compares with what was there, so that it also works on a tree with changes in it.
check-generated:
	@before=$$(find $(GENERATED) -type f -exec cksum {} + | sort); \
	$(call each-module,go generate ./...); \
	after=$$(find $(GENERATED) -type f -exec cksum {} + | sort); \
	if [ "$$before" != "$$after" ]; then echo '$(GENERATED): not current; now they are: look at the change and commit it'; exit 1; fi

check-console: console
	cd console && npm run lint --if-present && npm test --if-present

# promtool comes with Prometheus (Debian: apt-get install prometheus). TAGGIE_TEST_REQUIRE=promtool makes it a failure that it is missing.
check-alerts:
	@if command -v promtool >/dev/null; then \
		set -ex; cd deploy/monitoring; promtool check config prometheus.yml; promtool test rules taggie.rules.test.yml; \
	else \
		case ",$$TAGGIE_TEST_REQUIRE," in \
			*,promtool,*) echo 'make check: promtool is required by TAGGIE_TEST_REQUIRE, but it is missing' >&2; exit 1;; \
		esac; \
		echo 'Left out: the unit tests of the alert rules (promtool is missing)'; \
	fi

e2e: engines build e2e/node_modules/.installed ## Drive the pages in headless browsers, and audit HTTP
	cd e2e && npm test

docs-check: engines build e2e/node_modules/.installed ## Run every query and shell block of the documentation; e2e does it too
	cd e2e && npm run docs

pictures: engines build e2e/node_modules/.installed ## Make the pictures of the documentation again
	cd e2e && npm run pictures

# With 10,000 items, which take some minutes to import; LARGE_ITEMS is another number.
reactions: engines build e2e/node_modules/.installed ## Measure how quickly the pages of the board react in a large project (docs/performance.md)
	cd e2e && LARGE_ITEMS=$${LARGE_ITEMS:-10000} npm run reactions

examples: engines build examples/node_modules/.installed ## Run the clients of examples/ against a server of their own
	cd examples && npm run generate && npm run check && npm test

bench: engines build ## Compare with a hand-written handler, in one run
	go run ./bench

# It must be given here: what git describes is no version of a release.
release: ## Write the archives of VERSION, such as v0.1.0, to dist/, and run those that this machine can run
	@deploy/release/release.sh $(if $(filter command line,$(origin VERSION)),$(VERSION))
