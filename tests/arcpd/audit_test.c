/* The audit log of a real arcpd: every decision has its line, the chain continues over restarts and
 * kills, and a full disk has the effect that the configuration chooses. */
#include "arcpd/host.h"

#include <signal.h>
#include <sys/stat.h>

#define COMMON                                                                                     \
    "tokens: [{token: ta, principal: alice}, {token: tb, principal: bob}]\n"                       \
    "agents:\n"                                                                                    \
    "  - {name: hello, command: [echo, hi], mode: plain}\n"                                        \
    "  - {name: life, command: [sh, '@agents/life.sh']}\n"                                         \
    "  - {name: ask, command: [sh, '@agents/ask.sh']}\n"                                           \
    "  - {name: sleep, command: [sleep, '1000']}\n"                                                \
    "jobs: {cancel_grace_ms: 0}\n"                                                                 \
    "store: 'memory:'\n"

static void grep(const host *place, const char *wanted, const char *const *filters)
{
    process p;
    const char *words[16] = {"audit", "grep", "--json"};
    char path[96];
    size_t count = 3;
    snprintf(path, sizeof path, "%s/audit.jsonl", place->directory);
    for (; *filters != NULL; filters++) {
        words[count++] = *filters;
    }
    words[count] = path;
    host_run(place, NULL, &p, 0, words);
    if (strstr(p.out.data, wanted) == NULL) {
        fail_msg("no %s in:\n%s", wanted, p.out.data);
    }
    process_fini(&p);
}

static void verify(const host *place, int exit_status)
{
    process p;
    char path[96];
    snprintf(path, sizeof path, "%s/audit.jsonl", place->directory);
    host_run(place, NULL, &p, exit_status, WORDS("audit", "verify", path));
    process_fini(&p);
}

/* Runs `arcp` and copies the job's id from its output. */
static void submit(const host *place, int exit_status, char id[40], const char *const *words)
{
    process p;
    host_run(place, "ta", &p, exit_status, words);
    const char *found = strstr(p.err.data, "job_");
    if (found == NULL) {
        found = strstr(p.out.data, "job_");
    }
    assert_non_null(found);
    snprintf(id, 40, "%.30s", found);
    process_fini(&p);
}

