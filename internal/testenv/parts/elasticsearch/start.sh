#!/bin/bash
# start.sh DIR PORT   start a real Elasticsearch on 127.0.0.1:PORT, everything under DIR.
# Foreground: this pid becomes Elasticsearch's launcher; SIGTERM to it stops the server, and so does its death.
# The server is unpacked once into ES_CACHE (default DIR) and shared; DIR/{config,data,logs,tmp} are made anew at each start.
# Both, and every folder above them, must be searchable by user nobody (mktemp -d and Go's t.TempDir give 0700 parents). Needs mvn, javac, unzip.
# Environment, all optional:
#   ES_VERSION     8.19.7 (default), 8.6.2 or 7.17.29 on Java 17; 9.5.3 with ES_JAVA_HOME naming a newer one
#   ES_JAVA_HOME, ES_JAVA_OPTS, ES_EXTRA_YML (lines added to elasticsearch.yml)
#   ES_USER        name:password (6 characters or more): security on, that superuser in the file realm
#   ES_ONLY_FETCH  set: unpack into ES_CACHE and end
#   ES_TLS         cert.pem,key.pem: HTTPS (needs ES_USER)
set -euo pipefail
DIR=$(mkdir -p "$1" && cd "$1" && pwd); PORT=$2
V=${ES_VERSION:-8.19.7}
JH=${ES_JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}
HERE=$(cd "$(dirname "$0")" && pwd)
CACHE=$(mkdir -p "${ES_CACHE:-$DIR}" && cd "${ES_CACHE:-$DIR}" && pwd); H=$CACHE/elasticsearch-$V
exec 9>"$CACHE/.lock"; flock 9
if [ ! -e "$H/.ok" ]; then
  mkdir -p "$CACHE/zip"
  mvn -q -B -Dstyle.color=never -f "$HERE/pom.xml" -Des.version="$V" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DincludeTypes=zip -DoutputDirectory="$CACHE/zip"
  rm -rf "$H"; unzip -q "$CACHE/zip/elasticsearch-$V.zip" -d "$CACHE"; rm -r "$CACHE/zip"
  if ! unzip -l "$H/lib/elasticsearch-$V.jar" org/elasticsearch/rest/action/RestMainAction.class > /dev/null; then   # GET / moved to a module
    P=$H/plugins/rest-root; mkdir -p "$P" "$CACHE/build"
    cp "$HERE/restroot/RestRootPlugin.java" "$CACHE/build/"
    case $V in 9.*) sed -i '/\/\/ 8\.x$/d; s#//9\.x ##' "$CACHE/build/RestRootPlugin.java";; esac
    "$JH/bin/javac" -nowarn -proc:none -cp "$H/lib/*" -d "$CACHE/build/classes" "$CACHE/build/RestRootPlugin.java"
    "$JH/bin/jar" --create --file "$P/rest-root.jar" -C "$CACHE/build/classes" .
    printf '%s\n' name=rest-root 'description=answers GET /' version=1.0 "elasticsearch.version=$V" java.version=17 \
      classname=RestRootPlugin has.native.controller=false > "$P/plugin-descriptor.properties"
    rm -r "$CACHE/build"
  fi
  touch "$H/.ok"
fi
flock -u 9; exec 9>&-
[ -z "${ES_ONLY_FETCH:-}" ] || exit 0
rm -rf "$DIR/data" "$DIR/logs" "$DIR/tmp" "$DIR/config"
mkdir -p "$DIR/data" "$DIR/logs" "$DIR/tmp"
cp -r "$H/config" "$DIR/config"
sed -i '/-Xlog:gc/d; /HeapDump/d; /ErrorFile/d' "$DIR/config/jvm.options"   # no gc log, no heap dumps
cat > "$DIR/config/elasticsearch.yml" <<Y
cluster.name: test
node.name: n1
discovery.type: single-node
http.host: 127.0.0.1
http.port: $PORT
transport.host: 127.0.0.1
transport.port: 0
path.data: $DIR/data
path.logs: $DIR/logs
node.processors: 2
cluster.routing.allocation.disk.threshold_enabled: false
Y
if [ -n "${ES_USER:-}" ]; then
  echo "xpack.security.enabled: true" >> "$DIR/config/elasticsearch.yml"
  if [ -n "${ES_TLS:-}" ]; then
    cp "${ES_TLS%,*}" "$DIR/config/http.crt"; cp "${ES_TLS#*,}" "$DIR/config/http.key"
    printf 'xpack.security.http.ssl.%s\n' 'enabled: true' 'certificate: http.crt' 'key: http.key' >> "$DIR/config/elasticsearch.yml"
  fi
  env -u JAVA_HOME ES_JAVA_HOME="$JH" ES_PATH_CONF="$DIR/config" "$H/bin/elasticsearch-users" useradd "${ES_USER%%:*}" -p "${ES_USER#*:}" -r superuser
else
  echo "xpack.security.enabled: false" >> "$DIR/config/elasticsearch.yml"
fi
[ -z "${ES_EXTRA_YML:-}" ] || printf '%s\n' "$ES_EXTRA_YML" >> "$DIR/config/elasticsearch.yml"
RUN=()
if [ "$(id -u)" = 0 ]; then   # Elasticsearch refuses to run as root
  chown -R nobody "$DIR/data" "$DIR/logs" "$DIR/tmp" "$DIR/config"
  RUN=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
cd "$DIR"
exec "${RUN[@]}" env -i PATH=/usr/bin:/bin HOME="$DIR/tmp" HOSTNAME=localhost \
  ES_JAVA_HOME="$JH" ES_PATH_CONF="$DIR/config" ES_TMPDIR="$DIR/tmp" CLI_JAVA_OPTS=-XX:TieredStopAtLevel=1 \
  ES_JAVA_OPTS="${ES_JAVA_OPTS:--Xms512m -Xmx512m -XX:-UseG1GC -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-AlwaysPreTouch}" \
  "$H/bin/elasticsearch"
