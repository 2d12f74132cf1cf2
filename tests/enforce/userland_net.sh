#!/bin/bash
# shellcheck disable=SC2016 # the commands are for another shell
# Programs that people run reach, in a sandbox, the host that their lease names, and no other.
#
#   tests/enforce/userland_net.sh BIN TESTS [learn]
#
# BIN has arcp, TESTS arcp-enforce-world, which makes a network of its own: nothing of this leaves the
# machine. Each command runs bare, where it must work; confined with a lease of the host, where it must
# work; and confined with a lease of another host, where it must fail, and no connection may arrive at
# a server. The same without namespaces, where programs have a proxy in their environment, for those that
# use one; and where TLS is terminated, with a lease of a path, and of another path of the same host. A
# command whose program is not installed, or that fails bare, is counted as not run, and so are those of Go where CI=true.
# Exit status 77: nothing can be run here.
# With "learn" each command runs with the lease that is learnt from it.
set -u
bin=$(cd "$1" && pwd) || exit 1
tests=$(cd "$2" && pwd) || exit 1
mode=${3-}
source=$(cd "$(dirname "$0")" && pwd)

if [ -z "${ARCP_WORLD-}" ]; then
    if ! command -v python3 >/dev/null || ! command -v openssl >/dev/null; then
        echo "not run: python3 and openssl serve the world"
        exit 77
    fi
    # Not below /tmp, which is private inside.
    ARCP_WORLD=$(mktemp -d "$tests/userland-net.XXXXXX") || exit 1
    export ARCP_WORLD
    trap 'rm -rf "$ARCP_WORLD"' EXIT
    mkdir "$ARCP_WORLD/pages" "$ARCP_WORLD/keys" "$ARCP_WORLD/home" "$ARCP_WORLD/etc"
    "$tests/arcp-enforce-world" "$ARCP_WORLD/etc" \
        "while [ ! -e '$ARCP_WORLD/keys/ready' ]; do sleep 0.02; done; exec python3 '$source/pages.py' \
        '$ARCP_WORLD/pages' '$ARCP_WORLD/keys/leaf.pem' '$ARCP_WORLD/keys/leaf.key' '$ARCP_WORLD/log'" \
        "$0" "$bin" "$tests" "$mode"
    exit
fi

work=$ARCP_WORLD
keys=$work/keys
pages=$work/pages
log=$work/log
# Go's compiled library is kept where it is.
command -v go >/dev/null && gocache=$(go env GOCACHE)
export HOME="$work/home"
works=0
failed=0
absent=0
proxied=0
without=
has_proxy=
for ability in proxy notify vm_read pidfd_getfd; do
    "$bin/arcp-sandbox" --probe | grep -q "\"$ability\":0" && lacks=$ability
done
if [ -z "${lacks-}" ]; then
    has_proxy=1
else
    echo "not run  all by the proxy of level landlock: this host has no $lacks"
fi

make_keys() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7 -subj "/CN=world" \
        -keyout "$keys/ca.key" -out "$keys/ca.pem" &&
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=open.example" \
            -keyout "$keys/leaf.key" -out "$keys/leaf.csr" &&
        printf 'subjectAltName=DNS:open.example,DNS:*.open.example,DNS:closed.example\n' >"$keys/leaf.ext" &&
        openssl x509 -req -in "$keys/leaf.csr" -CA "$keys/ca.pem" -CAkey "$keys/ca.key" -CAcreateserial \
            -days 7 -extfile "$keys/leaf.ext" -out "$keys/leaf.pem"
}