static void every_decision_has_its_line(void **state)
{
    host *w = *state;
    process p;
    char life[40];
    char sleeper[40];
    host_start(w, COMMON "audit: {grants: true}\n"
                         "policy: [{principal: alice, agent: life, max_lease: "
                         "{fs.read: ['/srv/**'], agent.delegate: ['*']}}]\n");
    submit(w, 0, life,
           WORDS("submit", "life", "--lease", "{\"fs.read\":[\"/srv/**\",\"/home/**\"]}", "--grant",
                 "agent.delegate=hello"));
    submit(w, 0, sleeper, WORDS("submit", "sleep", "--detach"));
    host_run(w, "tb", &p, 4, WORDS("watch", sleeper));
    process_fini(&p);
    host_run(w, "ta", &p, 0, WORDS("cancel", sleeper));
    process_fini(&p);
    host_run(w, "ta", &p, 1, WORDS("submit", "nobody"));
    process_fini(&p);
    host_run(w, "tx", &p, 3, WORDS("agents"));
    process_fini(&p);
    host_run(w, "ta", &p, 4, WORDS("submit", "sleep", "--expires-in", "1s"));
    process_fini(&p);
    process_signal(&w->daemon, SIGHUP);
    process_await(&w->daemon, true, "reloaded");
    host_stop(w);

    grep(w, "\"principal\":\"alice\"", WORDS("--event", "authentication"));
    grep(w, "\"decision\":\"denied\",\"code\":\"UNAUTHENTICATED\"",
         WORDS("--event", "authentication"));
    grep(w, "\"rule\":\"lease_request, policy\",\"lease_sha256\":\"",
         WORDS("--event", "submit", "--job", life));
    grep(w, "\"code\":\"AGENT_NOT_AVAILABLE\"", WORDS("--event", "submit"));
    grep(w, "\"rule\":\"policy[0]: principal alice, agent life\"", WORDS("--event", "narrowing"));
    grep(w, "\"dropped\":[", WORDS("--event", "narrowing", "--principal", "alice"));
    grep(w, "\"decision\":\"allowed\"", WORDS("--event", "gate", "--job", life));
    grep(w, "\"pattern\":\"/srv/**\"", WORDS("--event", "gate", "--job", life));
    grep(w, "\"target\":\"/etc/passwd\"",
         WORDS("--code", "PERMISSION_DENIED", "--capability", "fs.read"));
    grep(w, "\"parent_lease_sha256\":\"", WORDS("--event", "delegation", "--job", life));
    grep(w, "\"code\":\"LEASE_SUBSET_VIOLATION\"", WORDS("--event", "delegation"));
    grep(w, "\"owner\":\"alice\"", WORDS("--event", "subscribe", "--principal", "bob"));
    grep(w, "\"decision\":\"allowed\"", WORDS("--event", "cancel", "--job", sleeper));
    grep(w, "\"code\":\"LEASE_EXPIRED\"", WORDS("--event", "expiry"));
    grep(w, "\"decision\":\"success\"", WORDS("--event", "end", "--job", life));
    grep(w, "\"decision\":\"cancelled\"", WORDS("--event", "end", "--job", sleeper));
    grep(w, "\"duration_ms\":\"", WORDS("--event", "end", "--code", "LEASE_EXPIRED"));
    grep(w, "\"rule\":\"SIGHUP\",\"config_sha256\":\"", WORDS("--event", "policy"));
    grep(w, "\"unconfined\":0", WORDS("--event", "policy"));
    grep(w, "\"decision\":\"closed\"", WORDS("--event", "log", "--since", "1h"));
    verify(w, 0);
}

static void grants_are_not_recorded_unless_asked_for(void **state)
{
    host *w = *state;
    process p;
    char life[40];
    host_start(w, COMMON);
    submit(w, 0, life, WORDS("submit", "life", "--grant", "fs.read=/srv/**"));
    host_stop(w);
    char path[96];
    snprintf(path, sizeof path, "%s/audit.jsonl", w->directory);
    host_run(w, NULL, &p, 0, WORDS("audit", "grep", "--json", "--event", "gate", path));
    assert_non_null(strstr(p.out.data, "/etc/passwd"));
    assert_null(strstr(p.out.data, "\"decision\":\"allowed\""));
    process_fini(&p);
}

static void the_chain_continues_after_kill_9_and_an_edit_is_found(void **state)
{
    host *w = *state;
    char id[40];
    for (int round = 0; round < 3; round++) {
        host_start(w, COMMON);
        submit(w, 0, id, WORDS("submit", "hello"));
        host_kill(w);
    }
    verify(w, 0);
    char path[96];
    arcp_buf text = arcp_buf_init();
    snprintf(path, sizeof path, "%s/audit.jsonl", w->directory);
    host_read(w, "audit.jsonl", &text);
    char *name = strstr(text.data, "alice");
    assert_non_null(name);
    name[0] = 'b';
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text.data, 1, text.size - 1, file), text.size - 1);
    assert_int_equal(fclose(file), 0);
    arcp_buf_fini(&text);
    verify(w, 4);
    assert_int_equal(truncate(path, 0), 0);
    process p;
    host_run(w, NULL, &p, 4, WORDS("audit", "verify", path));
    assert_non_null(strstr(p.out.data, "audit.jsonl:1: empty: the file has no line, but every "
                                       "audit file begins with one: it was emptied, "));
    assert_non_null(strstr(p.out.data, "NOT WHOLE: 0 lines, 1 problem"));
    process_fini(&p);
}

