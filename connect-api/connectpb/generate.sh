#!/bin/sh
# Generates the Go code beside connect.proto; `make proto` calls it. Needs protoc (3.21 or later) in PATH and installs the
# exact generators outside the tree, so that the result is the same everywhere.
set -eu
cd "$(dirname "$0")"
bin="${PENSTOCK_PROTO_BIN:-${TMPDIR:-/tmp}/penstock-proto-1.36.12-1.6.2}"
[ -x "$bin/protoc-gen-go" ] || GOBIN="$bin" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
[ -x "$bin/protoc-gen-go-grpc" ] || GOBIN="$bin" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH="$bin:$PATH" protoc --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative connect.proto
# The version of protoc itself is no part of the result.
sed -i '/^\/\/ .*protoc  *v/d' connect.pb.go connect_grpc.pb.go
