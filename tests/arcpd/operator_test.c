/* What operators do with `arcp`, on a real arcpd: by the local socket, and by tokens with roles. */
#include "arcpd/host.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/tty_screen.h"

#define YAML                                                                                       \
    "store: \"memory:\"\nshutdown: {grace_sec: 0}\n"                                               \
    "tokens:\n"                                                                                    \
    "  - {token: t-alice-0123456789, principal: alice}\n"                                          \
    "  - {token: t-vera-0123456789, principal: vera, role: viewer}\n"                              \
    "  - {token: t-olga-0123456789, principal: olga, role: operator}\n"                            \
    "agents:\n"                                                                                    \
    "  - {name: hello, command: [echo, hi], mode: plain}\n"                                        \
    "  - {name: wait, command: [sh, -c, 'echo begun; exec sleep 1000']}\n"
#define ALICE "t-alice-0123456789"
#define VERA  "t-vera-0123456789"
#define OLGA  "t-olga-0123456789"
#define ARCP  ARCP_BINARY_DIR "/bin/arcp"

static void expect(const arcp_buf *text, const char *word)
{
    if (memmem(text->data, text->size, word, strlen(word)) == NULL) {
        fail_msg("want %s in\n%.*s", word, (int)text->size, text->data);
    }
}

static void expect_none(const arcp_buf *text, const char *word)
{
    if (text->size != 0 && memmem(text->data, text->size, word, strlen(word)) != NULL) {
        fail_msg("found %s in\n%.*s", word, (int)text->size, text->data);
    }
}

/* `arcp` without a URL: commands of operators find the socket in the state directory. */
static void run_local(process *p, int exit_status, const char *const *words)
{
    const char *all[16] = {ARCP};
    size_t count = 1;
    for (; *words != NULL; words++) {
        assert_true(count < 15);
        all[count++] = *words;
    }
    process_start(p, all, WORDS("ARCP_URL=", "ARCP_TOKEN="), NULL);
    const int got = process_finish(p);
    arcp_buf_append_byte(&p->out, '\0');
    arcp_buf_append_byte(&p->err, '\0');
    if (got != exit_status) {
        fail_msg("exit status %d, want %d:\n%s\n%s", got, exit_status, p->out.data, p->err.data);
    }
}

/* Submits a job that waits; its id is on standard output. */
static void submit(const host *place, char id[64])
{
    process p;
    host_run(place, ALICE, &p, 0, WORDS("submit", "wait", "--detach"));
    (void)snprintf(id, 64, "%.*s", (int)strcspn(p.out.data, "\n"), p.out.data);
    process_fini(&p);
}

static void the_local_operator_sees_all_sessions_and_jobs(void **state)
{
    host *place = *state;
    process p;
    char id[64];
    host_start(place, YAML);
    submit(place, id);
    run_local(&p, 0, WORDS("sessions"));
    expect(&p.out, "SESSION                         AGE  SILENT JOBS  STATE     ROLE     PEER");
    expect(&p.out, "alice");
    expect(&p.out, "local-operator");
    expect(&p.out, "unix:uid=");
    process_fini(&p);
    run_local(&p, 0, WORDS("sessions", "--principal", "alice", "-o", "json"));
    expect(&p.out, "\"principal\":\"alice\"");
    expect(&p.out, "\"jobs\":1");
    expect_none(&p.out, "local-operator");
    process_fini(&p);
    run_local(&p, 0, WORDS("top"));
    expect(&p.out, "JOB                            AGE  SILENT CPU     MEMORY");
    expect(&p.out, id);
    process_fini(&p);
    run_local(&p, 0, WORDS("top", "-o", "name", "--sort", "silence"));
    expect(&p.out, id);
    process_fini(&p);
    run_local(&p, 0, WORDS("status"));
    expect(&p.out, "healthy   yes\njobs      1 running, 0 pending\nsessions  1 connected, 0 away\n"
                   "sandboxes ");
    expect(&p.out, "\nstore     written\naudit     ");
    process_fini(&p);
    run_local(&p, 0, WORDS("status", "--json"));
    expect(&p.out, "\"healthy\":true,\"jobs\":{\"running\":1,\"pending\":0}");
    expect(&p.out, "\"enforcement\":\"");
    expect(&p.out, "\"store\":{\"failing\":false}");
    process_fini(&p);
    host_stop(place);
}