static void no_token_is_in_the_log(void **state)
{
    host *w = *state;
    process p;
    arcp_buf text = arcp_buf_init();
    host_start(w, "tokens: [{token: very-secret-token, principal: alice}]\n"
                  "agents: [{name: hello, command: [echo, hi], mode: plain}]\n");
    host_run(w, "very-secret-token", &p, 0, WORDS("submit", "hello"));
    process_fini(&p);
    host_run(w, "not-the-secret-token", &p, 3, WORDS("agents"));
    process_fini(&p);
    host_stop(w);
    host_read(w, "audit.jsonl", &text);
    assert_null(strstr(text.data, "secret"));
    arcp_buf_fini(&text);
}

/* No file of the daemon may grow beyond the present size of the audit log: its disk is full. */
static void fill_disk(const host *w, bool full)
{
    char path[96];
    struct stat about;
    snprintf(path, sizeof path, "%s/audit.jsonl", w->directory);
    assert_int_equal(stat(path, &about), 0);
    host_limit_files(w, full ? (uint64_t)about.st_size : UINT64_MAX);
}

/* Any request that has a line in the audit log lets the daemon notice. */
static void daemon_finds_out(const host *w)
{
    process p;
    host_run(w, "ta", &p, 0, WORDS("agents"));
    process_fini(&p);
}

/* The limit that stands for a full disk holds for the memory file with a sandbox's plan, too. */
#define BARE "enforce: {mode: off}\n"

static void with_deny_a_full_disk_stops_every_grant(void **state)
{
    host *w = *state;
    process p;
    process asking;
    char id[40];
    host_start(w, COMMON "audit: {on_failure: deny}\n" BARE);
    host_begin_run(w, "ta", &asking, WORDS("submit", "ask", "--grant", "fs.read=/srv/**"));
    process_await(&asking, true, "running");
    submit(w, 0, id, WORDS("submit", "sleep", "--detach"));
    fill_disk(w, true);
    daemon_finds_out(w);
    process_await(&w->daemon, true, "cannot be written");
    host_run(w, "ta", &p, 1, WORDS("submit", "hello"));
    assert_non_null(strstr(p.err.data, "INTERNAL_ERROR: the audit log cannot be written"));
    process_fini(&p);
    host_run(w, "ta", &p, 1, WORDS("watch", id));
    assert_non_null(strstr(p.err.data, "INTERNAL_ERROR: the audit log cannot be written"));
    process_fini(&p);
    /* The gate denies now what it allowed before, with a retryable error. */
    assert_int_equal(process_finish(&asking), 0);
    arcp_buf_append_byte(&asking.out, '\0');
    assert_non_null(strstr(asking.out.data, "\"code\":\"INTERNAL_ERROR\""));
    assert_non_null(strstr(asking.out.data, "\"retryable\":true"));
    process_fini(&asking);
    /* A cancel takes authority away, so it is not refused. */
    host_run(w, "ta", &p, 0, WORDS("cancel", id));
    process_fini(&p);
    fill_disk(w, false);
    process_await(&w->daemon, true, "can be written again");
    submit(w, 0, id, WORDS("submit", "hello"));
    host_stop(w);
    verify(w, 0);
    grep(w, "\"rule\":\"audit.on_failure: deny\"", WORDS("--event", "gate"));
}

static void with_continue_a_full_disk_stops_no_request(void **state)
{
    host *w = *state;
    char id[40];
    host_start(w, COMMON "audit: {on_failure: continue}\n" BARE);
    fill_disk(w, true);
    daemon_finds_out(w);
    process_await(&w->daemon, true, "cannot be written");
    submit(w, 0, id, WORDS("submit", "hello"));
    fill_disk(w, false);
    process_await(&w->daemon, true, "can be written again");
    host_stop(w);
    verify(w, 0);
    grep(w, id, WORDS("--event", "submit"));
    grep(w, "\"unconfined\":4", WORDS("--event", "policy"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, host_setup, host_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_decision_has_its_line),
        TEST(grants_are_not_recorded_unless_asked_for),
        TEST(the_chain_continues_after_kill_9_and_an_edit_is_found),
        TEST(no_token_is_in_the_log),
        TEST(with_deny_a_full_disk_stops_every_grant),
        TEST(with_continue_a_full_disk_stops_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
