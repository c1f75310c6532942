# Everything the project needs, from a fresh Debian 12 or 13 with git, make and Python 3.11 or newer.
#
#   make demo       set up, then a finished search on a real rsyslogd and a real Elasticsearch
#   make test       set up, then the tests of what the product promises
#   make test-all   the rest of the tests too: hours on slow cores
#
# Set up once, both work without a network.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests wait a third of their time: for rsyslogd, an engine, the end of a budget.
PROCESSES ?= $(shell echo $$(($$(nproc) * 3 / 2)))
SLOWEST := --durations=15 --durations-min=5
AGAIN := $(BIN)/pytest --last-failed --last-failed-no-failures none
PACKAGES := rsyslog rsyslog-elasticsearch rsyslog-relp rsyslog-gnutls rsyslog-kafka \
	openjdk-17-jre-headless|openjdk-21-jre-headless|openjdk-25-jre-headless maven \
	python3-venv gcc libc6-dev \
	chromium|chromium-browser chromium-driver|chromium-chromedriver \
	openssh-client openssh-server iproute2

# Commands start in a fraction of the time where Python may keep what it compiled.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup packages engine engines rsyslogs managers broker mmdebstrap demo test test-all lint man bench \
	bench-peers mutants fuzz clean

setup: packages $(VENV)/.ready engine

# With root the missing packages are installed; without, the command to do it is printed.
packages:
	@.ci/packages $(foreach package,$(PACKAGES),'$(package)')

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint $(word 2,$^) --editable '.[dev]'
	@touch $@

engine: $(VENV)/.ready
	@$(BIN)/rsyslog-tune doctor --fetch default

# What the tests need beside it; those that no Java here runs are skipped.
engines: engine
	@.ci/packages --if-offered 'openjdk-21-jre-headless|openjdk-25-jre-headless'
	@$(BIN)/rsyslog-tune doctor --fetch all > /dev/null

# Every rsyslog that is out there, beside the system's own.
rsyslogs: $(VENV)/.ready
	@$(BIN)/python -m tests.live.rsyslogs

# Those that apply what `render --format` writes, and systemd, which checks units without running;
# Ansible comes with the tests' own packages.
managers: .salt/.ready .operator/.ready
	@.ci/packages puppet-agent systemd

.salt/.ready:
	$(PYTHON) -m venv .salt
	.salt/bin/pip install --quiet --disable-pip-version-check 'salt>=3008,<3009'
	@touch $@

# What Dask's operator takes on Kubernetes, and what checks a manifest against it.
.operator/.ready:
	$(PYTHON) -m venv .operator
	.operator/bin/pip install --quiet --disable-pip-version-check check-jsonschema
	.operator/bin/pip install --quiet --disable-pip-version-check --no-deps 'dask-kubernetes>=2026.3'
	@touch $@

# A Kafka broker, which Maven fetches with all that it needs.
broker: .kafka/.ready

.kafka/.ready: tests/live/kafka.pom.xml
	mvn --quiet --batch-mode --strict-checksums --file $< \
		org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory=$(CURDIR)/.kafka
	@touch $@

# What makes a fresh Debian to set up in.
mmdebstrap:
	@.ci/packages mmdebstrap debian-archive-keyring

demo: setup
	$(BIN)/rsyslog-tune search --conf examples/collector/rsyslog.conf --budget 10m --seed 1

# What the product promises, on real components, in minutes.
# A test that fails beside the others is tried once more by itself, and both tries are said.
test: setup
	$(BIN)/pytest --numprocesses $(PROCESSES) --dist loadscope --no-loadscope-reorder $(SLOWEST) || $(AGAIN)

# The same, and the rest: eight engines, a fresh Debian 13, every parameter, long searches, bottlenecks,
# faults, soak.
# It ends with the scorecard of the faults (tests/safety) and the table of the repairs (tests/live).
# What depends on the release of rsyslog is run once more with each other one.
# What measures has the machine for itself.
test-all: test engines rsyslogs managers broker mmdebstrap
	$(BIN)/pytest -m "full and not alone" --numprocesses $(PROCESSES) --no-loadscope-reorder $(SLOWEST) || \
		$(AGAIN) -m "full and not alone"
	$(BIN)/python -m tests.live.rsyslogs --others --numprocesses $(PROCESSES) --no-loadscope-reorder $(SLOWEST)
	$(BIN)/pytest -m alone $(SLOWEST)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The manual page, to be written anew when a command or an option changes; a test tells.
man: $(VENV)/.ready
	$(BIN)/python -m tests.cli.manual > man/rsyslog-tune.1

bench: setup
	$(BIN)/python -m tests.benchmarks.flood_cost
	$(BIN)/python -m tests.benchmarks.sink_cost
	$(BIN)/python -m tests.benchmarks.sink_share
	$(BIN)/python -m tests.benchmarks.import_cost

# An hour, as root, with Go: other shippers on the same work, for docs/peers.md.
bench-peers: setup rsyslogs
	$(BIN)/python -m tests.benchmarks.peers --picture docs/peers.png

# Hours: small changes to what carries promises, and whether a fast test notices each.
mutants: setup
	$(BIN)/python -m tests.mutants

# Hours, too: hostile profiles, changes of generated configurations, and damaged ones.
fuzz: $(VENV)/.ready
	$(BIN)/pytest -m fuzz

clean:
	rm -rf $(VENV) .kafka .salt .operator dist build mutants
