#!/usr/bin/env bash
# Installs Debian packages. `demo` installs the packages that compiling and the demo need. `all`
# also installs the packages that the tests need. The script may be run several times.
set -euo pipefail
what=${1:-all}

missing=()
need() { # command, Debian packages
    command -v "$1" >/dev/null 2>&1 || missing+=("${@:2}")
}
need cc gcc libc6-dev
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
if [[ $what == all ]]; then
    need git git
    need javac openjdk-17-jdk-headless
    need mvn maven
    need fio fio
    need strace strace
    need chromium chromium
fi
# Testbeds need root, so the programs of testbeds are installed only for root.
if [[ $what == all && $(id -u) -eq 0 ]]; then
    need tini tini
    need ip iproute2
    need iptables-legacy iptables
    need mkfs.xfs xfsprogs
    need mkfs.ext4 e2fsprogs
    need setfattr attr
    need glusterd glusterfs-server glusterfs-client
    need mfsmaster moosefs-master moosefs-chunkserver moosefs-client moosefs-cli
    need ceph-mon ceph-mon ceph-mgr ceph-osd ceph-mds ceph-fuse ceph-common
    need redis-server redis-server redis-tools
    ldconfig -p | grep -q "libfuse3.so.3 " || missing+=(libfuse3-3)
    need ganesha.nfsd nfs-ganesha nfs-ganesha-vfs rpcbind libnfs-utils
fi

if ((${#missing[@]})); then
    if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
        echo "setup: installing ${missing[*]}"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            "${missing[@]}" >/dev/null
    else
        echo "setup: please install these packages first: ${missing[*]}" >&2
        exit 1
    fi
fi
if ! command -v cargo >/dev/null; then
    echo "setup: please install Rust 1.88 or newer (cargo was not found)" >&2
    exit 1
fi
