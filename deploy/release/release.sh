#!/usr/bin/env bash
# Writes a release to dist/: `make release VERSION=v0.1.0`. Each platform gets an archive and an SBOM. All of them share
# SHA256SUMS and NOTES.md, which tells what was run and what was only built. Made twice from one commit with the same Go
# and npm, an archive has the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

platforms=(linux/amd64 linux/arm64 darwin/arm64 darwin/amd64)
gomod=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0

fail() { echo "make release: $*" >&2; exit 1; }

version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail 'VERSION is missing, such as VERSION=v0.1.0'
grep -q "^## \[${version#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no section [${version#v}]"
[ -z "$(git status --porcelain)" ] || fail 'there are changes that are not committed'
commit=$(git log -1 --format=%H)
epoch=$(git log -1 --format=%ct)
host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf dist
mkdir dist

# build DIRECTORY OS ARCH builds all programs of a platform that are written in Go.
build() {
  local -x CGO_ENABLED=0 GOOS=$2 GOARCH=$3
  go build -ldflags "-s -w -X main.version=$version" -o "$1/taggie" .
  for engine in s3 redis gate; do
    (cd embedded/$engine && go build -ldflags '-s -w' -o "$1/taggie-$engine" .)
  done
}

# fetch_dynamodb DIRECTORY OS ARCH adds the program of the embedded DynamoDB, or fails where npm does not have it.
fetch_dynamodb() {
  local at=$1.dynamodb
  mkdir "$at"
  cp embedded/dynamodb/{install.mjs,package.json,package-lock.json} "$at"
  node "$at/install.mjs" "$2" "$3" >"$at/log" 2>&1 || return 1
  install -m 755 "$at"/node_modules/@dynoxide/*/dynoxide "$1/dynoxide" 2>>"$at/log"
}

# sbom NAME lists what is in the programs and pages of an archive.
sbom() {
  local parts=$work/$1.parts dir=$work/$1
  mkdir "$parts"
  for program in taggie taggie-s3 taggie-redis taggie-gate; do
    go run $gomod bin -json -std -noserial -version "$version" -output "$parts/$program.json" "$dir/$program" 2>"$parts/log" ||
      { cat "$parts/log" >&2; return 1; }
  done
  # npm would complain that GraphiQL's explorer wants an older React.
  (cd console && npm sbom --sbom-format=cyclonedx --omit=dev --legacy-peer-deps) >"$parts/pages.json"
  node deploy/release/sbom.mjs "$version" "$epoch" "$dir" "$parts" "$dir".dynamodb/node_modules/@dynoxide/*/package.json >"dist/$1.cdx.json"
}

# emulate COMMAND… runs a command where the kernel starts programs for arm64 with qemu-user, or fails where that is not possible.
emulate() {
  local qemu
  qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || return 1
  unshare --user --map-root-user --mount sh -c '
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
    printf "%s" ":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$0:" \
      >/proc/sys/fs/binfmt_misc/register &&
    exec "$@"' "$qemu" "$@"
}

# try NAME OS/ARCH runs what was packed, and prints what was run.
try() {
  mkdir "$work/try-$1"
  tar -xzf "dist/$1.tar.gz" -C "$work/try-$1"
  local command=(node deploy/release/try.mjs "$version" "$work/try-$1/$1")
  local -x DYNAMODB_OF_HOST=$work/taggie-$version-${host/\//-}/dynoxide
  if [ ! -x "$DYNAMODB_OF_HOST" ]; then
    echo 'nothing: only built, on a machine for which there was no DynamoDB'
  elif [ "$2" = "$host" ]; then
    "${command[@]}"
  elif [ "$2" = linux/arm64 ] && emulate true 2>/dev/null; then
    emulate "${command[@]}" --emulated
  else
    echo 'nothing: only built'
  fi
}

make --no-print-directory console
table=''
for platform in "${platforms[@]}"; do
  os=${platform%/*} arch=${platform#*/}
  name=taggie-$version-$os-$arch
  dir=$work/$name
  echo "== $name"
  mkdir "$dir"
  build "$dir" "$os" "$arch"
  engines='DynamoDB, S3, Redis'
  if ! fetch_dynamodb "$dir" "$os" "$arch"; then
    [ "$platform" != linux/amd64 ] || { cat "$dir.dynamodb/log" >&2; fail 'there is no DynamoDB for linux/amd64'; }
    engines='S3, Redis; npm did not provide DynamoDB when the archive was made'
  fi
  git archive "$commit" README.md CHANGELOG.md LICENSE NOTICE SECURITY.md schema.graphqls docs deploy ':!deploy/release' ':!deploy/local*' ':!*.go' ':!*go.mod' ':!*go.sum' | tar -x -C "$dir"
  GOOS=$os GOARCH=$arch CGO_ENABLED=0 node deploy/release/licenses.mjs "$dir" >"$dir/THIRD-PARTY-LICENSES.txt"
  sbom "$name"
  tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -C "$work" -c "$name" |
    gzip -9n >"dist/$name.tar.gz"
  tried=$(try "$name" "$platform")
  echo "   run: $tried"
  table+="| \`$name.tar.gz\` | $engines | $tried |"$'\n'
done

cat >dist/NOTES.md <<NOTES
# Taggie $version

Made from commit $commit with $(go env GOVERSION). docs/install.md in each archive has the steps from the archive to a running
server. The SBOMs (\`.cdx.json\`) are in the form of CycloneDX. Check all files with \`sha256sum -c SHA256SUMS\`.

| Archive | Embedded engines in it | What was run of it |
|---|---|---|
$table
$(awk -v section="## [${version#v}]" 'index($0, "## [") == 1 { on = index($0, section) == 1 } on' CHANGELOG.md)
NOTES
(cd dist && sha256sum ./*.tar.gz ./*.cdx.json | sed 's| \./| |' >SHA256SUMS)
ls -l dist
