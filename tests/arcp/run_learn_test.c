/* `arcp lease learn` and `arcp run --learn`: what is printed, what is written down, and that the
 * lease is enough. */
#include "arcp/run_rows.h"

#define WARNING                                                                                    \
    "learning: nothing is confined; what the command does is allowed, and written down\n"
#define FIRST "arcp lease learn: " WARNING

static const run_row rows[] = {
    {"the lease is printed, and what was used", "$ARCP lease learn -- cat here", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     FIRST "here\nread      $ROOT/project/here\n"
           "arcp lease learn: the lease has 1 pattern; read it before you use it\n"},
    {"a command that uses nothing", "$ARCP lease learn --quiet -- true", 0, .out = "{}\n", FIRST},
    {"--learn writes a file, and leaves the output alone",
     "$ARCP run --quiet --learn lease.json -- cat here && cat lease.json", 0,
     .out = "here\n{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     "arcp run: " WARNING},
    {"a shorter lease replaces a longer one",
     "echo 'a text that is longer than the lease' >lease.json; "
     "$ARCP run --quiet --learn lease.json -- true && cat lease.json",
     0, .out = "{}\n", "arcp run: " WARNING},
    {"options of the command are its own", "$ARCP lease learn --quiet echo --json -x", 0,
     .out = "{}\n", FIRST "--json -x\n"},
    {"the status is that of the command", "$ARCP lease learn --quiet -- sh -c 'cat here; exit 7'",
     7, .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     FIRST "here\narcp lease learn: the command failed: the lease has what it used until then\n"},
    {"a command that a signal ends", "$ARCP lease learn --quiet -- sh -c 'cat here; kill -9 $$'",
     137, .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     "~the command failed: the lease has what it used until then"},
    {"a command that is not there", "$ARCP lease learn -- no-such-command", 127, .out = "",
     "arcp lease learn: the program no-such-command is not in PATH\n"},
    {"files outside are used, and written down",
     "$ARCP lease learn --quiet -- sh -c 'cat ../home/secret; echo x >../data/new'", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/home/secret\"\n  ],\n  \"fs.write\": [\n    "
            "\"$ROOT/data/new*\"\n  ]\n}\n",
     FIRST "secret\n"},
    {"five files of one suffix",
     "touch 1.c 2.c 3.c 4.c 5.c; $ARCP lease learn --quiet -- cat 1.c 2.c 3.c 4.c 5.c here", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/*.c\",\n    \"$ROOT/project/here\"\n  ]\n}\n",
     NULL},
    {"--exact",
     "touch 1.c 2.c 3.c 4.c 5.c; $ARCP lease learn --exact --quiet -- cat [12345].c | wc -l", 0,
     .out = "9\n", NULL},
    {"temporary files are no part of it",
     "$ARCP lease learn --quiet -- sh -c 'f=$(mktemp) && echo x >$f && cat $f && rm $f'", 0,
     .out = "{}\n", NULL},

    /* names */
    {"a name with a star is left out, and said", "touch 'a*b'; $ARCP lease learn -- cat 'a*b' here",
     0, .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     "~left out  $ROOT/project/a*b: no pattern is this name alone\n"},
    {"a name with control bytes", "touch $'a\\x1bb\\nc'; $ARCP lease learn -- cat $'a\\x1bb\\nc'",
     0, .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/a\\u001bb\\nc\"\n  ]\n}\n",
     "~read      $ROOT/project/a\\x1bb\\nc\n"},
    {"a name that is not UTF-8", "touch $'a\\xff'; $ARCP lease learn -- cat $'a\\xff' here", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     "~left out  $ROOT/project/a\\xff: no pattern is this name alone\n"},
    {"a long path",
     "d=$(printf 'x%.0s' $(seq 200)); mkdir -p $d/$d/$d/$d/$d; echo y >$d/$d/$d/$d/$d/f; "
     "$ARCP run --learn lease.json -- cat $d/$d/$d/$d/$d/f && "
     "$ARCP run --lease @lease.json -- cat $d/$d/$d/$d/$d/f",
     0, .out = "y\ny\n", NULL},

    /* much */
    {"10 000 files",
     "mkdir many; (cd many; seq 10000 | xargs touch); "
     "$ARCP lease learn --quiet -- sh -c 'cat many/*'",
     0, .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/many/*\"\n  ]\n}\n", FIRST},
    {"many processes at once",
     "for i in $(seq 100); do echo $i >p$i; done; $ARCP lease learn --quiet -- bash -c "
     "'for i in $(seq 100); do cat p$i & done; wait' 2>/dev/null | grep -c project",
     0, .out = "1\n", NULL},
    {"only some names are printed",
     "mkdir names; (cd names; seq 150 | xargs touch); $ARCP lease learn -- sh -c 'cat names/*'", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/names/*\"\n  ]\n}\n",
     "~arcp lease learn: 51 more names were used\n"},

    /* JSON */
    {"--json prints the lease on one line",
     "$ARCP lease learn --json --quiet -- sh -c 'cat here >../data/json'", 0,
     .out = "{\"fs.read\":[\"$ROOT/project/here\"],\"fs.write\":[\"$ROOT/data/json*\"]}\n", FIRST},
    {"--json leaves the file of --learn as people read it",
     "$ARCP run --quiet --json --learn lease.json -- cat here && cat lease.json", 0,
     .out = "here\n{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n", NULL},
    {"a replaced file in HOME is granted alone",
     "$ARCP lease learn --json --quiet -- sh -c 'echo x >../home/new; mv ../home/new "
     "../home/secret'",
     0, .out = "{\"fs.write\":[\"$ROOT/home/secret\"]}\n", FIRST},

    /* usage */
    {"its own help", "$ARCP lease learn --help | sed -n '1p;$p'", 0,
     .out = "usage: arcp lease learn [--fetch URL|HOST]... [--private-host HOST]... [--max-runtime "
            "DURATION]\n"
            "  --help                    print this help and exit\n",
     ""},
    {"its help has no option that makes a lease",
     "$ARCP lease learn --help | grep -cE -- '^  --(read|write|lease|grant|min|learn|pids) '", 1,
     .out = "0\n", ""},
    {"no command", "$ARCP lease learn", 2, .out = "",
     "arcp lease learn: CMD [ARG]... is missing\ntry: arcp lease learn --help\n"},
    {"options that make a lease", "$ARCP lease learn --read . -- true", 2, .out = "",
     "~--read cannot be given when a lease is learnt"},
    {"a file for the lease that is printed",
     "$ARCP lease learn --learn x -- touch ran; s=$?; test ! -e x -a ! -e ran && exit $s", 2,
     .out = "", "~--learn is an option of arcp run; arcp lease learn prints the lease"},
    {"those of limits", "$ARCP run --learn x --pids 9 -- true", 2, .out = "",
     "~--pids cannot be given when a lease is learnt"},
    {"--exact alone", "$ARCP run --exact -- true", 2, .out = "", "~--exact is for --learn"},
    {"a file that cannot be written", "$ARCP run --learn /proc/none -- touch ran; ls ran", 2,
     .out = NULL, "~--learn /proc/none"},
    {"inside a sandbox", /* where LeakSanitizer cannot trace its own process */
     "$ARCP run --base $ARCP --env ASAN_OPTIONS=detect_leaks=0 -- $ARCP lease learn -- true", 125,
     .out = "", "~this is a sandbox already"},
    {"without user notification nothing is learnt",
     "ARCP_SANDBOX_WITHOUT=notify $ARCP lease learn -- touch ran; s=$?; test ! -e ran && exit $s",
     125, .out = "",
     "arcp lease learn: this host cannot show what a command does: that needs seccomp user "
     "notification "
     "(Linux 5.19) and process_vm_readv (see `arcp doctor`)\n"},
    {"without process_vm_readv neither", "ARCP_SANDBOX_WITHOUT=vm_read $ARCP lease learn -- true",
     125, .out = "", "~cannot show what a command does"},
};

/* On hosts without namespaces files are seen all the same. */
static const run_row landlock_rows[] = {
    {"files are seen, the network is not", "$ARCP lease learn -- cat here", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n",
     FIRST "here\nread      $ROOT/project/here\n"
           "arcp lease learn: this host has no network namespaces, so the lease has no net.fetch "
           "(see `arcp "
           "doctor`)\n"
           "arcp lease learn: the lease has 1 pattern; read it before you use it\n"},
    {"the lease is enough",
     "$ARCP run --quiet --learn lease.json -- sh -c 'cat here; echo x >new' && rm new && "
     "$ARCP run --quiet --lease @lease.json -- sh -c 'cat here; echo x >new' && cat new",
     0, .out = "here\nhere\nx\n", NULL},
};

static const run_row none_rows[] = {
    {"a host that confines nothing can learn", "$ARCP lease learn --quiet -- cat here", 0,
     .out = "{\n  \"fs.read\": [\n    \"$ROOT/project/here\"\n  ]\n}\n", NULL},
};

static void what_is_learnt_is_as_written(void **state)
{
    const run_fixture *f = *state;
    if (strcmp(f->level, "full") != 0) {
        skip();
    }
    run_rows_check(f, rows, sizeof rows / sizeof rows[0], NULL);
}

static void without_namespaces_it_is_as_written(void **state)
{
    const run_fixture *f = *state;
    static const char *const without[] = {"ARCP_SANDBOX_WITHOUT=userns", NULL};
    if (strcmp(f->level, "none") == 0) {
        skip();
    }
    run_rows_check(f, landlock_rows, sizeof landlock_rows / sizeof landlock_rows[0], without);
}

static void without_landlock_it_is_as_written(void **state)
{
    const run_fixture *f = *state;
    static const char *const without[] = {"ARCP_SANDBOX_WITHOUT=landlock", NULL};
    if (strcmp(f->level, "none") == 0) {
        skip();
    }
    run_rows_check(f, none_rows, sizeof none_rows / sizeof none_rows[0], without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_learnt_is_as_written),
        cmocka_unit_test(without_namespaces_it_is_as_written),
        cmocka_unit_test(without_landlock_it_is_as_written),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
