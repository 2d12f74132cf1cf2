#!/bin/bash
# The part of tests/packages/run.sh that runs on the bare system: inside.sh PART.
set -euo pipefail

# The configuration of an operator, in the file that the package brought.
configure() {
    sed -i 's|^agents: \[\]|agents:\n  - {name: hello, mode: plain, command: [echo, hello]}\n  - {name: gate, mode: plain, confine: false, command: [/bin/sh, -c, "until [ -e /var/lib/arcp/open ]; do sleep 0.1; done; echo passed"]}|
        s|^tokens: \[\]|tokens:\n  - {token: edited, principal: local}|' /etc/arcp/arcpd.yaml
}

# As the unit starts it: words_of UNIT.
words_of() {
    sed -n 's/^ExecStart=//p' "/lib/systemd/system/$1.service" | sed 's|%S|/var/lib|'
}
as_service() {
    STATE_DIRECTORY=/var/lib/arcp HOME=/var/lib/arcp exec setpriv --reuid arcp --regid arcp --init-groups --no-new-privs "$@"
}

# start: arcpd and its worker as the units start them; returns when arcpd is ready. $arcpd is its process.
start() {
    local line
    install -d -m 700 -o arcp -g arcp /var/lib/arcp
    # shellcheck disable=SC2046 # the words of a unit
    kill -0 "${worker-}" 2>/dev/null || { as_service $(words_of arcp-worker) & worker=$!; }
    # shellcheck disable=SC2046 # the words of a unit
    coproc daemon { as_service $(words_of arcpd); }
    # shellcheck disable=SC2154 # coproc sets it
    arcpd=$daemon_PID
    read -r -t 60 line <&"${daemon[0]}"
    [[ $line == "arcpd: ready "* ]]
}

stop() {
    kill "$arcpd"
    wait "$arcpd"
}

export ARCP_TOKEN=edited

commands() {
    arcp --version && arcpd --version && arcp doctor
    for program in arcp arcpd; do
        for file in "bash-completion/completions/$program" "zsh/vendor-completions/_$program" "fish/vendor_completions.d/$program.fish"; do
            [ -s "/usr/share/$file" ]
        done
    done
    for page in man1/arcp.1 man5/arcpd.yaml.5 man7/arcp-agent.7 man7/arcp-events.7 man8/arcpd.8 man8/arcp-worker.8; do
        dpkg -L arcp arcpd | grep -qx "/usr/share/man/$page.gz"
    done
    /usr/libexec/arcp/arcp-worker --version
    arcp conformance --help && arcp bench --help && arcp replay --help
    python3 -c 'import libarcp'
    getent passwd arcp
}

first_job() {
    configure
    local since=$SECONDS
    start
    [ "$(timeout $((10 - SECONDS + since)) arcp submit hello)" = hello ]
    # Others can read nothing of it.
    [ "$(stat -c %a /var/lib/arcp)" = 700 ]
    stop
}

upgrade() {
    start
    coproc client { arcp submit gate 2>&1; }
    local line
    # shellcheck disable=SC2154 # coproc sets it
    while read -r -t 60 line <&"${client[0]}" && [[ $line != *running* ]]; do :; done
    apt-get -qy install /packages/newer/*.deb
    dpkg-query -W -f '${Version}\n' arcpd | grep -qx 999
    stop
    touch /var/lib/arcp/open
    start
    while read -r -t 60 line <&"${client[0]}" && [ "$line" != passed ]; do echo "$line"; done
    [ "$line" = passed ]
    stop
}

after_upgrade() {
    grep -q 'token: edited' /etc/arcp/arcpd.yaml
    start
    # Those of before the upgrade.
    [ "$(arcp jobs --agent hello -o name | wc -l)" = 1 ]
    stop
}

remove() {
    apt-get -qy remove arcpd
    [ ! -e /usr/bin/arcpd ] && [ ! -e /lib/systemd/system/arcpd.service ]
    grep -q 'token: edited' /etc/arcp/arcpd.yaml
    [ -e /var/lib/arcp/arcp.db ]
}

purge() {
    apt-get -qy purge arcpd
    [ ! -e /etc/arcp ] && [ ! -e /var/lib/arcp ]
    # shellcheck disable=SC2046 # a list of packages
    apt-get -qy purge $(dpkg-query -W -f '${Package}\n' '*arcp*')
    # What a user keeps at home stays.
    local left
    left=$(find / -xdev -path /packages -prune -o -path /proc -prune -o -path /var/lib/dpkg -prune -o -path /var/log -prune -o -path /root -prune -o \
        -iname '*arcp*' -print)
    [ -z "$left" ] || {
        echo "left: $left"
        return 1
    }
}

by_systemd() {
    exec >/result 2>&1
    set -x
    trap 'journalctl --no-pager -n 30 -u arcpd.service -u arcp-worker.service -u arcpd.socket' ERR
    systemctl is-enabled arcpd
    systemctl stop arcpd
    configure
    local since=$SECONDS
    systemctl start arcpd
    [ "$(timeout $((10 - SECONDS + since)) arcp submit hello)" = hello ]
    [ "$(awk '$1 == "Uid:" { print $2 }' "/proc/$(systemctl show -P MainPID arcpd)/status")" = "$(id -u arcp)" ]
    systemctl reload arcpd arcp-worker
    systemctl is-active arcpd arcp-worker
    [ "$(awk '$1 == "Uid:" { print $2 }' "/proc/$(systemctl show -P MainPID arcp-worker)/status")" = "$(id -u arcp)" ]
    # A job goes on over a restart, a kill and a reload of arcpd.
    local job worker
    job=$(arcp submit gate --detach)
    worker=$(systemctl show -P MainPID arcp-worker)
    systemctl restart arcpd
    systemctl kill --signal=KILL --kill-who=main arcpd
    until arcp jobs >/dev/null; do sleep 0.1; done
    systemctl reload arcpd
    [ "$(systemctl show -P MainPID arcp-worker)" = "$worker" ]
    touch /var/lib/arcp/open
    [ "$(arcp watch "$job" --from-start)" = passed ]
    # The death of the worker ends its job, and another one takes the next.
    rm /var/lib/arcp/open
    job=$(arcp submit gate --detach)
    systemctl kill --signal=KILL --kill-who=main arcp-worker
    [[ $(arcp watch "$job" --from-start 2>&1) == *INTERNAL_ERROR* ]]
    [ "$(timeout 10 arcp submit hello)" = hello ]
    # A stop of arcpd stops its worker, with its job.
    arcp submit gate --detach
    systemctl stop arcpd
    until [ "$(systemctl is-active arcp-worker)" = inactive ]; do sleep 0.1; done
    [ -z "$(pgrep -u arcp)" ]
    # The socket: a client that connects starts arcpd.
    systemctl start arcpd.socket
    [ "$(arcp submit hello)" = hello ]
    systemctl is-active arcpd
    systemctl stop arcpd.socket arcpd
    systemd-analyze verify --man=no arcpd.service arcp-worker.service arcpd.socket
    echo passed
}

set -x
"$1"
