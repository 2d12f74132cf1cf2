# shellcheck shell=bash
# For scripts that run many checks: each runs even when one before it failed, and the end says how many
# passed. Sourced by .ci/run and tools/soak.
#
#   step NAME COMMAND...    runs it, with its output; says how long it took
#   compile_ahead PRESET... compiles builds, one after the other, beside the steps that follow, with the processor time
#                           that tests leave: most of them wait for other programs
#   after PRESET COMMAND... waits until that build has been compiled, and runs the command with BUILT=PRESET. Fails
#                           with what the compiler said when it could not be compiled.
#   begin NAME COMMAND...   starts a step beside those that follow: one that waits for others more than it computes,
#                           or one with a low priority
#   finish NAME             waits for it, prints its output and counts it as `step` does
#   steps_end               prints what each step took, what failed, what passed only when it was tried again, and
#                           "N passed, N failed"; its status is 0 when nothing failed
export JOBS=${JOBS:-$(nproc)}
# Debian's programs come first. A python3 of a version manager is a script of the shell, which takes ten times as long to
# start, and the tests start one for each agent that is written in Python.
export PATH=/usr/bin:/bin:$PATH
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
steps_compiled=()
steps_beside=$(mktemp -d)
steps_leave() {
    local group
    for group in "${steps_groups[@]+"${steps_groups[@]}"}"; do
        kill -- "-$group" 2>/dev/null || :
    done
    rm -rf "$steps_log" "$steps_beside"
}
trap steps_leave EXIT

# Prints the seconds that all processors have been busy and idle, in hundredths of a second.
steps_machine() {
    awk '/^cpu / {print $2 + $3 + $4 + $7 + $8 + $9, $5 + $6}' /proc/stat
}

# steps_measure FILE COMMAND...: runs it, and writes to FILE its status, its seconds, those of processor time, and the
# percentage of the processors that were idle meanwhile. For a shell of its own: it counts all that this shell has
# waited for.
steps_measure() {
    local file=$1 status=0 before
    shift
    before=$(steps_machine)
    SECONDS=0
    "$@" || status=$?
    times >"$file.times"
    {
        echo "$before"
        steps_machine
        cat "$file.times"
    } | awk -v status="$status" -v took="$SECONDS" '
        NR == 1 {busy = $1; idle = $2}
        NR == 2 {busy = $1 - busy; idle = $2 - idle}
        NR == 4 {gsub(/[ms]/, " "); cpu = $1 * 60 + $2 + $3 * 60 + $4}
        END {printf "%d %d %d %d\n", status, took, cpu, busy + idle == 0 ? 0 : 100 * idle / (busy + idle)}' >"$file.part"
    mv "$file.part" "$file"
    return "$status"
}
export -f steps_machine steps_measure

compile_ahead() {
    steps_compiled=("$@")
    # A session of its own, so that all of it can be ended.
    # shellcheck disable=SC2016 # a script of its own
    setsid nice -n 19 bash -c '
        beside=$1
        shift
        compile() {
            cmake --preset "$1" && cmake --build --preset "$1" --parallel "$JOBS"
        }
        for preset; do
            (steps_measure "$beside/compiled.$preset" compile "$preset") >"$beside/log.$preset" 2>&1 || :
        done' bash "$steps_beside" "$@" &
    steps_ahead=$!
    export steps_beside steps_ahead # for `after` in a step that runs beside others
    steps_groups+=("$!")
}

after() {
    local preset=$1 status=1
    shift
    while [ ! -e "$steps_beside/compiled.$preset" ] && kill -0 "$steps_ahead" 2>/dev/null; do
        sleep 0.2
    done
    read -r status _ 2>/dev/null <"$steps_beside/compiled.$preset" || :
    if [ "$status" -ne 0 ]; then
        cat "$steps_beside/log.$preset"
        return 1
    fi
    BUILT=$preset "$@"
}
export -f after

begin() {
    local name=$1
    shift
    echo "==== $name: begun beside the next steps: $*"
    # shellcheck disable=SC2016 # a script of its own
    setsid bash -c '
        beside=$1
        shift
        steps_measure "$beside.ended" "$@" >"$beside.log" 2>&1' bash "$steps_beside/$name" "$@" &
    steps_groups+=("$!")
    steps_begun[$name]=$!
}

finish() {
    local beside=$steps_beside/$1
    wait "${steps_begun[$1]}" || :
    tee "$steps_log" <"$beside.log"
    steps_end_one "$1" "$beside.ended"
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
    local name=$1
    shift
    echo "==== $name: $*"
    (steps_measure "$steps_beside/step" "$@") 2>&1 | tee "$steps_log" || :
    steps_end_one "$name" "$steps_beside/step"
}

steps_time() {
    steps_times+=("$(printf '%5d s, %5d s of processor time, %3d %% idle  %s' "$2" "$3" "$4" "$1")")
}

# steps_end_one NAME MEASURED: counts the step that wrote $steps_log and was measured.
steps_end_one() {
    local status=1 took=0 cpu=0 idle=0
    read -r status took cpu idle 2>/dev/null <"$2" || :
    rm -f "$2"
    steps_count "$status" "$1"
    steps_time "$1" "$took" "$cpu" "$idle"
    echo "==== $1: $([ "$status" -eq 0 ] && echo passed || echo FAILED) in $took s"
}

steps_end() {
    local name took cpu idle
    for name in "${steps_compiled[@]+"${steps_compiled[@]}"}"; do
        read -r _ took cpu idle 2>/dev/null <"$steps_beside/compiled.$name" || continue
        steps_time "compiling $name" "$took" "$cpu" "$idle"
    done
    printf '%s\n' "${steps_times[@]}"
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
