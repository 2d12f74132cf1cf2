/* --memory and --pids of `arcp run`: by a cgroup where one can be had, else as far as it goes. */
#include "arcp/run_fixture.h"

#include <unistd.h>

#include "launch/cgroups.h"

typedef struct row {
    const char *name;
    const char *script;
    int status;
    const char *out;
    const char *err; /* NULL: not compared; "~TEXT": contains it */
} row;

/* 300 MB in the memory of one process, or in two that have 40 MB each. */
#define MUCH "-- sh -c 'head -c 300000000 /dev/zero | tail >/dev/null'"
#define TWICE                                                                                      \
    "-- sh -c 'for i in 1 2; do { head -c 40000000 /dev/zero; sleep 0.3; } | tail >/dev/null & "   \
    "done; wait $!'"

static const row everywhere[] = {
    {"a process that needs more memory fails",
     "$ARCP run --memory 64M " MUCH " 2>/dev/null && echo all || echo no", 0, "no\n", NULL},
    {"one that needs less does not",
     "$ARCP run --quiet --memory 64M -- sh -c 'head -c 9000000 /dev/zero | tail | wc -c'", 0,
     "9000000\n", ""},
    {"also at level landlock",
     "ARCP_SANDBOX_WITHOUT=userns $ARCP run --memory 64M " MUCH
     " 2>/dev/null && echo all || echo no",
     0, "no\n", NULL},
    {"without it there is no limit", "$ARCP run " MUCH " && echo all", 0, "all\n", ""},
};

static const row with_cgroups[] = {
    {"the end says what happened", "$ARCP run --memory 64M " MUCH " 2>&1 | grep 'needed'", 0,
     "arcp run: the command needed more than 67108864 bytes of memory (--memory); the kernel "
     "killed "
     "a process of it\n",
     NULL},
    {"so does the report",
     "$ARCP run --memory 64M --report ../report " MUCH
     " 2>/dev/null; tail -n 1 ../report | grep -o '\"limit\":\"memory\"'; rm ../report",
     0, "\"limit\":\"memory\"\n", ""},
    {"processes have it together", "$ARCP run --memory 64M " TWICE " 2>&1 | grep -c 'needed more'",
     0, "1\n", ""},
    {"the limit is exact", "$ARCP run --memory 64M -- true", 0, "", ""},
    {"--pids holds at level landlock",
     "ARCP_SANDBOX_WITHOUT=userns $ARCP run --quiet --pids 8 -- sh -c 'for i in $(seq 40); do "
     "sleep "
     "100 & done; echo all' 2>/dev/null || echo no",
     0, "no\n", ""},
    {"and lets as many start",
     "ARCP_SANDBOX_WITHOUT=userns $ARCP run --quiet --pids 8 -- sh -c 'for i in 1 2 3 4 5 6; do "
     "sleep "
     "0.1 & done; wait; echo all'",
     0, "all\n", ""},
};

/* As a user that cannot make cgroups. */
#define AS_NOBODY                                                                                  \
    "mkdir -p /tmp/arcp-limits.$$ && cd /tmp/arcp-limits.$$ && chmod 777 . && HOME=$PWD setpriv "  \
    "--reuid 65534 --regid 65534 --clear-groups "
#define LEAVE "; cd / && rm -rf /tmp/arcp-limits.$$"

static const row without_cgroups[] = {
    {"each process has the limit for itself, and the user is told",
     AS_NOBODY "$ARCP run --read / --memory 64M -- true 2>&1 | grep limit" LEAVE, 0,
     "advisory  limit memory_bytes 67108864: each process has the limit for itself; only a cgroup "
     "limits all together, which needs root or a unit with Delegate=yes\n",
     NULL},
    {"and it holds",
     AS_NOBODY "$ARCP run --quiet --memory 64M " MUCH " 2>/dev/null && echo all || echo no" LEAVE,
     0, "no\n", NULL},
};

static void check_rows(const run_fixture *f, const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        process p;
        print_message("  %s\n", rows[i].name);
        const int status = run_fixture_shell(f, &p, rows[i].script, (const char *const[]){NULL});
        if (status != rows[i].status || strcmp(arcp_buf_cstr(&p.out), rows[i].out) != 0 ||
            (rows[i].err != NULL && strcmp(arcp_buf_cstr(&p.err), rows[i].err) != 0)) {
            fail_msg("status %d, \"%s\", \"%s\"", status, arcp_buf_cstr(&p.out),
                     arcp_buf_cstr(&p.err));
        }
        process_fini(&p);
    }
}

static bool need_level(const run_fixture *f)
{
    if (strcmp(f->level, "full") != 0) {
        skip();
    }
    return true;
}

static void a_limit_of_memory_holds(void **state)
{
    const run_fixture *f = *state;
    (void)need_level(f);
    check_rows(f, everywhere, sizeof everywhere / sizeof everywhere[0]);
}

static void a_cgroup_limits_all_processes_together(void **state)
{
    const run_fixture *f = *state;
    (void)need_level(f);
    arcp__cgroups *cgroups = arcp__cgroups_open();
    const unsigned found = arcp__cgroups_find_limits(cgroups);
    arcp__cgroups_close(cgroups);
    if ((found & ARCP__CGROUP_MEMORY) == 0 || (found & ARCP__CGROUP_PIDS) == 0) {
        print_message("SKIPPED: no cgroup here can limit memory and processes (found %u)\n", found);
        skip();
    }
    check_rows(f, with_cgroups, sizeof with_cgroups / sizeof with_cgroups[0]);
}

static void without_a_cgroup_each_process_is_limited(void **state)
{
    const run_fixture *f = *state;
    (void)need_level(f);
    if (geteuid() != 0) {
        skip();
    }
    check_rows(f, without_cgroups, sizeof without_cgroups / sizeof without_cgroups[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_memory_holds),
        cmocka_unit_test(a_cgroup_limits_all_processes_together),
        cmocka_unit_test(without_a_cgroup_each_process_is_limited),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
