/* `arcp mcp`: the test is the client, mcp_stand_in.c the server. */
#include "support/check.h"

#include <signal.h>
#include <unistd.h>

#include "arcp/process.h"
#include "arcp/run_fixture.h"
#include "arcp/temp_tree.h"

#define MESSAGE(rest) "{\"jsonrpc\":\"2.0\"," rest "}"
#define CALL(id, name)                                                                             \
    MESSAGE("\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}") "\n"
#define PING(id)   MESSAGE("\"id\":" id ",\"method\":\"ping\"") "\n"
#define PONG(id)   MESSAGE("\"id\":" id ",\"result\":{}") "\n"
#define WORDS_MAX  24
#define LONG_BYTES ((size_t)9 * 1024 * 1024)
/* Of the stand-in. */
#define FLOOD_BYTES ((size_t)16 * 1024 * 1024)

/* A client and what it has started. */
typedef struct dialogue {
    process p;
    int to; /* its standard input; -1: closed */
} dialogue;

/* `words`: options, `--`, and the mode of the stand-in; NULL-terminated. */
static void start(const run_fixture *f, dialogue *d, const char *const *words)
{
    const char *all[WORDS_MAX] = {f->arcp, "mcp"};
    size_t count = 2;
    for (; *words != NULL; words++) {
        assert_true(count < WORDS_MAX - 2);
        all[count++] = *words;
        if (strcmp(*words, "--") == 0) {
            all[count++] = MCP_STAND_IN;
        }
    }
    d->to = process_start_dialogue(&d->p, all, NULL);
}

static void send_bytes(const dialogue *d, const char *bytes, size_t size)
{
    while (size != 0) {
        const ssize_t sent = write(d->to, bytes, size);
        assert_true(sent > 0);
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void say(const dialogue *d, const char *text)
{
    send_bytes(d, text, strlen(text));
}

static void expect(dialogue *d, const char *text)
{
    process_await(&d->p, false, text);
}

/* Closes the input and returns the exit status. */
static int leave(dialogue *d)
{
    assert_int_equal(close(d->to), 0);
    d->to = -1;
    return process_finish(&d->p);
}

static void end(dialogue *d)
{
    if (d->to >= 0) {
        (void)close(d->to);
    }
    process_fini(&d->p);
}

static void path_in(const run_fixture *f, const char *name, char out[256])
{
    (void)snprintf(out, 256, "%s/%s", f->root, name);
}

#define START(f, d, ...) start(f, d, (const char *const[]){__VA_ARGS__, NULL})

/* ---- what a client meets ---- */

static void a_client_sees_and_calls_what_the_lease_grants(void **state)
{
    dialogue d;
    START(*state, &d, "--name", "fs", "--tool", "fs.read_*", "--", "serve");
    say(&d, MESSAGE("\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                    "\"2025-11-25\",\"capabilities\":{\"sampling\":{}},\"clientInfo\":{}}") "\n");
    expect(&d,
           MESSAGE("\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
                   "\"tools\":{}},\"serverInfo\":{\"name\":\"stand-in\",\"version\":\"1\"}}") "\n");
    say(&d, MESSAGE("\"method\":\"notifications/initialized\"") "\n");
    process_await(&d.p, true, "got " MESSAGE("\"method\":\"notifications/initialized\""));
    say(&d, MESSAGE("\"id\":1,\"method\":\"tools/list\"") "\n");
    expect(&d, MESSAGE("\"id\":1,\"result\":{\"tools\":[{\"name\":\"read_file\",\"inputSchema\":{"
                       "\"type\":\"object\"}}]}") "\n");
    say(&d, CALL("2", "read_file"));
    expect(&d, "\\\"name\\\":\\\"read_file\\\"");
    say(&d, CALL("3", "write_file"));
    expect(&d, "\\\"code\\\":\\\"PERMISSION_DENIED\\\"");
    expect(&d, "\\\"target\\\":\\\"fs.write_file\\\"");
    assert_null(strstr(d.p.out.data, "\\\"name\\\":\\\"write_file\\\""));
    assert_int_equal(leave(&d), 0);
    assert_non_null(strstr(d.p.err.data, "arcp mcp: denied: tool.call fs.write_file: no pattern of "
                                         "the lease matches\n"));
    end(&d);
}

static void a_list_without_tools_is_explained(void **state)
{
    dialogue d;
    START(*state, &d, "--name", "fs", "--tool", "read_*", "--", "serve");
    say(&d, MESSAGE("\"id\":1,\"method\":\"tools/list\"") "\n");
    expect(&d, MESSAGE("\"id\":1,\"result\":{\"tools\":[]}") "\n");
    assert_int_equal(leave(&d), 0);
    assert_non_null(strstr(d.p.err.data, "arcp mcp: the lease allows none of the 2 tools that the "
                                         "server lists; they are asked as fs.TOOL\n"));
    end(&d);
}

static void other_capabilities_of_a_lease_are_named(void **state)
{
    dialogue d;
    START(*state, &d, "--lease", "{\"tool.call\":[\"a\"],\"fs.read\":[\"/\"],\"net.fetch\":[]}",
          "--", "serve");
    assert_int_equal(leave(&d), 0);
    assert_non_null(strstr(d.p.err.data, "and not fs.read, net.fetch (`arcp run`"));
    end(&d);
    START(*state, &d, "--quiet", "--lease", "{\"tool.call\":[\"a\"],\"fs.read\":[\"/\"]}", "--",
          "serve");
    say(&d, CALL("1", "b") "no message\n");
    assert_int_equal(leave(&d), 0);
    assert_int_equal(d.p.err.size, 0);
    end(&d);
}

static void a_server_that_asks_is_refused(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "asks");
    say(&d, CALL("1", "a"));
    expect(&d, MESSAGE("\"id\":1,\"result\":{\"content\":[]}"));
    process_await(&d.p, true, "\"error\":{\"code\":-32601,");
    assert_int_equal(leave(&d), 0);
    assert_null(strstr(d.p.out.data, "sampling"));
    end(&d);
}

static void the_last_line_needs_no_line_feed(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "serve");
    say(&d, MESSAGE("\"id\":5,\"method\":\"ping\""));
    assert_int_equal(leave(&d), 0);
    check_span(arcp_buf_span(&d.p.out), PONG("5"));
    end(&d);
}

