/* `arcp run`: its options, exit statuses and refusals, on the sandbox of this host. */
#include "arcp/run_rows.h"

static const run_row rows[] = {
    /* exit statuses */
    {"output and status are those of the command", "$ARCP run -- echo hi", 0, .out = "hi\n", ""},
    {"its status", "$ARCP run -- sh -c 'exit 7'", 7, .out = "", ""},
    {"128 and the signal that ended it", "$ARCP run -- sh -c 'kill -9 $$'", 137, .out = "", ""},
    {"another signal", "$ARCP run -- sh -c 'kill -TERM $$'", 143, .out = "", ""},
    {"no such command", "$ARCP run -- no-such-command", 127, .out = "",
     "arcp run: the program no-such-command is not in PATH\n"},
    {"no such path", "$ARCP run -- ./none", 127, .out = "",
     "arcp run: $ROOT/project/./none: No such file or directory\n"},
    {"what cannot be executed", "$ARCP run -- ./here", 126, .out = "",
     "arcp run: $ROOT/project/./here is not an executable file\n"},
    {"a lease that has expired", "$ARCP run --expires-at 2000-01-01T00:00:00Z -- touch $ROOT/ran",
     4, .out = "", "arcp run: the lease has expired\n", .absent = "ran"},
    {"a lease that expires", "$ARCP run --expires-in 1s -- sleep 1000", 4, .out = "",
     "arcp run: the lease expired; the command was killed\n"},
    {"a command that runs too long", "$ARCP run --max-runtime 1 -- sleep 1000", 6, .out = "",
     "arcp run: the command was ended after 1 s (--max-runtime)\n"},
    {"in a directory that is gone", "mkdir gone; cd gone; rmdir ../gone; $ARCP run -- true", 125,
     .out = "", "arcp run: the current directory cannot be found: No such file or directory\n"},
    {"a directory of the lease that is not there",
     "$ARCP run --grant \"fs.read=$ROOT/none/**\" -- true", 125, .out = "",
     "arcp run: the directory $ROOT/none, which the lease grants, does not exist\n"},
    {"a directory of the lease that is a file",
     "$ARCP run --grant \"fs.read=$ROOT/data/one/**\" -- true", 125, .out = "",
     "arcp run: the directory $ROOT/data/one, which the lease grants, is not a directory\n"},
    {"inside a sandbox there is no other",
     "$ARCP run --base $ARCP --env ASAN_OPTIONS=detect_leaks=0 -- $ARCP run -- true", 125,
     .out = "", "arcp run: this is a sandbox already, and a sandbox cannot make another\n"},

    /* usage */
    {"no command", "$ARCP run", 2, .out = "", "~CMD [ARG]... is missing"},
    {"no command behind the options", "$ARCP run --read /usr --", 2, .out = "", "~is missing"},
    {"an unknown option", "$ARCP run --raed /usr -- true", 2, .out = "", "~did you mean --read?"},
    {"options of the command are its own", "$ARCP run echo --json --help", 0,
     .out = "--json --help\n", ""},
    {"also behind --", "$ARCP run -- echo -- x", 0, .out = "-- x\n", ""},
    {"--min", "$ARCP run --min best -- true", 2, .out = "", "~'best' is not one of exact"},
    {"--pids 0", "$ARCP run --pids 0 -- true", 2, .out = "", "~not a number from 1 to 4194304"},
    {"--pids beyond the most", "$ARCP run --pids 4194305 -- true", 2, .out = "",
     "~not a number from 1"},
    {"--memory 0", "$ARCP run --memory 0 -- true", 2, .out = "",
     "~--memory: '0' is not a number of bytes from 1M"},
    {"--memory below the least", "$ARCP run --memory 1023K -- true", 2, .out = "",
     "~not a number of bytes"},
    {"--memory with another unit", "$ARCP run --memory 1T -- true", 2, .out = "",
     "~not a number of bytes"},
    {"--memory with more behind the unit", "$ARCP run --memory 64MB -- true", 2, .out = "",
     "~not a number of bytes"},
    {"--memory beyond 64 bits", "$ARCP run --memory 18446744073709551615K -- true", 2, .out = "",
     "~not a number of bytes"},
    {"--memory without digits", "$ARCP run --memory M -- true", 2, .out = "",
     "~not a number of bytes"},
    {"--protect", "$ARCP run --protect all -- true", 2, .out = "", "~not one of strict, commits"},
    {"--protect and --no-protect", "$ARCP run --protect strict --no-protect -- true", 2, .out = "",
     "~cannot be given together"},
    {"--env", "$ARCP run --env =x -- true", 2, .out = "", "~NAME or NAME=VALUE"},
    {"--read with nothing", "$ARCP run --read '' -- true", 2, .out = "", "~--read "},
    {"--fetch with nothing", "$ARCP run --fetch '' -- true", 2, .out = "", "~--fetch needs"},
    {"--base of what is not there", "$ARCP run --base ./none -- true", 2, .out = "",
     "~there is no such file"},
    {"--lease that is none", "$ARCP run --lease '[]' -- true", 2, .out = "", "~--lease must be"},
    {"--grant of what is no capability", "$ARCP run --grant fs.raed=/x -- true", 2, .out = "",
     "~fs.raed"},
    {"--expires-in and --expires-at",
     "$ARCP run --expires-in 1h --expires-at 2099-01-01T00:00:00Z -- true", 2, .out = "",
     "~cannot be given together"},
    {"--max-runtime", "$ARCP run --max-runtime 0 -- true", 2, .out = "",
     "~--max-runtime: '0' is not in whole seconds, from 1"},
    {"--report where nothing can be written", "$ARCP run --report /proc/none -- true", 2, .out = "",
     "~--report /proc/none"},

    /* files */
    {"the current directory is read", "$ARCP run -- cat here", 0, .out = "here\n", ""},
    {"but not written", "$ARCP run -- sh -c 'echo x 2>&1 >new' || echo no", 0, .out = NULL,
     "denied    fs.write $ROOT/project/new (sh)\n"
     "arcp run: 1 denied. To allow: --write $ROOT/project/new\n",
     .absent = "project/new"},
    {"--write . grants that", "$ARCP run --write . -- sh -c 'echo x >written'", 0, .out = "", "",
     .present = "project/written"},
    {"what is beside it is not read", "$ARCP run -- cat ../data/one", 1, .out = "", "~cat: "},
    {"--read of a directory", "$ARCP run --read ../data -- cat ../data/one", 0, .out = "one\n", ""},
    {"--read of a file", "$ARCP run --read ../data/one -- cat ../data/one", 0, .out = "one\n", ""},
    {"is no grant to write it",
     "$ARCP run --read ../data -- sh -c 'echo x >../data/two' 2>/dev/null || echo no", 0,
     .out = "no\n", "", .absent = "data/two"},
    {"--write of a file",
     "$ARCP run --write ../data/one -- sh -c 'echo more >>../data/one' && cat ../data/one", 0,
     .out = "one\nmore\n", ""},
    {"a lease decides alone",
     "$ARCP run --lease \"{\\\"fs.read\\\":[\\\"$ROOT/data/**\\\"]}\" -- cat "
     "$ROOT/data/one $ROOT/project/here",
     1, .out = "one\nmore\n", "~cat: "},
    {"with --read it has both",
     "$ARCP run --lease \"{\\\"fs.read\\\":[\\\"$ROOT/data/**\\\"]}\" --read . -- cat "
     "$ROOT/data/one here",
     0, .out = "one\nmore\nhere\n", ""},
    {"--grant", "$ARCP run --grant \"fs.read=$ROOT/data/**\" -- cat $ROOT/data/one", 0,
     .out = "one\nmore\n", ""},
    {"a pattern that --read cannot mean", "touch 'a*b'; $ARCP run --read 'a*b' -- true", 2,
     .out = "", "~* stands for any name"},
    {"HOME is private", "$ARCP run -- sh -c 'cat ~/secret; echo x >~/made && cat ~/made'", 0,
     .out = "x\n", "~cat: ", .absent = "home/made"},
    {"/tmp too",
     "$ARCP run -- sh -c 'echo x >/tmp/arcp-run-made && cat /tmp/arcp-run-made' && ls "
     "/tmp/arcp-run-made",
     2, .out = "x\n", "~No such file"},
    {"in HOME nothing of it is read", "cd && $ARCP run -- sh -c 'cat secret'", 1, .out = "",
     "~arcp run: the current directory is not read, because it is your home directory; --read . "
     "grants it\n"},
    {"nor above it", "cd $ROOT && $ARCP run -- sh -c 'cat home/secret'", 1, .out = "",
     "~because it holds your home directory"},
    {"nor in /", "cd / && $ARCP run -- true", 0, .out = "",
     "arcp run: the current directory is not read, because it is /; --read . grants it\n"},
    {"--read . grants it", "cd && $ARCP run --read . -- cat secret", 0, .out = "secret\n",
     "under     fs.read $ROOT/home/**: the runtime's own files in it are left out\n"},
    {"a link does not hide that it is HOME",
     "ln -sfn $ROOT/home $ROOT/link; HOME=$ROOT/link; export HOME; cd $ROOT/home && $ARCP run -- "
     "cat secret",
     1, .out = "", "~because it is your home directory"},
    {"nor another HOME in the environment",
     "cd \"$(getent passwd $(id -u) | cut -d: -f6)\" 2>/dev/null || cd; $ARCP run -- true", 0,
     .out = "",
     "arcp run: the current directory is not read, because it is your home directory; --read . "
     "grants "
     "it\n"},
    {"--base is read and executed",
     "mkdir -p ../tool && printf '#!/bin/sh\\necho tool\\n' >../tool/t && chmod +x ../tool/t; "
     "$ARCP "
     "run --base ../tool -- sh -c ../tool/t",
     0, .out = "tool\n", ""},
    {"the command's own directory needs no --base", "$ARCP run -- ../tool/t", 0, .out = "tool\n",
     ""},
    {"the files of ARCP are never granted",
     "mkdir -p ~/.config/arcp && echo 'token: x' >~/.config/arcp/config.yaml; $ARCP run --write ~ "
     "-- sh "
     "-c "
     "'cat ~/.config/arcp/config.yaml; echo x >~/.config/arcp/new; cat ~/secret'",
     0, .out = "secret\n", "~cat: ", .absent = "home/.config/arcp/new"},
    {"nor made when they are absent",
     "rm -rf ~/.local; $ARCP run --write ~ -- sh -c 'mkdir -p ~/.local/state/arcp; echo x "
     ">~/.local/state/arcp/store' 2>/dev/null || echo no",
     0, .out = "no\n", "", .absent = "home/.local/state/arcp/store"},

    /* .git */
    {"all of .git is read-only",
     "git init -q repo; cd repo; $ARCP run --write . -- sh -c 'echo x "
     ">.git/x; echo x >file' 2>/dev/null; ls .git/x file",
     2, .out = "file\n", "~.git/x"},
    {"--protect commits lets it be written",
     "cd repo; $ARCP run --write . --protect commits -- sh -c 'echo x >.git/x' && ls .git/x", 0,
     .out = ".git/x\n", ""},
    {"but not what git executes",
     "cd repo; $ARCP run --write . --protect commits -- sh -c 'echo x >.git/hooks/h || echo x "
     ">>.git/config || mv .git .g' 2>/dev/null || echo no",
     0, .out = "no\n", ""},
    {"--no-protect lets all of it be written",
     "cd repo; $ARCP run --write . --no-protect -- sh -c 'echo x >.git/hooks/h' && ls .git/hooks/h",
     0, .out = ".git/hooks/h\n", ""},

    {"the option that would allow it is not --write",
     "cd repo; $ARCP run --write . -- sh -c 'echo x >.git/y' 2>&1 | grep -c 'To allow: --protect "
     "commits$'",
     0, .out = "1\n", ""},
    {"nor --protect commits for what git executes",
     "cd repo; $ARCP run --write . --protect commits -- sh -c 'echo x >.git/hooks/y' 2>&1 | grep "
     "-c 'To "
     "allow: --no-protect$'",
     0, .out = "1\n", ""},

    /* lines that are not exact */
    {"without a network that is said",
     "ARCP_SANDBOX_WITHOUT=egress $ARCP run --fetch example.com -- true", 0, .out = "",
     "refused   net.fetch https://example.com/**: the sandbox has no network\n"},
    {"a URL is taken as it is",
     "ARCP_SANDBOX_WITHOUT=egress $ARCP run --fetch 'http://h:8080/x*' -- true", 0, .out = "",
     "~refused   net.fetch http://h:8080/x*: "},
    {"--quiet says nothing of it",
     "ARCP_SANDBOX_WITHOUT=egress $ARCP run --quiet --fetch example.com -- true", 0, .out = "", ""},
    {"--min exact does not accept it",
     "ARCP_SANDBOX_WITHOUT=egress $ARCP run --min exact --fetch example.com -- touch "
     "$ROOT/project/ran",
     4, .out = "", "~--min exact does not accept that", .absent = "project/ran"},
    {"--min exact accepts what is", "$ARCP run --min exact --read ../data -- true", 0, .out = "",
     ""},
    {"there is no network: not to this host either",
     "$ARCP run -- bash -c 'echo >/dev/tcp/127.0.0.1/1' 2>/dev/null || echo no", 0, .out = "no\n",
     ""},

    /* environment */
    {"the environment is kept back", "A_SECRET=x $ARCP run -- env", 0, .out = NULL, ""},
    {"--env passes a variable", "A=1 $ARCP run --env A -- sh -c 'echo $A'", 0, .out = "1\n", ""},
    {"or sets one", "A=1 $ARCP run --env A=2 -- sh -c 'echo $A'", 0, .out = "2\n", ""},
    {"one that is not set is not passed", "$ARCP run --env NONE -- sh -c 'echo ${NONE-unset}'", 0,
     .out = "unset\n", ""},
    {"HOME, PATH and TZ are passed",
     "TZ=UTC $ARCP run -- sh -c 'echo $HOME $TZ; test -n \"$PATH\"'", 0, .out = "$ROOT/home UTC\n",
     ""},
    {"a command that fails: how many were not passed is printed",
     "env -i ARCP=$ARCP HOME=$HOME PATH=$PATH A=1 B=2 sh -c '$ARCP run -- false'", 1, .out = "",
     "arcp run: 3 variables of the environment were not passed to the command; --env NAME passes "
     "one\n"},

    /* descriptors */
    {"standard input is the command's", "echo text | $ARCP run -- cat", 0, .out = "text\n", ""},
    {"a directory as standard input is refused", "$ARCP run -- true <.", 125, .out = "",
     "~arcp run: standard descriptor stdin: "},
    {"closed ones are empty", "$ARCP run -- cat <&-", 0, .out = "", ""},
    {"other descriptors are not passed",
     "$ARCP run -- sh -c 'cat <&7' 7<../data/one 2>/dev/null || "
     "echo no",
     0, .out = "no\n", ""},

    /* processes */
    {"--pids",
     "$ARCP run --pids 8 -- sh -c 'for i in $(seq 400); do sleep 100 & done; echo all' "
     "2>/dev/null || echo no",
     0, .out = "no\n", ""},
    {"what the command leaves behind is gone",
     "$ARCP run --env N=4$$ -- sh -c 'setsid sleep $N >/dev/null 2>&1 & exit 0'; pgrep -x -a sleep "
     "| "
     "grep \"sleep 4$$\" || echo none",
     0, .out = "none\n", ""},
    {"it sees no other process",
     "$ARCP run -- sh -c 'ls -d /proc/[0-9]* | wc -l; test -e "
     "/proc/'$$' && echo seen'",
     1, .out = NULL, ""},
};