make_pages() {
    echo page >"$pages/page"
    head -c 3000000 /dev/zero >"$pages/big"
    if command -v git >/dev/null; then
        git init -q --bare "$pages/git/project.git" && git clone -q "$pages/git/project.git" "$work/clone" &&
            git -C "$work/clone" -c user.email=a@b -c user.name=a commit -q --allow-empty -m first &&
            git -C "$work/clone" push -q origin HEAD && git -C "$pages/git/project.git" update-server-info &&
            cp -r "$pages/git/project.git" "$pages/dumb.git"
    fi
    python3 - "$pages" <<'END'
import base64, hashlib, io, json, os, sys, tarfile, zipfile

pages = sys.argv[1]
# A package for pip.
os.makedirs(pages + "/simple/arcpdemo")
name = "arcpdemo-1.0-py3-none-any.whl"
with zipfile.ZipFile(pages + "/simple/arcpdemo/" + name, "w") as wheel:
    wheel.writestr("arcpdemo.py", "x = 1\n")
    wheel.writestr("arcpdemo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: arcpdemo\nVersion: 1.0\n")
    wheel.writestr("arcpdemo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("arcpdemo-1.0.dist-info/RECORD", "arcpdemo.py,,\narcpdemo-1.0.dist-info/METADATA,,\narcpdemo-1.0.dist-info/WHEEL,,\narcpdemo-1.0.dist-info/RECORD,,\n")
with open(pages + "/simple/arcpdemo/index.html", "w") as index:
    index.write('<!DOCTYPE html><html><body><a href="%s">%s</a></body></html>' % (name, name))
# A package for npm: the same URL has its description.
package = json.dumps({"name": "arcp-demo", "version": "1.0.0"}).encode()
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w:gz") as archive:
    entry = tarfile.TarInfo("package/package.json")
    entry.size = len(package)
    archive.addfile(entry, io.BytesIO(package))
os.makedirs(pages + "/npm")
with open(pages + "/npm/arcp-demo.tgz", "wb") as out:
    out.write(packed.getvalue())
integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
with open(pages + "/npm/arcp-demo", "w") as out:
    json.dump({"name": "arcp-demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "arcp-demo", "version": "1.0.0",
        "dist": {"tarball": "http://open.example/npm/arcp-demo.tgz", "integrity": integrity}}}}, out)
# A repository for apt.
os.makedirs(pages + "/apt/dists/stable/main/binary-all")
empty = b""
with open(pages + "/apt/dists/stable/Release", "w") as out:
    out.write("Origin: world\nSuite: stable\nCodename: stable\nArchitectures: all amd64 arm64\nComponents: main\nSHA256:\n")
    for machine in ("all", "amd64", "arm64"):
        os.makedirs(pages + "/apt/dists/stable/main/binary-" + machine, exist_ok=True)
        with open(pages + "/apt/dists/stable/main/binary-%s/Packages" % machine, "wb") as packages:
            packages.write(empty)
        out.write(" %s 0 main/binary-%s/Packages\n" % (hashlib.sha256(empty).hexdigest(), machine))
END
}

# Programs of compiled languages, compiled once: the first compilation with Go takes 30 s of CPU time for its library
# (45 s if it is optimised), also when another run of this file does the same.
make_programs() {
    mkdir "$work/programs"
    exec 9>"$tests/userland-net.lock"
    flock 9
    if [ "${CI-}" != true ] && command -v go >/dev/null; then
        cat >"$work/programs/main.go" <<'END'
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err == nil {
		_, err = io.Copy(os.Stdout, answer.Body)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
END
        # The same flags as in userland_learn.sh, which then finds the compiled library.
        (cd "$work/programs" && GOCACHE=$gocache GOFLAGS="'-gcflags=all=-N -l -dwarf=false' -ldflags=-w" GOPROXY=off \
            GO111MODULE=off CGO_ENABLED=0 timeout 100 go build -o fetch main.go)
    fi
    if command -v javac >/dev/null && command -v keytool >/dev/null; then
        cat >"$work/programs/Fetch.java" <<'END'
import java.net.URI;
import java.net.http.*;

class Fetch {
    public static void main(String[] words) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(words[0])).build();
        HttpResponse<String> answer =
            HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.print(answer.body());
        System.exit(answer.statusCode() == 200 ? 0 : 1);
    }
}
END
        (cd "$work/programs" && javac Fetch.java && keytool -importcert -noprompt -alias world -file "$keys/ca.pem" \
            -keystore trust -storepass password -storetype PKCS12)
    fi
    exec 9>&-
    return 0 # what could not be compiled is not run
}

# attempt [arcp run ...]: the command in $command, in an empty directory.
attempt() {
    rm -rf "$work/place" && mkdir "$work/place" && cd "$work/place" || return 1
    timeout 60 env -i PATH="$PATH" HOME="$HOME" LC_ALL=C.UTF-8 "$@" /bin/bash -c "$command" >"$work/out" 2>&1 </dev/null
}

# At level landlock, if $without is userns: there files that exist and are not granted are denied, not
# absent, and so are a python3 and pip3 below a home directory.
confined() {
    # shellcheck disable=SC2086 # words
    attempt ${without:+ARCP_SANDBOX_WITHOUT=$without PATH=/usr/bin:/bin} ${inside:+"SSL_CERT_FILE=$keys/ca.pem"} \
        "$bin/arcp" run --no-protect $inside ${without:+--read /etc/gitconfig --read /etc/apt/apt.conf.d} --read "$work/programs" --read "$keys/ca.pem" --write "$work/place" \
        --grant "net.fetch=$1" --
}