/* ---- the lease ends ---- */

static void a_call_under_way_ends_with_the_lease(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--expires-in", "1s", "--", "silent");
    say(&d, CALL("1", "a"));
    process_await(&d.p, true, "got {\"jsonrpc\":\"2.0\",\"id\":1,");
    expect(&d, "\\\"code\\\":\\\"LEASE_EXPIRED\\\"");
    process_await(&d.p, true,
                  "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    say(&d, CALL("2", "a") PING("3"));
    expect(&d, PONG("3"));
    assert_null(strstr(d.p.err.data, "\"id\":2"));
    assert_int_equal(leave(&d), 0);
    end(&d);
}

/* ---- the log ---- */

static void calls_are_in_an_audit_log(void **state)
{
    const run_fixture *f = *state;
    char path[256];
    char second[256];
    dialogue d;
    dialogue other;
    process check;
    path_in(f, "calls.jsonl", path);
    path_in(f, "calls-2.jsonl", second);
    START(f, &d, "--tool", "read_*", "--log", path, "--", "serve");
    say(&d, CALL("1", "read_file") CALL("2", "write_file"));
    expect(&d, "\"id\":2,");
    expect(&d, "\"id\":1,");
    START(f, &other, "--tool", "read_*", "--log", path, "--", "serve"); /* at the same time */
    say(&other, CALL("1", "write_file"));
    expect(&other, "\"id\":1,");
    assert_int_equal(leave(&other), 0);
    assert_int_equal(leave(&d), 0);
    assert_true(run_fixture_has(f, "calls-2.jsonl"));
    const char *const verify[] = {f->arcp, "audit", "verify", path, NULL};
    process_start(&check, verify, NULL, NULL);
    assert_int_equal(process_finish(&check), 0);
    process_fini(&check);
    const char *const grep[] = {f->arcp,  "audit", "grep", "--event", "gate",
                                "--json", path,    second, NULL};
    process_start(&check, grep, NULL, NULL);
    assert_int_equal(process_finish(&check), 0);
    assert_non_null(strstr(check.out.data, "\"decision\":\"allowed\",\"rule\":\"lease\","
                                           "\"capability\":\"tool.call\",\"target\":\"read_file\","
                                           "\"pattern\":\"read_*\",\"layer\":\"gateway\""));
    assert_non_null(strstr(check.out.data, "\"decision\":\"denied\",\"code\":\"PERMISSION_DENIED\","
                                           "\"rule\":\"lease\",\"reason\":\"NO_MATCH\","));
    process_fini(&check);
    end(&other);
    end(&d);
}

static void without_its_log_nothing_is_started(void **state)
{
    char path[256];
    dialogue d;
    path_in(*state, "no/such/directory/log", path);
    START(*state, &d, "--tool", "read_*", "--log", path, "--", "serve");
    assert_int_equal(leave(&d), 1);
    assert_non_null(strstr(d.p.err.data, "arcp mcp: --log "));
    end(&d);
}

/* How often a text is in another. */
static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* The file may have 1 KiB, as on a disk that is full. */
static void a_call_that_cannot_be_recorded_is_refused(void **state)
{
    const run_fixture *f = *state;
    char path[256];
    dialogue d;
    process look;
    path_in(f, "full.jsonl", path);
    const char *const words[] = {"/bin/sh", "-c",     "trap '' XFSZ; ulimit -f 2; exec \"$@\"",
                                 "sh",      f->arcp,  "mcp",
                                 "--tool",  "read_*", "--log",
                                 path,      "--",     MCP_STAND_IN,
                                 "serve",   NULL};
    d.to = process_start_dialogue(&d.p, words, NULL);
    say(&d, CALL("1", "read_file") CALL("2", "read_file") CALL("3", "read_file"));
    say(&d, CALL("4", "read_file") PING("5"));
    expect(&d, PONG("5"));
    expect(&d, "the call cannot be recorded in the log, and is refused");
    (void)leave(&d);
    const char *const grep[] = {f->arcp, "audit", "grep", "--event", "gate", "--json", path, NULL};
    process_start(&look, grep, NULL, NULL);
    (void)process_finish(&look);
    const size_t served = count_of(d.p.out.data, "\\\"name\\\":\\\"read_file\\\"");
    assert_in_range(served, 0, 3);
    assert_int_equal(count_of(look.out.data, "\"decision\":\"allowed\""), served);
    process_fini(&look);
    end(&d);
}

/* ---- servers that end, or do not ---- */

static void a_server_that_exits_is_an_error_for_its_calls(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "exit", "7");
    say(&d, CALL("1", "a"));
    assert_int_equal(process_finish(&d.p), 7); /* though the input is open */
    check_span(
        arcp_buf_span(&d.p.out),
        MESSAGE("\"id\":1,\"error\":{\"code\":-32000,\"message\":\"the server has ended with "
                "status 7\"}") "\n");
    end(&d);
    START(*state, &d, "--tool", "**", "--", "kill");
    say(&d, CALL("1", "a"));
    assert_int_equal(process_finish(&d.p), 128 + SIGKILL);
    assert_non_null(strstr(d.p.out.data, "the server has ended with signal 9"));
    end(&d);
}

