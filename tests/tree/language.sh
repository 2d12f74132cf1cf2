#!/bin/sh
# Shows tools/check-language each pattern of tools/language.txt by its example, which it must find in every
# kind of file, and clean texts, which it must pass.
#
#   tests/tree/language.sh ROOT
set -eu
root=$1
check=$root/tools/check-language
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
cases=0
tab=$(printf '\t')

fail() {
    echo "FAIL $1"
    failed=1
}
clean_tree() {
    rm -rf "$tree"
    mkdir -p "$tree/tools" "$tree/src/core" "$tree/docs" "$tree/tests/core" "$tree/man"
    cp "$root/tools/language.txt" "$tree/tools"
    printf '/* A job ends once. */\nint nobody(void); // by "nobody"\n' >"$tree/src/core/job.c"
    printf 'static const char *user = "nobody at all";\n' >"$tree/tests/core/job_test.c"
    # shellcheck disable=SC2016 # Markdown
    printf 'The user `nobody` runs it.\n\n```console\n$ echo "those that are code"\n```\n' >"$tree/docs/page.md"
}
passes() {
    cases=$((cases + 1))
    output=$("$check" "$tree" 2>&1) || fail "$1 is refused: $output"
}
# refuses WHERE WHAT: a match at WHERE, in the words of $instead.
refuses() {
    cases=$((cases + 1))
    if output=$("$check" "$tree" 2>&1); then
        fail "$2 passes"
    elif ! printf '%s' "$output" | grep -F -- "$1: " | grep -qF -- "$instead"; then
        fail "$2 is refused without '$1' and '$instead': $output"
    fi
}

clean_tree
passes "a clean tree"

grep -v '^#' "$root/tools/language.txt" >"$tree/rows"
[ -s "$tree/rows" ] || fail "tools/language.txt has no patterns"
cp "$tree/rows" "$tree.rows"
trap 'rm -rf "$tree" "$tree.rows"' EXIT
while IFS=$tab read -r pattern instead example; do
    [ -n "$example" ] || fail "$pattern has no example"
    clean_tree
    printf '\nint x; /* %s */\n' "$example" >>"$tree/src/core/job.c"
    refuses src/core/job.c:4 "the comment '$example'"
    clean_tree
    printf '%s\n' "$example" >>"$tree/docs/page.md"
    refuses docs/page.md:6 "the line '$example'"
done <"$tree.rows"

instead='name the person or the part'
clean_tree
printf '/* One line,\n * and then nobody in another. */\n' >>"$tree/src/core/job.c"
refuses src/core/job.c:4 'the second line of a comment'
clean_tree
echo 'const char *text = "nobody reads it";' >>"$tree/src/core/job.c"
refuses src/core/job.c:3 'a message'
clean_tree
echo 'static void a_job_of_nobody_ends(void **state)' >>"$tree/tests/core/job_test.c"
refuses tests/core/job_test.c:2 'the name of a test'
clean_tree
echo 'A page for whoever reads.' >"$tree/man/page.1.scd"
refuses man/page.1.scd:1 'a line of a manual page'
clean_tree
printf '#!/bin/sh\necho nobody # for nobody at all\n' >"$tree/tools/run"
refuses tools/run:2 'a comment of a script'
printf '#!/bin/sh\necho nobody in here\n' >"$tree/tools/run"
passes 'a word of a script'

# What is allowed, and what a folder may still have.
clean_tree
echo 'Somebody, a person.' >>"$tree/docs/page.md"
refuses docs/page.md:6 'a word that is not allowed yet'
printf 'docs/page.md\tSomebody, a person\tit is a person\n' >"$tree/tools/language-allowed.txt"
passes 'a word that is allowed'
sed -i 's/Somebody/Bob/' "$tree/docs/page.md"
instead='remove the line'
refuses tools/language-allowed.txt 'an allowed line that is not there'
clean_tree
instead='name the person or the part'
echo 'Somebody asks nobody.' >>"$tree/docs/page.md"
echo 'docs 1' >"$tree/tools/language-ratchet.txt"
passes 'as many matches as the ratchet allows'
echo 'Whoever asks.' >>"$tree/docs/page.md"
refuses docs/page.md:7 'one match more than the ratchet allows'
sed -i '6,7d' "$tree/docs/page.md"
"$check" --accept "$tree"
cases=$((cases + 1))
[ ! -s "$tree/tools/language-ratchet.txt" ] || fail "--accept leaves a count that is not needed"
echo 'Nobody asks.' >>"$tree/docs/page.md"
"$check" --accept "$tree"
refuses docs/page.md:6 'a match after --accept with an empty ratchet'

[ "$failed" -eq 0 ] || exit 1
echo "language: $cases cases"
