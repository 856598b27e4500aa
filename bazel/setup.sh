#!/bin/bash
# Gets a Debian 12 machine ready to build csp: packages, and Abseil's sources (Debian's own binaries
# of Abseil are built as C++17 and invisible to TSan). Silent and without root where nothing is missing.
#
# Usage: bazel/setup.sh [FURTHER_PACKAGE...]      ./dev calls it.
set -euo pipefail

packages=(
  bazel-bootstrap           # Bazel 4.2.3; brings g++, make, patch, python3 and a Java runtime
  bazel-platforms           # these four are what Bazel would download, and not dependencies of it
  bazel-rules-java
  bazel-rules-proto
  bazel-skylib
  clang-format              # for tests/style
  googletest                # sources
  libboost1.81-dev          # Boost.Asio, and the headers of Boost.Context
  libboost-context1.81-dev
  libssl-dev                # for examples/md5_tree
  "$@"
)
abseil=20220623.1
abseil_sha256=abfe2897f3a30edaa74bc34365afe3c2a3cd012091a97dc7e008f7016adcd5fe
abseil_patches=(CVE-2025-0838.patch)
abseil_dir=${CSP_ABSEIL:-$HOME/.cache/csp/abseil}

die() {
  echo "csp: $*" >&2
  exit 1
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/^installed //p' || true)  # dpkg-query fails for the unknown ones
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort <<<"$installed")
}

install_packages() {
  local missing root=()
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "to install what is missing, run as root:

  apt-get install --no-install-recommends ${missing[*]}"
    root=(sudo)
  fi
  echo "csp: installing ${missing[*]}" >&2
  "${root[@]}" apt-get -q -o DPkg::Lock::Timeout=600 update >&2
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=600 \
    install --no-install-recommends "${missing[@]}" </dev/null >&2
}

# Asks the machine's own package sources for a source package; writes none of apt's files.
unpack_abseil() {
  local orig=abseil_$abseil.orig.tar.gz apt patch
  echo "csp: unpacking Abseil's sources into $abseil_dir" >&2
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/abseil"
  apt-get indextargets --format "deb-src \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' 'Origin: Debian' | grep ' main$' | sort -u >"$work/sources.list"
  apt=(apt-get -q -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=)
  "${apt[@]}" update >&2
  cd "$work"
  "${apt[@]}" -qq source --download-only abseil >&2  # or it would advise to use git
  echo "$abseil_sha256  $orig" | sha256sum --check --quiet >&2 || die "$orig is not the expected file"
  tar -xzf "$orig" -C abseil --strip-components=1
  # Of Debian's patches only the security fixes: the others would change what the types are.
  tar -xJf abseil_*.debian.tar.xz
  for patch in "${abseil_patches[@]}"; do
    patch -s -p1 -d abseil <"debian/patches/$patch"
  done
  abseil_stamp >abseil/csp_stamp
  rm -rf "$abseil_dir"
  mv -T abseil "$abseil_dir"
}

abseil_stamp() { echo "$abseil_sha256 ${abseil_patches[*]}"; }

main() {
  [ -e /etc/debian_version ] || die "only Debian is set up by this script; see README.md for other systems"
  install_packages
  if [ "$(cat "$abseil_dir/csp_stamp" 2>/dev/null)" != "$(abseil_stamp)" ]; then
    mkdir -p "$(dirname "$abseil_dir")" 2>/dev/null ||
      die "cannot make $(dirname "$abseil_dir"), where Abseil's sources go; set CSP_ABSEIL to another place"
    exec 9>"$abseil_dir.lock"
    flock 9  # two setups at once: the second finds the work done
    work=$(mktemp -d "$abseil_dir.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    [ "$(cat "$abseil_dir/csp_stamp" 2>/dev/null)" = "$(abseil_stamp)" ] || unpack_abseil
  fi
}

main