static void a_server_that_closes_its_output_is_ended(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "quiet");
    say(&d, CALL("1", "a"));
    assert_int_equal(process_finish(&d.p), 128 + SIGTERM);
    assert_non_null(strstr(d.p.out.data, "the server has ended with signal 15"));
    end(&d);
}

static void a_server_that_stays_is_killed(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "stubborn");
    process_await(&d.p, true, "waiting");
    assert_int_equal(leave(&d), 128 + SIGKILL);
    end(&d);
}

static void a_signal_ends_the_server(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        dialogue d;
        START(*state, &d, "--tool", "**", "--", "deaf");
        process_await(&d.p, true, "waiting");
        process_signal(&d.p, signals[i]);
        assert_int_equal(process_finish(&d.p), 128 + SIGTERM);
        end(&d);
    }
}

static void a_client_that_reads_no_more_ends_the_server(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "serve");
    say(&d, PING("1"));
    expect(&d, PONG("1"));
    assert_int_equal(close(d.p.output), 0);
    d.p.output = -1;
    say(&d, PING("2"));
    assert_int_equal(process_finish(&d.p), 0);
    end(&d);
}

/* ---- limits, and lines that are not messages ---- */

static void lines_that_are_not_messages_are_dropped(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "noise");
    say(&d, PING("1"));
    assert_int_equal(leave(&d), 0);
    check_span(arcp_buf_span(&d.p.out), PONG("1"));
    assert_non_null(strstr(d.p.err.data, "arcp mcp: a line of the server is dropped: JSON: "));
    assert_null(strchr(d.p.err.data, '\033'));
    end(&d);
}

