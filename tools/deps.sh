#!/bin/bash
# deps.sh demo|tests   installs what the demo, or the tests, need: Debian packages, and servers by Maven into a cache
# outside the tree: PENSTOCK_CACHE, else /var/cache/penstock for root (servers that run as nobody must reach it), else
# ~/.cache/penstock. Everything comes by package name; nothing is started.
set -euo pipefail
what=${1:?demo or tests}
here=$(cd "$(dirname "$0")/.." && pwd)
own=${XDG_CACHE_HOME:-$HOME/.cache}/penstock
[ "$(id -u)" != 0 ] || own=/var/cache/penstock
cache=${PENSTOCK_CACHE:-$own}

packages=()
need() { # need COMMAND PACKAGE
  command -v "$1" > /dev/null || [ -x "/usr/sbin/$1" ] || packages+=("$2")
}
need mariadbd mariadb-server-core
need mariadb mariadb-client-core
if [ "$what" = tests ]; then
  need kcat kcat
  need javac default-jdk-headless
  need mvn maven
  need unzip unzip
  need curl curl
  need gcc gcc # go test -race
  [ -e /usr/include/pthread.h ] || packages+=(libc6-dev)
  need python3 python3
  python3 -c 'import ensurepip' > /dev/null 2>&1 || packages+=(python3-venv)
fi
if [ ${#packages[@]} -gt 0 ]; then
  sudo=(); [ "$(id -u)" = 0 ] || sudo=(sudo)
  if ! command -v apt-get > /dev/null || { [ ${#sudo[@]} -gt 0 ] && ! command -v sudo > /dev/null; }; then
    echo "please install: ${packages[*]}" >&2; exit 1
  fi
  echo "installing ${packages[*]}"
  "${sudo[@]}" apt-get -qq update
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get -qq -y --no-install-recommends install "${packages[@]}" > /dev/null
fi
[ "$what" = tests ] || exit 0

mkdir -p "$cache"
if [ ! -e "$cache/kafka/.ok" ]; then
  echo "fetching Apache Kafka's clients and tools into $cache/kafka"
  mkdir -p "$cache/kafka"
  mvn -q -B -f "$here/internal/testenv/parts/kafka/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$cache/kafka/lib"
  touch "$cache/kafka/.ok"
fi
if ! ls "$cache"/elasticsearch/elasticsearch-*/.ok > /dev/null 2>&1; then
  echo "fetching Elasticsearch into $cache/elasticsearch"
  ES_ONLY_FETCH=1 ES_CACHE="$cache/elasticsearch" bash "$here/internal/testenv/parts/elasticsearch/start.sh" "$cache/elasticsearch" 0
fi
# What the tests need of Python: pyarrow reads what the lake connector wrote; the others are Kafka clients and their codecs.
python=(pyarrow==26.0.1 confluent-kafka==2.16.1 kafka-python==3.0.12 cramjam==2.14.0 python-snappy==0.7.3 lz4==4.4.5 zstandard==0.25.0)
if [ "$(cat "$cache/venv/.has" 2> /dev/null)" != "${python[*]}" ]; then
  echo "installing ${python[*]} into $cache/venv"
  [ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q --disable-pip-version-check "${python[@]}"
  echo "${python[*]}" > "$cache/venv/.has"
fi