#define LANDLOCK_LINE                                                                              \
    "arcp run: level landlock: names and sizes of all files can be seen (see `arcp doctor`)\n"

/* With ARCP_SANDBOX_WITHOUT=userns: level landlock on this host, too. */
static const run_row landlock_rows[] = {
    {"it says so", "$ARCP run -- echo hi", 0, .out = "hi\n", LANDLOCK_LINE},
    {"unless it is quiet", "$ARCP run --quiet -- echo hi", 0, .out = "hi\n", ""},
    {"its status", "$ARCP run -- sh -c 'exit 7'", 7, .out = "", LANDLOCK_LINE},
    {"a signal", "$ARCP run -- sh -c 'kill -9 $$'", 137, .out = "", LANDLOCK_LINE},
    {"the current directory is read, but not written",
     "$ARCP run -- sh -c 'cat here; echo x >landlock'", 2, .out = "here\n", "~denied",
     .absent = "project/landlock"},
    {"--write . grants that", "$ARCP run --write . -- sh -c 'echo x >landlock'", 0, .out = "",
     LANDLOCK_LINE, .present = "project/landlock"},
    {"modes and times are changed there, and not beside it",
     "$ARCP run --write . --read ../data -- sh -c 'chmod 600 landlock && touch -d @1 landlock && "
     "stat -c \"%a %Y\" landlock; chmod 600 ../data/one'; stat -c %a ../data/one",
     0, .out = "600 1\n644\n", "~denied    fs.write $ROOT/data/one (chmod)"},
    {"what is beside it is not read", "$ARCP run -- cat ../data/one", 1, .out = "",
     "~Permission denied"},
    {"HOME and TMPDIR are directories of the run, and are gone",
     "$ARCP run --env ROOT -- sh -c 'cat $ROOT/home/secret; echo x >~/made && echo y >$TMPDIR/made "
     "&& cat ~/made "
     "$TMPDIR/made; echo ~' >home.txt; cat home.txt | head -2; ls $(tail -1 home.txt)",
     2, .out = "x\ny\n", "~No such file"},
    {"the files of ARCP are not written",
     "mkdir -p ~/.config/arcp; $ARCP run --env ROOT --write ~ -- sh -c 'echo x "
     ">$ROOT/home/.config/arcp/new'",
     2, .out = "", NULL, .absent = "home/.config/arcp/new"},
    {"--min exact does not accept what is less",
     "$ARCP run --min exact --write . --fetch example.com -- touch $ROOT/project/ran2", 4,
     .out = "", "~--min exact does not accept that", .absent = "project/ran2"},
    {"there is no network",
     "$ARCP run -- bash -c 'echo >/dev/tcp/127.0.0.1/1' 2>&1 | grep -o 'Permission denied' | head "
     "-1",
     0, .out = "Permission denied\n", ""},
    {"when the lease expires, all that the command has started is killed",
     "$ARCP run --quiet --expires-in 1s --env N=6$$ -- sh -c 'setsid sleep $N & setsid sh -c "
     "\"setsid "
     "sleep $N & wait\" & sleep 1000'; echo $?; pgrep -x -a sleep | grep \"sleep 6$$\" || echo "
     "none",
     0, .out = "4\nnone\n", "arcp run: the lease expired; the command was killed\n"},
    {"at the end of --max-runtime too, even if it ignores SIGTERM",
     "$ARCP run --quiet --max-runtime 1 --env N=7$$ -- sh -c 'trap \"\" TERM; setsid sleep $N & "
     "while :; do "
     "sleep 1; done'; echo $?; pgrep -x -a sleep | grep \"sleep 7$$\" || echo none",
     0, .out = "6\nnone\n", "arcp run: the command was ended after 1 s (--max-runtime)\n"},
    {"a command that runs too long", "$ARCP run --quiet --max-runtime 1 -- sleep 1000", 6,
     .out = "", "arcp run: the command was ended after 1 s (--max-runtime)\n"},
    {"what the command leaves behind is gone",
     "$ARCP run --env N=5$$ -- sh -c 'setsid sleep $N >/dev/null 2>&1 & exit 0'; pgrep -x -a sleep "
     "| "
     "grep \"sleep 5$$\" || echo none",
     0, .out = "none\n", LANDLOCK_LINE},
};

