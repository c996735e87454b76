#!/usr/bin/env bash
# Runs what compose.yaml describes without containers, from programs of Debian and npm, until it is interrupted: two servers behind nginx on
# DynamoDB Local, versitygw (bin/taggie-s3), Redis, an OpenID provider and Prometheus. With `check`, it signs in through nginx, tries HTTP/2,
# sockets, event streams and the loss of a server, and ends.
#
# Needs `make engines build`, and nginx, redis-server, prometheus, openssl, curl, Java 17, Node and npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

data=${LOCAL_DATA:-$PWD/local/data}
mkdir -p "$data"/{nginx/tls,s3,dynamodb,redis,prometheus,npm}
taggie=$PWD/../bin/taggie

for program in "$taggie" "$taggie-s3" nginx redis-server prometheus openssl curl java node npm; do
  command -v "$program" >/dev/null || { echo "deploy/local.sh: $program is missing" >&2; exit 1; }
done

servers=()
# stop ends the servers before their stores.
stop() {
  trap - EXIT
  kill "${servers[@]}" 2>/dev/null || true
  wait "${servers[@]}" || true
  jobs -p | xargs -r kill 2>/dev/null || true
  wait
}
trap stop EXIT
trap 'exit 130' INT TERM

parts=0
# start NAME COMMAND… runs a command in the background; its output goes to a file.
start() {
  local log=$data/$1.log
  shift
  "$@" >"$log" 2>&1 </dev/null &
  parts=$((parts + 1))
}

# ready URL waits until something answers there, whatever it says, as long as all parts run.
ready() {
  for _ in $(seq 600); do
    if curl -sk -o /dev/null --max-time 2 "$1"; then return; fi
    [ "$(jobs -pr | wc -l)" = "$parts" ] || break
    sleep 0.1
  done
  echo "deploy/local.sh: $1 does not answer; see $data/*.log" >&2
  exit 1
}

cp local/*.mjs "$data/npm"
if ! cmp -s local/package.json "$data/npm/installed.json"; then
  cp local/package.json "$data/npm"
  (cd "$data/npm" && npm install --no-audit --no-fund --loglevel=error --no-package-lock)
  cp local/package.json "$data/npm/installed.json"
fi
if [ ! -e "$data/nginx/tls/cert.pem" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$data/nginx/tls/key.pem" -out "$data/nginx/tls/cert.pem" 2>/dev/null
fi
[ -e "$data/secret" ] || (umask 077 && openssl rand -base64 32 >"$data/secret")
cp compose/nginx.conf "$data/nginx"

set -a
. compose/taggie.env
TAGGIE_SECRET=$(cat "$data/secret")
PASSWORD=${PASSWORD:-$(openssl rand -hex 8)}
set +a

emulator=$data/npm/node_modules/amplify-dynamodb-simulator/emulator
start dynamodb env -C "$data/dynamodb" java "-Djava.library.path=$emulator/DynamoDBLocal_lib" -jar "$emulator/DynamoDBLocal.jar" -sharedDb -dbPath "$data/dynamodb" -port 8000
start s3 env TAGGIE_S3_ACCESS_KEY="$AWS_ACCESS_KEY_ID" TAGGIE_S3_SECRET_KEY="$AWS_SECRET_ACCESS_KEY" \
  "$taggie-s3" -dir "$data/s3" -listen 127.0.0.1:7070 -region "$AWS_REGION"
start redis redis-server --bind 127.0.0.1 --port 6379 --dir "$data/redis" --appendonly yes --appendfsync everysec --maxmemory-policy noeviction
start issuer node "$data/npm/issuer.mjs"
start prometheus prometheus --config.file=compose/prometheus.yml --storage.tsdb.path="$data/prometheus" --web.listen-address=127.0.0.1:9090
start nginx nginx -p "$data/nginx/" -c "$data/nginx/nginx.conf" -e stderr -g "daemon off; pid $data/nginx/nginx.pid;"
ready http://127.0.0.1:8000
ready http://127.0.0.1:7070
ready http://127.0.0.1:5556/.well-known/openid-configuration

"$taggie" tables apply >"$data/tables.log" 2>&1 || { cat "$data/tables.log" >&2; exit 1; }
start taggie-1 env TAGGIE_ADDR=127.0.0.1:8081 TAGGIE_METRICS_ADDR=127.0.0.1:9464 "$taggie" serve
servers+=($!)
start taggie-2 env TAGGIE_ADDR=127.0.0.1:8082 TAGGIE_METRICS_ADDR=127.0.0.1:9465 "$taggie" serve
servers+=($!)
ready http://127.0.0.1:8081/readyz
ready http://127.0.0.1:8082/readyz
ready https://127.0.0.1:8443/readyz

if [ "${1:-}" = check ]; then
  FIRST=${servers[0]} node "$data/npm/check.mjs"
  exit
fi
cat <<TEXT
Taggie is at https://localhost:8443/, with a certificate that browsers do not know. A token for GraphiQL and the board:

  curl -s http://127.0.0.1:5556/token -d grant_type=password -d client_id=taggie -d scope=openid \\
    -d username=ada@example.com -d password=$PASSWORD

Prometheus is at http://127.0.0.1:9090/. Press Ctrl-C to stop everything; the data stays in $data.
TEXT
wait