static void an_operator_ends_a_session_and_its_job_goes_on(void **state)
{
    host *place = *state;
    process p;
    char id[64];
    host_start(place, YAML);
    submit(place, id);
    host_run(place, OLGA, &p, 0, WORDS("sessions", "--principal", "alice", "-o", "name"));
    char session[64];
    (void)snprintf(session, sizeof session, "%.*s", (int)strcspn(p.out.data, "\n"), p.out.data);
    process_fini(&p);
    /* The end of an id is enough. */
    host_run(place, OLGA, &p, 0, WORDS("sessions", "end", session + strlen(session) - 10));
    expect(&p.err, "ended 1 session; the job");
    process_fini(&p);
    host_run(place, OLGA, &p, 1, WORDS("sessions", "end", session));
    expect(&p.err, "no session has the id");
    process_fini(&p);
    host_run(place, OLGA, &p, 1, WORDS("sessions", "end", "sess_"));
    process_fini(&p);
    host_run(place, ALICE, &p, 0, WORDS("jobs", "-o", "json"));
    expect(&p.out, id);
    expect(&p.out, "\"status\":\"running\"");
    process_fini(&p);
    /* alice's last session is closed, and ended, too. */
    host_run(place, OLGA, &p, 0, WORDS("sessions", "end", "--principal", "alice", "--json"));
    expect(&p.out, "{\"ended\":1}");
    process_fini(&p);
    run_local(&p, 0, WORDS("sessions", "end", "--principal", "nemo"));
    expect(&p.err, "ended 0 sessions");
    process_fini(&p);
    host_stop(place);
}

static void a_reload_has_a_verdict(void **state)
{
    host *place = *state;
    process p;
    host_start(place, YAML);
    run_local(&p, 0, WORDS("reload"));
    expect(&p.err, "reloaded: the new configuration is in effect");
    process_fini(&p);
    host_configure(place, YAML "agnts: []\n");
    run_local(&p, 1, WORDS("reload"));
    expect(&p.err, "arcpd.yaml:10: agnts: is not a key of the configuration");
    expect(&p.err, "not reloaded: the old configuration stays in effect");
    process_fini(&p);
    run_local(&p, 1, WORDS("reload", "--json"));
    expect(&p.out, "{\"applied\":false,\"problems\":[{\"file\":\"");
    expect(&p.out, "\"line\":10,\"key\":\"agnts\",\"message\":\"is not a key");
    process_fini(&p);
    /* Messages are shown without the escapes of JSON. */
    host_configure(place, YAML "  - {name: a b, command: [echo, hi]}\n");
    run_local(&p, 1, WORDS("reload"));
    expect(&p.err, "agents[2].name: agent \"a b\" is not of the form");
    process_fini(&p);
    host_configure(place, YAML "origins: [\"https://example.org\"]\n");
    run_local(&p, 0, WORDS("reload", "--json"));
    expect(&p.out, "{\"applied\":true,\"problems\":[],\"needs_restart\":[\"origins\"]}");
    process_fini(&p);
    run_local(&p, 0, WORDS("reload", "-o", "yaml"));
    expect(&p.out, "applied: true\n");
    process_fini(&p);
    host_run(place, OLGA, &p, 0, WORDS("reload"));
    expect(&p.err, "after a restart only: ");
    process_fini(&p);
    host_stop(place);
}

/* The audit log names who asked. */
static void no_command_of_operators_serves_a_principal_without_the_role(void **state)
{
    static const char *const commands[][4] = {{"sessions"},
                                              {"sessions", "end", "--principal=vera"},
                                              {"sessions", "end", "sess_x"},
                                              {"reload"}};
    host *place = *state;
    process p;
    char id[64];
    host_start(place, YAML);
    submit(place, id);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        host_run(place, ALICE, &p, 4, commands[i]);
        expect(&p.err, "PERMISSION_DENIED");
        process_fini(&p);
    }
    host_run(place, VERA, &p, 0, WORDS("sessions"));
    process_fini(&p);
    host_run(place, VERA, &p, 4, WORDS("sessions", "end", "--principal", "alice"));
    expect(&p.err, "needs the role operator");
    process_fini(&p);
    host_run(place, VERA, &p, 4, WORDS("reload"));
    process_fini(&p);
    /* What a principal may see of its own. */
    host_run(place, ALICE, &p, 0, WORDS("top"));
    expect(&p.out, id);
    process_fini(&p);
    host_run(place, ALICE, &p, 0, WORDS("status"));
    expect(&p.out, "1 running, 0 pending (of this principal)");
    expect_none(&p.out, "sessions");
    expect_none(&p.out, "audit");
    process_fini(&p);
    host_stop(place);
    arcp_buf audit = arcp_buf_init();
    host_read(place, "audit.jsonl", &audit);
    expect(&audit, "\"event\":\"operator\",\"decision\":\"denied\",\"principal\":\"alice\"");
    expect(&audit, "\"event\":\"operator\",\"decision\":\"denied\",\"principal\":\"vera\"");
    expect(&audit, "\"event\":\"operator\",\"decision\":\"allowed\",\"principal\":\"vera\"");
    arcp_buf_fini(&audit);
}

