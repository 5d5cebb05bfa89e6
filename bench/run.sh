#!/bin/bash
# make bench: each program prints its own lines; figures compare only inside one run.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "machine: $(nproc) cores, $(awk '/MemTotal/{printf "%.0f GiB", $2/1048576}' /proc/meminfo), load $(cut -d' ' -f1 /proc/loadavg), $(go version | cut -d' ' -f3)"
echo; echo "== idle server"
CGO_ENABLED=0 go run ./bench/idle
echo; echo "== plugin wire: host and plugin together, against a bare go-plugin bytes stream with the same pooled codec"
CGO_ENABLED=0 go run ./bench/pluginwire
echo; echo "== broker, beside Apache Kafka with the same clients (KLITE=/path adds klite; figures in brackets: ours divided by theirs)"
CGO_ENABLED=0 go build -o bin/bench-broker ./bench/broker
bin/bench-broker
echo; echo "== workers: many tasks, failover, flows, against Apache Kafka Connect"
CGO_ENABLED=0 go build -trimpath -o bin/checker/penstock-connector-checker ./internal/e2e/checker
CGO_ENABLED=0 go build -o bin/bench-connect ./bench/connect
bin/bench-connect
