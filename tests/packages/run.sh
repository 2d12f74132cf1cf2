#!/bin/bash
# The Debian packages on a bare Debian 12 with a root, processes and a network of its own: installing, the unit's
# ExecStart and a job's result within 10 s of it, an upgrade under an open session, removing, purging, and the same by
# systemd where systemd-nspawn can boot here. Nothing of the host is changed.
#
#   tests/packages/run.sh DEBS WORK
#
# DEBS has the packages (tools/deb); WORK is for what the test makes, and keeps the tarball of the bare system. The
# packages' dependencies come from Debian's archive. Exit status 77: nothing can be run here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=$(cd "$here/../../tools" && pwd)
debs=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap ip unshare >/dev/null || ! unshare --mount --pid --net --fork true; then
    echo "NOT RUN: the packages were not installed: that takes root, debootstrap, iproute2, and namespaces"
    exit 77
fi

root=$work/root
trap 'rm -rf "$root" "$work/newer" "$work/container"' EXIT
rm -rf "$root"
passed=0
step() {
    local name=$1
    shift
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        echo "FAILED   $name"
        exit 1
    }
    passed=$((passed + 1))
    echo "ok       $name"
}
inside() {
    "$tools/in-root" "$root" "$@"
}
# The processes of a call end with it, so each call is a script of its own.
play() {
    "$tools/in-root" --alone "$root" bash /packages/inside.sh "$@"
}

# newer_packages: the same as version 999, which is an upgrade.
newer_packages() {
    local deb name version
    version=$(dpkg-deb -f "$(echo "$debs"/arcpd_*.deb)" Version)
    rm -rf "$work/newer"
    mkdir -p "$work/newer" "$root/packages/newer"
    for deb in "$root"/packages/*.deb; do
        name=$(basename "$deb")
        dpkg-deb -R "$deb" "$work/newer/tree"
        sed -i "s/^Version: .*/Version: 999/; s/(= ${version//./\\.})/(= 999)/g" "$work/newer/tree/DEBIAN/control"
        dpkg-deb -Zgzip -z1 -b "$work/newer/tree" "$root/packages/newer/$name" >/dev/null
        rm -rf "$work/newer/tree"
    done
}

step "a bare Debian 12" "$tools/debian-root" "$root" "$work"
mkdir "$root/packages"
find "$debs" -name '*.deb' ! -name '*dbgsym*' -exec cp {} "$root/packages/" \;
cp "$here/inside.sh" "$root/packages/"
step "apt install ./*.deb" inside sh -c 'apt-get -q update && apt-get -qy install /packages/*.deb'
step "the files of the packages are as they were packed" inside sh -c 'dpkg --verify | grep arcp && exit 1; dpkg --audit'
step "the commands, their completions and man pages are there" play commands
step "a job's result within 10 s of the unit's ExecStart" play first_job
step "newer packages" newer_packages
step "an upgrade while a client follows a job: the job goes on, and the client gets its result" play upgrade
step "an upgrade keeps the configuration that was edited, and what arcpd has stored" play after_upgrade
step "removing keeps configuration and state" play remove
step "purging leaves nothing" play purge

# By systemd: in a container that boots.
container() {
    # Its filter of system calls allows neither Landlock nor what a broker needs.
    SYSTEMD_SECCOMP=0 timeout 300 systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$work/container" \
        --bind-ro="$here/inside.sh:/packages/inside.sh" "$@"
}
boots() {
    "$tools/debian-root" "$work/container" "$work" &&
        "$tools/in-root" "$work/container" sh -c 'apt-get -q update && apt-get -qy install systemd systemd-sysv dbus' >"$work/log" 2>&1 &&
        mkdir "$work/container/packages" &&
        printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/usr/bin/touch /booted\nExecStart=/bin/systemctl --no-block poweroff\n[Install]\nWantedBy=multi-user.target\n' \
            >"$work/container/etc/systemd/system/check.service" &&
        ln -s ../check.service "$work/container/etc/systemd/system/multi-user.target.wants/check.service" &&
        container --boot >"$work/log" 2>&1
    [ -e "$work/container/booted" ]
}
if ! command -v systemd-nspawn >/dev/null || ! boots; then
    [ ! -e "$work/log" ] || tail -n 5 "$work/log"
    echo "NOT RUN: the unit under systemd: systemd-nspawn is missing, or boots no Debian 12 here"
    echo "packages: $passed steps, and the unit NOT RUN under systemd"
    exit 0
fi
cp "$root"/packages/*.deb "$work/container/packages/"
step "apt install in the container" "$tools/in-root" "$work/container" sh -c 'apt-get -q update && apt-get -qy install /packages/*.deb'
sed -i 's|^ExecStart=/usr/bin/touch /booted|ExecStart=/bin/bash /packages/inside.sh by_systemd|' "$work/container/etc/systemd/system/check.service"
under_systemd() {
    container --boot
    cat "$work/container/result"
    grep -q '^passed$' "$work/container/result"
}
step "systemctl start, a job's result within 10 s, a job over restart, kill and reload, the worker killed and stopped, and a socket that systemd passes" under_systemd
echo "packages: $passed steps"
