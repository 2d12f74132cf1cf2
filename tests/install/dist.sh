#!/bin/sh
# `make dist`: two tarballs of one commit, made in different places, have the same bytes; what is unpacked is the
# commit, and can be configured; the bill of materials is SPDX 2.3 and names each library that the build asks for.
#
#   tests/install/dist.sh ROOT
set -eu
root=$1
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || {
    echo "skipped: this tree is no git repository, of which a tarball could be made"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAIL $*"
    exit 1
}

# A clone has other times of files; another user has another umask, time zone, language and configuration.
# Without the history, which takes longer to copy than all else here.
git clone -q --depth 1 "file://$root" "$work/clone"
cp "$root/tools/dist" "$root/tools/sbom" "$work/clone/tools/"
git -C "$work/clone" add tools
git -C "$work/clone" -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m "the tools of this tree"
printf '[core]\n\tautocrlf = true\n[tar]\n\tumask = 0077\n' >"$work/config"
"$work/clone/tools/dist" "$work/one" >/dev/null
git clone -q --depth 1 "file://$work/clone" "$work/again"
(umask 077 && TZ=Asia/Tokyo LC_ALL=C GIT_CONFIG_GLOBAL="$work/config" GZIP='' "$work/again/tools/dist" "$work/two" >/dev/null)
version=$(sed -n 's/^project(arcp VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
name=arcp-$version
for file in "$name.tar.gz" "$name.spdx.json" "$name.sha256"; do
    cmp "$work/one/$file" "$work/two/$file" || fail "two builds of $file differ"
done
(cd "$work/one" && sha256sum --quiet -c "$name.sha256") || fail "the checksums are wrong"
echo "ok   two builds are the same"

# Another commit is another tarball: the comparison can fail.
git -C "$work/again" -c user.name=x -c user.email=x@example.com rm -q LICENSE
git -C "$work/again" -c user.name=x -c user.email=x@example.com commit -q -m "another commit"
"$work/again/tools/dist" "$work/other" >/dev/null
! cmp -s "$work/one/$name.tar.gz" "$work/other/$name.tar.gz" || fail "another commit has the same tarball"

# What is not committed is left out, and said.
echo changed >>"$work/clone/README.md"
"$work/clone/tools/dist" "$work/dirty" >/dev/null 2>"$work/said"
grep -q "not committed" "$work/said" || fail "changes that are left out are not reported"
cmp "$work/one/$name.tar.gz" "$work/dirty/$name.tar.gz" || fail "changes that are not committed are in the tarball"
git -C "$work/clone" checkout -q README.md

tar -xzf "$work/one/$name.tar.gz" -C "$work"
(cd "$work/clone" && git ls-files | sort) >"$work/tracked"
(cd "$work/$name" && find . -type f -o -type l | sed 's|^\./||' | sort) >"$work/packed"
cmp "$work/tracked" "$work/packed" || fail "the tarball does not have the files of the commit"
cmake -S "$work/$name" -B "$work/build" -G Ninja -DARCP_BUILD_TESTS=OFF -DARCP_BUILD_BENCH=OFF >"$work/cmake.log" 2>&1 ||
    fail "cannot be configured: $(tail -5 "$work/cmake.log")"
if "$work/$name/tools/dist" "$work/none" >/dev/null 2>"$work/said"; then
    fail "a tree without a repository made a tarball"
fi
echo "ok   the tarball is the commit"

python3 - "$work/one/$name.spdx.json" "$root/cmake/ArcpDependencies.cmake" "$work/one/$name.tar.gz" <<'PYTHON'
import hashlib, json, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["creationInfo"]["creators"]
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
packages = {package["SPDXID"]: package for package in document["packages"]}
for package in packages.values():
    assert package["name"] and package["downloadLocation"] and package["filesAnalyzed"] is False, package
with open(sys.argv[3], "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
assert packages["SPDXRef-arcp"]["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}]
for link in document["relationships"]:
    assert {link["spdxElementId"], link["relatedSpdxElement"]} <= set(packages) | {"SPDXRef-DOCUMENT"}, link
linked = {link[end] for link in document["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
assert set(packages) <= linked, set(packages) - linked
with open(sys.argv[2], encoding="utf-8") as file:
    text = file.read()
asked = re.findall(r"IMPORTED_TARGET ([a-z0-9.-]+?)(?:>=[\d.]+)?\)", text)
asked += re.findall(r"find_library\(\w+ (\w+) ", text) + re.findall(r"find_path\(\w+ (\w+)\.h ", text)
names = {package["name"] for package in packages.values()}
part_of = {"libcrypto": "openssl", "libssl": "openssl"}
missing = {part_of.get(name, name) for name in asked} - names
assert len(asked) >= 9 and not missing, missing
PYTHON
echo "ok   the bill of materials names each library"