static void messages_of_more_than_8_mib_are_errors(void **state)
{
    char *bytes = malloc(LONG_BYTES);
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "long");
    assert_non_null(bytes);
    memset(bytes, 'a', LONG_BYTES);
    say(&d, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":\"");
    send_bytes(&d, bytes, LONG_BYTES);
    say(&d, "\"},\"id\":\"x\"}\n" PING("2"));
    expect(&d,
           MESSAGE("\"id\":\"x\",\"error\":{\"code\":-32600,\"message\":\"the message is longer "
                   "than 8 MiB\"}") "\n");
    expect(&d, PONG("2"));
    say(&d, CALL("3", "a") PING("4"));
    expect(&d,
           MESSAGE("\"id\":3,\"error\":{\"code\":-32603,\"message\":\"the response of the server "
                   "is longer than 8 MiB\"}") "\n");
    expect(&d, PONG("4"));
    assert_int_equal(leave(&d), 0);
    end(&d);
    free(bytes);
}

/* Reads the output up to this text, and returns its size. Then it closes the input: a server that
 * goes on writing without one is ended after a while. */
static size_t read_up_to(dialogue *d, int output, const char *text)
{
    static char bytes[65536];
    arcp_buf tail = arcp_buf_init();
    size_t total = 0;
    while (!arcp_span_equal_cstr(arcp_buf_span(&tail), text)) {
        const ssize_t size = read(output, bytes, sizeof bytes);
        assert_true(size > 0);
        total += (size_t)size;
        arcp_buf_append(&tail, arcp_span_make(bytes, (size_t)size));
        arcp_buf_consume(&tail, tail.size > strlen(text) ? tail.size - strlen(text) : 0);
    }
    arcp_buf_fini(&tail);
    assert_int_equal(close(d->to), 0);
    d->to = -1;
    assert_int_equal(read(output, bytes, sizeof bytes), 0);
    assert_int_equal(close(output), 0);
    return total;
}

static void a_client_that_does_not_read_stops_the_server(void **state)
{
    dialogue d;
    START(*state, &d, "--tool", "**", "--", "flood");
    const int output = d.p.output;
    say(&d, CALL("1", "a"));
    d.p.output = -1; /* only standard error is read */
    process_await(&d.p, true, "stalled after ");
    process_await(&d.p, true, "\n");
    const long stalled = strtol(strstr(d.p.err.data, "after ") + 6, NULL, 10);
    assert_in_range(stalled, 1, 4 * 1024 * 1024);
    assert_true(read_up_to(&d, output, MESSAGE("\"id\":1,\"result\":{}") "\n") >= FLOOD_BYTES);
    assert_int_equal(process_finish(&d.p), 0);
    end(&d);
}

/* ---- with `arcp run`, and wrong usage ---- */

