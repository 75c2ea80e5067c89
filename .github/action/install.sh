#!/usr/bin/env bash
# Puts the program `review` into a temporary folder of the runner and writes its path to the step output `binary`.
#
# The release of the version asked for (by default the one in this action's own Cargo.toml) is downloaded, and used only if its SHA-256 is
# the one in the release's SHA256SUMS and, where the input `checksum` names one, that one too. Where there is no such release the program is
# built from this checkout of the action, which is pinned by whoever uses it. A checksum that is wrong is never answered by building.
#
# Everything comes from the environment: VERSION, CHECKSUM (inputs), ACTION_REPOSITORY, and what the runner sets (GITHUB_*, RUNNER_*).
# Nothing is put on PATH, nothing is cached, and nothing of the workspace is read: it may be the head of somebody's pull request.
set -euo pipefail

tries=3
pause=${REVIEW_INSTALL_PAUSE:-2} # seconds between tries; tests set 0
largest=268435456                # bytes of an archive

escaped() { # escaped TEXT: as the runner wants the text of a command
    local text=${1//'%'/%25}
    text=${text//$'\r'/%0D}
    printf '%s' "${text//$'\n'/%0A}"
}

fail() { # fail EXIT-CODE TEXT: 2 what was asked for is wrong, 3 the program could not be had and nothing was reviewed
    printf '::error title=review was not installed::%s\n' "$(escaped "$2")"
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
        printf '### review was not installed: nothing was reviewed\n\n%s\n' "$2" >>"$GITHUB_STEP_SUMMARY"
    fi
    exit "$1"
}

native() { # native PATH: with forward slashes where the system's own form has others
    if command -v cygpath >/dev/null; then cygpath -m "$1"; else printf '%s\n' "$1"; fi
}

digest() { # digest FILE: its SHA-256 in lower case
    # From standard input, because a name with a backslash would change the form of the answer.
    if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -c 1-64
}

lower() { printf '%s' "$1" | tr '[:upper:]' '[:lower:]'; }

platform() { # platform: the target that releases are built for, or nothing
    case "${RUNNER_OS:-$(uname -s)}/${RUNNER_ARCH:-$(uname -m)}" in
    Linux/X64 | Linux/x86_64) echo x86_64-unknown-linux-musl ;;
    Linux/ARM64 | Linux/aarch64) echo aarch64-unknown-linux-musl ;;
    macOS/X64 | Darwin/x86_64) echo x86_64-apple-darwin ;;
    macOS/ARM64 | Darwin/arm64) echo aarch64-apple-darwin ;;
    Windows/X64) echo x86_64-pc-windows-msvc ;;
    *) ;;
    esac
}

download() { # download URL FILE: sets `status` to the HTTP status, 000 where there was none; `trouble` says what curl said
    local try
    for ((try = 1; ; try++)); do
        status=$(curl --silent --show-error --location --max-redirs 5 --proto "$protocols" --proto-redir "$protocols" \
            --connect-timeout 20 --max-time 300 --max-filesize "$largest" \
            --output "$2" --write-out '%{http_code}' "$1" 2>"$folder/trouble") || status=000
        trouble=$(head -c 500 "$folder/trouble")
        case "$status" in
        000 | 408 | 429 | 5??) ((try < tries)) || return 0 ;;
        *) return 0 ;;
        esac
        sleep "$pause"
    done
}

finish() { # finish BINARY HOW: the program answers, so its path is the output
    local answer
    answer=$("$1" --version 2>&1) || fail 3 "The program that was installed ($2) does not run here: $(printf '%s' "$answer" | head -c 500)"
    case "$answer" in
    "review "*) ;;
    *) fail 3 "The program that was installed ($2) is not review." ;;
    esac
    printf '%s: %s\n' "$answer" "$2"
    printf 'binary=%s\n' "$(native "$1")" >>"$GITHUB_OUTPUT"
    exit 0
}

build() { # build WHY: from the action's own checkout
    command -v cargo >/dev/null || fail 3 "$1 So the program has to be built from the action's checkout, but there is no cargo here. \
Use a commit of the action that has a release for this runner, or install Rust in a step before this one."
    printf '%s Building it from %s; this takes some minutes.\n' "$1" "$action"
    # From the action's folder: cargo and rustup take settings from the folder they start in, and the workspace may hold anybody's.
    (cd "$action" && cargo install --locked --path . --bin review --root "$folder/built" --target-dir "$folder/target") ||
        fail 3 "$1 Building the program from the action's checkout failed; the log above says where."
    rm -rf "$folder/target"
    finish "$folder/built/bin/review$suffix" "built from the action's checkout"
}