static void a_role_that_a_reload_takes_away_ends_at_once(void **state)
{
    host *place = *state;
    process watching;
    process p;
    unsigned tries = 0;
    host_start(place, YAML);
    host_begin_run(place, VERA, &watching, WORDS("events"));
    /* Its session is there, with its role. */
    for (bool is_there = false; !is_there; process_fini(&p)) {
        assert_true(++tries < 2000);
        run_local(&p, 0, WORDS("sessions", "-o", "json", "--principal", "vera"));
        is_there = strstr(p.out.data, "\"role\":\"viewer\"") != NULL;
    }
    host_configure(place, "store: \"memory:\"\nshutdown: {grace_sec: 0}\n"
                          "tokens: [{token: t-vera-0123456789, principal: vera}]\n");
    run_local(&p, 0, WORDS("reload"));
    process_fini(&p);
    for (bool is_there = false; !is_there; process_fini(&p)) {
        assert_true(++tries < 4000);
        run_local(&p, 0, WORDS("sessions", "-o", "json", "--principal", "vera"));
        expect_none(&p.out, "\"role\":\"viewer\"");
        is_there = strstr(p.out.data, "\"state\":\"connected\"") != NULL ||
                   strstr(p.out.data, "\"state\":\"closed\"") != NULL;
    }
    process_signal(&watching, SIGKILL);
    (void)process_finish(&watching);
    process_fini(&watching);
    host_run(place, VERA, &p, 4, WORDS("sessions"));
    process_fini(&p);
    host_stop(place);
}

static void any_command_takes_the_socket_as_a_url(void **state)
{
    host *place = *state;
    process p;
    char path[160];
    char url[180];
    struct stat about;
    host_start(place, YAML);
    (void)snprintf(path, sizeof path, "%s/arcpd.sock", place->directory);
    (void)snprintf(url, sizeof url, "unix:%s", path);
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISSOCK(about.st_mode));
    assert_int_equal(about.st_mode & 0777, 0600);
    run_local(&p, 0, WORDS("agents", "--url", url, "-o", "name"));
    expect(&p.out, "hello\n");
    process_fini(&p);
    host_stop(place);
    assert_int_equal(lstat(path, &about), -1);
}

/* ---- widths ---- */

static void render(const char *const *words, unsigned columns, arcp_buf *shown)
{
    process p;
    process_start_on_terminal(
        &p, words, WORDS("ARCP_URL=", "ARCP_TOKEN=", "TERM=xterm", "NO_COLOR=1", "LC_ALL=C"),
        columns);
    assert_int_equal(process_finish(&p), 0);
    tty_render(arcp_buf_span(&p.out), columns, shown);
    process_fini(&p);
}

static void tables_fit_terminals_of_each_width(void **state)
{
    static const struct {
        const char *command, *option;
        unsigned columns;
        const char *header; /* without what follows the first line */
        size_t lines;       /* of the table */
    } screens[] = {
        {"sessions", "--quiet", 40, "SESSION  AGE  JOBS  PRINCIPAL\n", 3},
        {"sessions", "--quiet", 80,
         "SESSION                         AGE  SILENT JOBS  STATE     PRINCIPAL\n", 3},
        {"sessions", "--quiet", 200,
         "SESSION                         AGE  SILENT JOBS  STATE     ROLE     PEER               "
         "      PRINCIPAL\n",
         3},
        {"top", "--once", 40, "JOB      AGE  SILENT AGENT\n", 2},
        {"top", "--once", 80, "JOB      AGE  SILENT CPU     MEMORY  PRINCIPAL        AGENT\n", 2},
        {"top", "--once", 200,
         "JOB                            AGE  SILENT CPU     MEMORY  COST         PRINCIPAL        "
         "AGENT\n",
         2},
    };
    host *place = *state;
    char id[64];
    host_start(place, YAML);
    submit(place, id);
    for (size_t i = 0; i < sizeof screens / sizeof screens[0]; i++) {
        arcp_buf shown = arcp_buf_init();
        process p;
        render(WORDS(ARCP, screens[i].command, screens[i].option), screens[i].columns, &shown);
        expect(&shown, screens[i].header);
        size_t lines = 0;
        for (size_t at = 0; at < shown.size; at++) {
            lines += shown.data[at] == '\n';
        }
        const size_t want = screens[i].lines + 1; /* the cursor is below */
        if (lines != want) {                      /* a row that does not fit is two lines */
            fail_msg("%zu lines, want %zu:\n%.*s", lines, want, (int)shown.size, shown.data);
        }
        arcp_buf_fini(&shown);
        /* The sessions of the commands before. */
        run_local(&p, 0, WORDS("sessions", "end", "--principal", "local-operator"));
        process_fini(&p);
    }
    host_stop(place);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_setup, host_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_local_operator_sees_all_sessions_and_jobs),
        TEST(an_operator_ends_a_session_and_its_job_goes_on),
        TEST(a_reload_has_a_verdict),
        TEST(no_command_of_operators_serves_a_principal_without_the_role),
        TEST(a_role_that_a_reload_takes_away_ends_at_once),
        TEST(any_command_takes_the_socket_as_a_url),
        TEST(tables_fit_terminals_of_each_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