static void a_server_may_be_in_a_sandbox(void **state)
{
    const run_fixture *f = *state;
    dialogue d;
    if (strcmp(f->level, "full") != 0) {
        skip();
    }
    /* LeakSanitizer traces its own process, which a sandbox does not allow. */
    static const char leaks[] = "ASAN_OPTIONS=detect_leaks=0";
    const char *const words[] = {f->arcp, "mcp",        "--tool",       "read_*", "--",
                                 f->arcp, "run",        "--no-protect", "--env",  leaks,
                                 "--",    MCP_STAND_IN, "serve",        NULL};
    char home[256];
    path_in(f, "home", home);
    char variable[300];
    (void)snprintf(variable, sizeof variable, "HOME=%s", home);
    const char *const environment[] = {variable, NULL};
    d.to = process_start_dialogue(&d.p, words, environment);
    say(&d, CALL("1", "read_file") CALL("2", "write_file"));
    expect(&d, "\\\"name\\\":\\\"read_file\\\"");
    expect(&d, "PERMISSION_DENIED");
    assert_int_equal(leave(&d), 0);
    end(&d);
}

static void wrong_usage_starts_nothing(void **state)
{
    static const struct {
        const char *words[6];
        int exit_status;
        const char *text;
    } rows[] = {
        {{"--", "serve"}, 2, "no tool is granted"},
        {{"--tool", "a", "--name", "A", "--", "serve"},
         2,
         "--name: 'A' is not 1 to 32 of a-z, 0-9 and -"},
        {{"--lease", "{\"tool.call\":\"a\"}", "--", "serve"}, 2, "tool.call"},
        {{"--lease", "[]", "--", "serve"}, 2, "--lease must be a JSON object"},
        {{"--tool", "a", "--expires-at", "2020-01-01T00:00:00Z", "--", "serve"}, 4, "expired"},
        {{"--tool", "a"}, 2, "CMD [ARG]... is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *words[8] = {0};
        dialogue d;
        for (size_t j = 0; j < 6; j++) {
            words[j] = rows[i].words[j];
        }
        start(*state, &d, words);
        assert_int_equal(leave(&d), rows[i].exit_status);
        assert_non_null(strstr(d.p.err.data, rows[i].text));
        assert_int_equal(d.p.out.size, 0);
        end(&d);
    }
    const run_fixture *f = *state;
    static const char *const programs[] = {"/no/such/program", "no-such-program", "/etc/passwd"};
    static const int statuses[] = {127, 127, 126};
    for (size_t i = 0; i < 3; i++) {
        const char *const words[] = {f->arcp, "mcp", "--tool", "a", "--", programs[i], NULL};
        process p;
        process_start(&p, words, NULL, NULL);
        assert_int_equal(process_finish(&p), statuses[i]);
        process_fini(&p);
    }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_sees_and_calls_what_the_lease_grants),
        cmocka_unit_test(a_list_without_tools_is_explained),
        cmocka_unit_test(other_capabilities_of_a_lease_are_named),
        cmocka_unit_test(a_server_that_asks_is_refused),
        cmocka_unit_test(the_last_line_needs_no_line_feed),
        cmocka_unit_test(a_call_under_way_ends_with_the_lease),
        cmocka_unit_test(calls_are_in_an_audit_log),
        cmocka_unit_test(without_its_log_nothing_is_started),
        cmocka_unit_test(a_call_that_cannot_be_recorded_is_refused),
        cmocka_unit_test(a_server_that_exits_is_an_error_for_its_calls),
        cmocka_unit_test(a_server_that_closes_its_output_is_ended),
        cmocka_unit_test(a_server_that_stays_is_killed),
        cmocka_unit_test(a_signal_ends_the_server),
        cmocka_unit_test(a_client_that_reads_no_more_ends_the_server),
        cmocka_unit_test(lines_that_are_not_messages_are_dropped),
        cmocka_unit_test(messages_of_more_than_8_mib_are_errors),
        cmocka_unit_test(a_client_that_does_not_read_stops_the_server),
        cmocka_unit_test(a_server_may_be_in_a_sandbox),
        cmocka_unit_test(wrong_usage_starts_nothing),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