# With the lease that is learnt from it the command does the same again, and nothing is denied.
learnt() {
    tls=${inside:+--tls terminate}
    # shellcheck disable=SC2086 # words
    attempt ${inside:+"SSL_CERT_FILE=$keys/ca.pem"} "$bin/arcp" run $tls --learn "$work/lease" -- &&
        # Inside TLS the URLs are learnt, not the host as a whole.
        { [ -z "$inside" ] || ! grep -q 'https://open.example/\*\*"' "$work/lease"; } &&
        attempt ${inside:+"SSL_CERT_FILE=$keys/ca.pem"} "$bin/arcp" run $tls --no-protect --lease "@$work/lease" \
            --report "$work/report" -- &&
        # git asks for the name of its host, which the host's /etc/hosts does not have: a lease that
        # names a file of /etc brings that. apt asks for services (SRV) before it asks for the host.
        ! grep '"type":"denied"' "$work/report" | grep -v '"target":"\(arcp[".]\|_\)' >"$work/out"
}

lines() {
    grep -c connection "$log"
}

# has_worked NAME PATTERN: the command in $command reaches what its lease names, and nothing else.
has_worked() {
    if ! confined "$2"; then
        echo "FAILED   $1: $(tail -n 3 "$work/out" | tr '\n' ' ')"
        return 1
    fi
    before=$(lines)
    if confined "$elsewhere"; then
        echo "FAILED   $1: it works with a lease of $elsewhere"
        return 1
    fi
    if [ "$before" -ne "$(lines)" ]; then
        echo "FAILED   $1: with a lease of $elsewhere a server was reached"
        return 1
    fi
}

inside=
elsewhere='http://elsewhere.example/**'

# try NAME PROGRAM PATTERN COMMAND; with proxy=no at level full only, because the program uses no proxy
try() {
    name=$1
    # A Java program looks for files of others in /tmp, which a sandbox does not have.
    command="export JAVA_TOOL_OPTIONS=-XX:-UsePerfData CA='$keys/ca.pem' PROGRAMS='$work/programs'; $4"
    if ! command -v "$2" >/dev/null 2>&1 || ! attempt; then
        absent=$((absent + 1))
        echo "not run  $name: $(tail -n 1 "$work/out")"
        return
    fi
    if [ -n "$mode" ]; then
        if learnt; then
            works=$((works + 1))
        else
            failed=$((failed + 1))
            echo "FAILED   $name, with the lease that was learnt: $(tail -n 3 "$work/out" | tr '\n' ' ')"
            cat "$work/lease"
        fi
        return
    fi
    if without='' has_worked "$name" "$3"; then
        works=$((works + 1))
    else
        failed=$((failed + 1))
    fi
    if [ -z "$has_proxy" ] || [ "${proxy-}" = no ]; then
        return
    fi
    if without=userns has_worked "$name, by the proxy of level landlock" "$3"; then
        proxied=$((proxied + 1))
    else
        failed=$((failed + 1))
    fi
}

if ! { make_keys && make_pages && make_programs; } >"$work/out" 2>&1; then
    cat "$work/out"
    exit 1
fi
touch "$keys/ready"
for _ in $(seq 500); do
    grep -qs ready "$log" && break
    sleep 0.02
done

# Since 22.21 and 24 Node.js reads the variables of proxies.
node_proxy=$(node -e 'const [a, b] = process.versions.node.split("."); console.log(a > 23 || (a == 22 && b > 20) ? "yes" : "no")' 2>/dev/null)

