#!/bin/bash
# The image for containers, unpacked and run as an engine would, with a read-only root and as its user: its size, its
# configuration, a job's result, and its health check.
#
#   tests/packages/image.sh DIRECTORY
#
# DIRECTORY has arcpd-VERSION.tar.gz (tools/image). Exit status 77: nothing can be run here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
in_root=$here/../../tools/in-root
archive=$(echo "$1"/arcpd-*.tar.gz)
if [ "$(id -u)" -ne 0 ] || ! command -v ip >/dev/null || ! unshare --mount --pid --net --fork true; then
    echo "NOT RUN: the image was not run: that takes root, iproute2, and namespaces"
    exit 77
fi
work=$(mktemp -d "$1/test.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED   $*"
    exit 1
}

size=$(stat -c %s "$archive")
[ "$size" -lt 60000000 ] || fail "the image has $size bytes, 60 MB or more"
echo "ok       $((size / 1000000)) MB"

mkdir "$work/archive" "$work/root"
tar -xzf "$archive" -C "$work/archive"
python3 - "$work/archive" >"$work/layers" <<'PYTHON'
import json, sys
folder = sys.argv[1]
[image] = json.load(open(folder + "/manifest.json", encoding="utf-8"))
config = json.load(open(folder + "/" + image["Config"], encoding="utf-8"))["config"]
assert config["User"] == "arcp", config["User"]
assert config["Entrypoint"] == ["/usr/bin/arcpd", "--config", "/etc/arcp/arcpd.yaml"], config["Entrypoint"]
assert not config.get("Cmd"), config["Cmd"]
assert config["Volumes"] == {"/var/lib/arcp": {}}, config["Volumes"]
assert config["Healthcheck"]["Test"] == ["CMD", "/usr/libexec/arcp/image-health"], config["Healthcheck"]
assert "STATE_DIRECTORY=/var/lib/arcp" in config["Env"], config["Env"]
print("\n".join(image["Layers"]))
PYTHON
while read -r layer; do
    tar --numeric-owner -xf "$work/archive/$layer" -C "$work/root"
done <"$work/layers"
rm -rf "$work/archive"
echo "ok       user, entry point, volume and health check"

cat >"$work/root/play.sh" <<'PLAY'
#!/bin/bash
set -euxo pipefail
export STATE_DIRECTORY=/var/lib/arcp HOME=/var/lib/arcp
! touch /etc/written || exit 1
! /usr/libexec/arcp/image-health || exit 1
coproc daemon { exec /usr/bin/arcpd --config /etc/arcp/arcpd.yaml --agent hello='echo hello'; }
read -r -t 60 line <&"${daemon[0]}"
[[ $line == "arcpd: ready "* ]]
[ "$(id -un)" = arcp ]
said=$(arcp submit hello 2>&1) # not by a pipe, which grep would close before arcp has ended
[[ $said == *"log       hello"* ]]
/usr/libexec/arcp/image-health
kill "$daemon_PID"
wait "$daemon_PID"
! /usr/libexec/arcp/image-health || exit 1
PLAY
"$in_root" --alone --volume /var/lib/arcp "$work/root" setpriv --reuid arcp --regid arcp --init-groups --no-new-privs \
    bash /play.sh >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "the image does not run with a read-only root"
}
echo "ok       runs with a read-only root, as its user: a job's result, and a health check that can fail"
