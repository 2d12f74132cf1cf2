# shellcheck shell=bash
# For scripts that run many checks: each runs even when one before it failed, and the end says how many
# passed. Sourced by .ci/run and tools/soak.
#
#   step NAME COMMAND...    runs it, with its output; says how long it took
#   compile_ahead PRESET... compiles the builds of later steps meanwhile, one after the other, with the processor time
#                           that the tests leave: most of them wait for other programs
#   after PRESET COMMAND... waits until that build has been compiled, and runs the command. What could not be compiled
#                           fails in the command, which builds it too.
#   begin NAME COMMAND...   starts a step beside those that follow: one that waits for others more than it computes
#   finish NAME             waits for it, prints its output and counts it as `step` does
#   steps_end               prints what failed, what passed only when it was tried again, and
#                           "N passed, N failed"; its status is 0 when nothing failed
export JOBS=${JOBS:-$(nproc)}
exec </dev/null

steps_passed=0
steps_failed=0
steps_failures=()
steps_retried=()
steps_times=()
steps_log=$(mktemp)
declare -A steps_begun=()
steps_groups=() # what runs beside the steps, each a process group of its own
steps_ahead=
steps_beside=$(mktemp -d)
steps_cpu=0
steps_leave() {
    local group
    for group in "${steps_groups[@]+"${steps_groups[@]}"}"; do
        kill -- "-$group" 2>/dev/null || :
    done
    rm -rf "$steps_log" "$steps_beside"
}
trap steps_leave EXIT

compile_ahead() {
    # A session of its own, so that all of it can be ended.
    # shellcheck disable=SC2016 # a script of its own
    setsid nice -n 19 bash -c '
        done=$1
        shift
        for preset; do
            { cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$JOBS"; } >"$done/log" 2>&1 || :
            touch "$done/$preset"
        done' bash "$steps_beside" "$@" &
    steps_ahead=$!
    steps_groups+=("$!")
}

after() {
    local preset=$1
    shift
    while [ ! -e "$steps_beside/$preset" ] && kill -0 "$steps_ahead" 2>/dev/null; do
        sleep 0.2
    done
    "$@"
}

begin() {
    local name=$1
    shift
    echo "==== $name: begun beside the next steps: $*"
    # shellcheck disable=SC2016 # a script of its own
    setsid bash -c '
        beside=$1
        shift
        status=0
        "$@" >"$beside.log" 2>&1 || status=$?
        echo "$SECONDS $status" >"$beside.ended"' bash "$steps_beside/$name" "$@" &
    steps_groups+=("$!")
    steps_begun[$name]=$!
}

finish() {
    local beside=$steps_beside/$1 took status
    wait "${steps_begun[$1]}" || :
    read -r took status <"$beside.ended" || { took=0 status=1; }
    tee "$steps_log" <"$beside.log"
    steps_end_one "$1" "$status" "$took"
}

# Sets $steps_cpu to the seconds of processor time of all that this shell has waited for: the second line of
# `times`, which has to run in this shell itself.
steps_cpu_look() {
    times >"$steps_beside/times"
    steps_cpu=$(awk 'NR == 2 {gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4)}' "$steps_beside/times")
}

# steps_count STATUS NAME: what the step that wrote $steps_log adds up to. ctest and run-fuzzers
# name what they ran; any other step is one thing that passed or failed.
steps_count() {
    local status=$1 name=$2 total=0 bad=0
    if grep -qE 'tests passed, [0-9]+ tests failed out of' "$steps_log"; then
        total=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$steps_log" | tail -n 1)
        bad=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of .*/\1/p' "$steps_log" | tail -n 1)
    elif grep -qE '^(ok  |FAIL) ' "$steps_log"; then
        total=$(grep -cE '^(ok  |FAIL) ' "$steps_log") || true
        bad=$(grep -cE '^FAIL ' "$steps_log") || true
    fi
    # A step that failed before or besides its tests has failed all the same.
    if [ "$total" -eq 0 ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        total=$((total + 1))
        [ "$status" -eq 0 ] || bad=$((bad + 1))
    fi
    steps_passed=$((steps_passed + total - bad))
    steps_failed=$((steps_failed + bad))
    [ "$status" -eq 0 ] || steps_failures+=("$name")
    # A test that fails first has a line of its own for each try; the list at the end of ctest's output
    # has those that failed for good.
    local test
    while read -r test; do
        grep -qE "^[[:space:]]+[0-9]+ - $test \(" "$steps_log" || steps_retried+=("$name: $test")
    done < <(sed -nE 's/.*Test +#[0-9]+: ([^ ]+) \.*(\*\*\*|Subprocess|Child|Exit|Bus|SegFault|Timeout).*/\1/p' "$steps_log" | sort -u)
}

step() {
    local name=$1 started=$SECONDS status=0
    shift
    echo "==== $name: $*"
    "$@" 2>&1 | tee "$steps_log" || status=$?
    steps_end_one "$name" "$status" $((SECONDS - started))
}

# steps_end_one NAME STATUS SECONDS: counts the step that wrote $steps_log.
steps_end_one() {
    steps_count "$2" "$1"
    local before=$steps_cpu
    steps_cpu_look
    steps_times+=("$(printf '%5d s, %5d s of processor time  %s' "$3" $((steps_cpu - before)) "$1")")
    echo "==== $1: $([ "$2" -eq 0 ] && echo passed || echo FAILED) in $3 s"
}

steps_end() {
    printf '%s\n' "${steps_times[@]}"
    local name
    for name in "${steps_retried[@]+"${steps_retried[@]}"}"; do
        echo "FAILED FIRST, and passed when tried again: $name"
    done
    for name in "${steps_failures[@]+"${steps_failures[@]}"}"; do
        echo "FAILED: $name"
    done
    echo "took $((SECONDS / 60)) min $((SECONDS % 60)) s; ${#steps_retried[@]} tests passed only when tried again"
    echo "$steps_passed passed, $steps_failed failed"
    [ "$steps_failed" -eq 0 ]
}