http='http://open.example/**'
https='https://open.example/**'
try "curl" curl "$http" 'test "$(curl -sf http://open.example/page)" = page'
try "curl, a big page" curl "$http" 'test "$(curl -sf http://open.example/big | wc -c)" = 3000000'
try "curl, a stream" curl "$http" 'test "$(curl -sfN http://open.example/stream | grep -c data)" = 10'
try "curl, a body" curl "$http" 'head -c 2000000 /dev/zero >f; test "$(curl -sf --data-binary @f http://open.example/)" = 2000000'
try "curl, a body in chunks" curl "$http" 'head -c 200000 /dev/zero >f; test "$(curl -sf -T - http://open.example/ <f)" = 200000'
try "curl by https" curl "$https" 'test "$(curl -sf --cacert $CA https://open.example/page)" = page'
try "curl by https, a big page" curl "$https" 'test "$(curl -sf --cacert $CA https://open.example/big | wc -c)" = 3000000'
try "curl by the proxy" curl "$http" 'p=${ARCP_PROXY-}; test "$(curl -sf ${p:+--proxy $p} http://open.example/page)" = page'
try "curl by the proxy and https" curl "$https" 'p=${ARCP_PROXY-}; test "$(curl -sf ${p:+--proxy $p} --cacert $CA https://open.example/page)" = page'
try "wget" wget "$http" 'wget -q --tries=1 http://open.example/page && grep -q page page'
try "wget by https" wget "$https" 'wget -q --tries=1 --ca-certificate=$CA https://open.example/page && grep -q page page'
try "python3 urllib" python3 "$http" 'python3 -c "
import urllib.request as u
assert u.urlopen(\"http://open.example/page\").read() == b\"page\n\""'
try "python3 urllib by https" python3 "$https" 'SSL_CERT_FILE=$CA python3 -c "
import urllib.request as u
assert u.urlopen(\"https://open.example/page\").read() == b\"page\n\""'
proxy=no try "python3 http.client, two requests" python3 "$http" 'python3 -c "
import http.client
c = http.client.HTTPConnection(\"open.example\")
for i in 1, 2:
    c.request(\"GET\", \"/page\"); assert c.getresponse().read() == b\"page\n\""'
proxy=no try "python3 asyncio" python3 "$https" 'python3 -c "
import asyncio, os, ssl
async def f():
    r, w = await asyncio.open_connection(\"open.example\", 443, ssl=ssl.create_default_context(cafile=os.environ[\"CA\"]))
    w.write(b\"GET /page HTTP/1.1\r\nHost: open.example\r\nConnection: close\r\n\r\n\")
    assert (await r.read()).endswith(b\"page\n\")
asyncio.run(f())"'
# Without a setting of a proxy (claude-agent-sdk-typescript#396).
proxy=$node_proxy try "node fetch" node "$http" 'node -e "fetch(\"http://open.example/page\").then(a => a.text()).then(t => process.exit(t === \"page\n\" ? 0 : 1), () => process.exit(1))"'
proxy=$node_proxy try "node fetch by https" node "$https" 'NODE_EXTRA_CA_CERTS=$CA node -e "fetch(\"https://open.example/page\").then(a => a.text()).then(t => process.exit(t === \"page\n\" ? 0 : 1), () => process.exit(1))"'
try "git" git "$http" 'git clone -q http://open.example/git/project.git p && git -C p log --oneline'
try "git, a repository of files" git "$http" 'git clone -q http://open.example/dumb.git p && git -C p log --oneline'
try "git by https" git "$https" 'export GIT_SSL_CAINFO=$CA; git clone -q https://open.example/git/project.git p && git -C p fetch -q'
try "go" "$work/programs/fetch" "$http" 'test "$($PROGRAMS/fetch http://open.example/page)" = page'
try "go by https" "$work/programs/fetch" "$https" 'test "$(SSL_CERT_FILE=$CA $PROGRAMS/fetch https://open.example/page)" = page'
proxy=no try "java" java "$http" 'test "$(java -cp $PROGRAMS Fetch http://open.example/page)" = page'
proxy=no try "java by https" java "$https" 'test "$(java -Djavax.net.ssl.trustStore=$PROGRAMS/trust -Djavax.net.ssl.trustStorePassword=password -cp $PROGRAMS Fetch https://open.example/page)" = page'
try "pip" pip3 "$https" 'pip3 --cert $CA --disable-pip-version-check --no-cache-dir --retries 0 install -q --no-deps --target t -i https://open.example/simple arcpdemo && test -e t/arcpdemo.py'
try "npm" npm "$http" 'npm_config_cache=$PWD/c npm install --fetch-retries 0 --no-audit --no-fund --no-update-notifier --registry http://open.example/npm/ arcp-demo && test -e node_modules/arcp-demo/package.json'
try "apt-get update" apt-get "$http" '
mkdir -p s/lists/partial c/archives/partial; : >s/status
echo "deb [trusted=yes] http://open.example/apt stable main" >list
apt-get -o Dir::State=$PWD/s -o Dir::State::status=$PWD/s/status -o Dir::Cache=$PWD/c -o Dir::Etc::sourcelist=$PWD/list \
    -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User= -o Acquire::Retries=0 -o Acquire::Languages=none \
    -o APT::Update::Error-Mode=any update'
proxy=no try "openssl s_client" openssl "$https" 'echo | openssl s_client -connect open.example:443 -servername open.example -CAfile $CA -verify_return_error 2>/dev/null | grep -q "Verify return code: 0"'
proxy=no try "a protocol whose server speaks first" bash 'ssh://open.example:22/**' '
exec 3<>/dev/tcp/open.example/22 && read -r line <&3 && [ "${line%?}" = SSH-2.0-world ] && echo hello >&3 && read -r line <&3 && [ "$line" = "heard hello" ]'
proxy=no try "ssh-keyscan" ssh-keyscan 'ssh://open.example:22/**' 'ssh-keyscan -T 5 open.example 2>&1 | grep -q SSH-2.0-world'

# Where TLS is terminated. Programs trust the world's authority outside, and that of their sandbox inside, without any
# setting of their own there.
inside='--tls terminate'
elsewhere='https://open.example/elsewhere/**'
outside='[ -n "${ARCP_SANDBOX-}" ] || export SSL_CERT_FILE=$CA NODE_EXTRA_CA_CERTS=$CA GIT_SSL_CAINFO=$CA REQUESTS_CA_BUNDLE=$CA; '
page='https://open.example/page'
try "curl inside TLS" curl "$page" "$outside"'test "$(curl -sf https://open.example/page)" = page'
try "curl inside TLS, a big page" curl 'https://open.example/b*' "$outside"'test "$(curl -sf https://open.example/big | wc -c)" = 3000000'
try "curl inside TLS, a stream" curl 'https://open.example/stream' "$outside"'test "$(curl -sfN https://open.example/stream | grep -c data)" = 10'
try "curl inside TLS, a body" curl 'https://open.example/in' "$outside"'head -c 2000000 /dev/zero >f; test "$(curl -sf --data-binary @f https://open.example/in)" = 2000000'
try "curl inside TLS, a body in chunks" curl 'https://open.example/in' "$outside"'head -c 200000 /dev/zero >f; test "$(curl -sf -T - https://open.example/in <f)" = 200000'
try "curl inside TLS by the proxy" curl "$page" "$outside"'p=${ARCP_PROXY-}; test "$(curl -sf ${p:+--proxy $p} https://open.example/page)" = page'
try "curl inside TLS 1.2" curl "$page" "$outside"'test "$(curl -sf --tls-max 1.2 https://open.example/page)" = page'
proxy=no try "wget inside TLS" wget "$page" 'wget -q --tries=1 $([ -n "${ARCP_SANDBOX-}" ] || echo --ca-certificate=$CA) https://open.example/page && grep -q page page'
try "python3 urllib inside TLS" python3 "$page" "$outside"'python3 -c "
import urllib.request as u
assert u.urlopen(\"https://open.example/page\").read() == b\"page\n\""'
proxy=$node_proxy try "node fetch inside TLS" node "$page" "$outside"'node -e "fetch(\"https://open.example/page\").then(a => a.text()).then(t => process.exit(t === \"page\n\" ? 0 : 1), () => process.exit(1))"'
try "git inside TLS" git 'https://open.example/git/**' "$outside"'git clone -q https://open.example/git/project.git p && git -C p fetch -q'
try "go inside TLS" "$work/programs/fetch" "$page" "$outside"'test "$($PROGRAMS/fetch https://open.example/page)" = page'
try "pip inside TLS" pip3 'https://open.example/simple/**' 'pip3 $([ -n "${ARCP_SANDBOX-}" ] || echo --cert $CA) --disable-pip-version-check --no-cache-dir --retries 0 install -q --no-deps --target t -i https://open.example/simple arcpdemo && test -e t/arcpdemo.py'
inside='--tls terminate --grant net.fetch=http://open.example/npm/*.tgz'
try "npm inside TLS" npm 'https://open.example/npm/*' "$outside"'npm_config_cache=$PWD/c npm install --fetch-retries 0 --no-audit --no-fund --no-update-notifier --registry https://open.example/npm/ arcp-demo && test -e node_modules/arcp-demo/package.json'
inside='--tls terminate'

# A program that trusts only what it brings fails, and the reason is reported.
command="export CA='$keys/ca.pem' PROGRAMS='$work/programs'; "'java -Djavax.net.ssl.trustStore=$PROGRAMS/trust -Djavax.net.ssl.trustStorePassword=password -cp $PROGRAMS Fetch https://open.example/page'
if ! command -v java >/dev/null || ! attempt; then
    absent=$((absent + 1))
    echo "not run  java inside TLS"
elif confined "$page" || ! grep -q "did not accept the sandbox's certificate" "$work/out"; then
    failed=$((failed + 1))
    echo "FAILED   java inside TLS: $(tail -n 3 "$work/out" | tr '\n' ' ')"
fi

echo "userland: $works commands ($proxied of them also by the proxy of level landlock) reach what their lease names and nothing else, $failed do not, $absent not run (not installed, or they fail here)"
[ "$failed" -eq 0 ] && [ "$works" -gt 0 ]