/* A host that cannot confine starts nothing. */
static const run_row unable_rows[] = {
    {"without Landlock", "ARCP_SANDBOX_WITHOUT=landlock $ARCP run -- touch $ROOT/ran3", 125,
     .out = "", "arcp run: this host cannot confine a command (see `arcp doctor`)\n",
     .absent = "ran3"},
    {"without filters", "ARCP_SANDBOX_WITHOUT=seccomp $ARCP run -- touch $ROOT/ran3", 125,
     .out = "", "arcp run: this host cannot confine a command (see `arcp doctor`)\n",
     .absent = "ran3"},
    {"--min advisory changes nothing",
     "ARCP_SANDBOX_WITHOUT=landlock $ARCP run --min advisory -- touch $ROOT/ran3", 125, .out = "",
     "arcp run: this host cannot confine a command (see `arcp doctor`)\n", .absent = "ran3"},
    {"an ability that is unknown", "ARCP_SANDBOX_WITHOUT=wings $ARCP run -- touch $ROOT/ran3", 125,
     .out = "", "~names an unknown ability", .absent = "ran3"},
};

static void level_full_is_as_written(void **state)
{
    const run_fixture *f = *state;
    if (strcmp(f->level, "full") != 0) {
        skip();
    }
    run_rows_check(f, rows, sizeof rows / sizeof rows[0], NULL);
}

static void level_landlock_is_as_written(void **state)
{
    const run_fixture *f = *state;
    static const char *const without[] = {"ARCP_SANDBOX_WITHOUT=userns", NULL};
    if (strcmp(f->level, "none") == 0) {
        skip();
    }
    run_rows_check(f, landlock_rows, sizeof landlock_rows / sizeof landlock_rows[0], without);
}

static void a_host_that_cannot_confine_is_as_written(void **state)
{
    run_rows_check(*state, unable_rows, sizeof unable_rows / sizeof unable_rows[0], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_full_is_as_written),
        cmocka_unit_test(level_landlock_is_as_written),
        cmocka_unit_test(a_host_that_cannot_confine_is_as_written),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