: "${GITHUB_OUTPUT:?This script is a step of the action; the runner names the file for its outputs.}"
action=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
server=${GITHUB_SERVER_URL:-https://github.com}
server=${server%/}
version=${VERSION:-}
wanted=$(lower "${CHECKSUM:-}")
target=$(platform)
suffix=
[ "${RUNNER_OS:-}" != Windows ] || suffix=.exe
# Only a server that itself speaks plain HTTP may be asked so.
case "$server" in http://*) protocols='=http,https' ;; *) protocols='=https' ;; esac

[[ -z "$wanted" || "$wanted" =~ ^[0-9a-f]{64}$ ]] || fail 2 "The input checksum is not a SHA-256: it needs 64 hexadecimal digits."
folder=$(mktemp -d "$(native "${RUNNER_TEMP:-${TMPDIR:-/tmp}}")/review-install.XXXXXX")
cd "$folder"

if [ "$version" = source ]; then
    [ -z "$wanted" ] || fail 2 "The inputs version: source and checksum contradict each other: what is built here has no checksum to name."
    build "The input version is source."
fi
if [ -z "$version" ]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$action/Cargo.toml" | head -n 1)
fi
version=${version#v}
[[ "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    fail 2 "The input version is neither a version (1.2.3) nor source. There is no latest: what runs on your code changes when you say so."

missing() { # missing WHY: there is no archive to download
    [ -z "$wanted" ] || fail 3 "$1 The input checksum names an archive, so nothing else is used in its place."
    build "$1"
}

repository=${ACTION_REPOSITORY:-}
if [ -z "$repository" ]; then
    # The runner names no repository for an action that is part of the workspace: it is the workspace's own.
    case "${GITHUB_ACTION_PATH:-}" in "${GITHUB_WORKSPACE:-/nowhere}"*) repository=${GITHUB_REPOSITORY:-} ;; *) ;; esac
fi
[[ "$repository" =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || missing "The runner does not say from which repository this action comes."
[ -n "$target" ] || missing "There are no releases for ${RUNNER_OS:-this system} on ${RUNNER_ARCH:-this processor}."
command -v sha256sum >/dev/null || command -v shasum >/dev/null ||
    fail 3 "Neither sha256sum nor shasum is installed, so no download can be checked. Install one, or set the input version: source."
command -v curl >/dev/null || fail 3 "curl is not installed, so no release can be downloaded. Install it, or set the input version: source."

name="review-$version-$target"
release="$server/$repository/releases/download/v$version"

download "$release/SHA256SUMS" sums
case "$status" in
200) ;;
404) missing "$server/$repository has no release v$version." ;;
*) fail 3 "The checksums of release v$version could not be downloaded from $release/SHA256SUMS (HTTP status $status). ${trouble} \
Run the job again; where this runner may not reach that server, set the input version: source." ;;
esac
# A page to log in is answered with 200 too.
if [ ! -s sums ] || grep -qvE '^[0-9a-f]{64} [ *][A-Za-z0-9._-]+$' sums; then
    fail 3 "What $release/SHA256SUMS answers is not a list of checksums. Where releases can be read only after logging in, set the input version: source."
fi
listed=$(awk -v name="$name.tar.gz" '{ sub(/^\*/, "", $2) } $2 == name { print $1 }' sums)
[ -n "$listed" ] || missing "Release v$version has no archive for $target."
[ "$(printf '%s\n' "$listed" | wc -l)" -eq 1 ] || fail 3 "$release/SHA256SUMS names $name.tar.gz more than once."

download "$release/$name.tar.gz" archive.tar.gz
[ "$status" = 200 ] || fail 3 "$release/$name.tar.gz could not be downloaded (HTTP status $status). $trouble Run the job again."
got=$(digest archive.tar.gz)
[ "$got" = "$listed" ] || fail 3 "The archive $name.tar.gz is not the one that the release was made with: its SHA-256 is $got, SHA256SUMS says $listed. \
It was not unpacked. Run the job again; if that does not help, tell the action's maintainers."
[ -z "$wanted" ] || [ "$got" = "$wanted" ] || fail 3 "The archive $name.tar.gz is not the one that the input checksum names: its SHA-256 is $got, \
the input says $wanted. It was not unpacked. Did the version change without the checksum?"

# One member, to a name of our own: whatever other paths an archive holds, nothing is written to them.
tar -xzOf archive.tar.gz "$name/review$suffix" >"review$suffix" 2>trouble ||
    fail 3 "The archive $name.tar.gz does not hold $name/review$suffix: $(head -c 500 trouble)"
[ -s "review$suffix" ] || fail 3 "In the archive $name.tar.gz, $name/review$suffix is not a file with anything in it."
chmod 755 "review$suffix"
rm archive.tar.gz
finish "$folder/review$suffix" "release v$version from $server/$repository, SHA-256 of the archive $got"
