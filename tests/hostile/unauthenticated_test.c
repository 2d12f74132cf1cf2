/* Peers without a token: silent, half-way, many. Clients with a token are served meanwhile. */
#include "support/check.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"

#define SILENT    300u  /* more than limits.pending_per_address */
#define UPGRADED  1000u /* and more than limits.pending allows of one address */
#define PARTIAL   1000u
#define PART      60000u
#define PART_HEAD 8u

/* ---- strangers ---- */

static int connect_to(const daemon_state *d)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(d->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void be_silent(const daemon_state *d, int fds[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fds[i] = connect_to(d);
    }
}

static void close_all(const int fds[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
}

static void be_upgraded(const daemon_state *d, wire wires[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wires[i] = (wire){.fd = -1};
        wire_open(&wires[i], d->port);
    }
}

static void leave_all(wire wires[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wire_close(&wires[i]);
    }
}

/* How many of them the daemon has closed by now. */
static size_t count_ended(wire wires[], size_t count)
{
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        while (wire_fill(&wires[i], 0)) {
        }
        ended += wires[i].ended;
    }
    return ended;
}

/* ---- those with a token ---- */

static void begin(daemon_state *d, const char *config, unsigned open_files)
{
    daemon_begin(d, &(daemon_options){.config = config, .open_files = open_files});
    daemon_start(d);
}

static void enter(const daemon_state *d, wire *w)
{
    wire_session session;
    *w = (wire){.fd = -1};
    wire_open(w, d->port);
    wire_hello(w, "t-alice", &session);
}

static void run_job(wire *w)
{
    static unsigned count;
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":{\"events\":1,\"bytes\":10,\"end\":\"result\"}}}",
              count++);
    arcp_span frame = wire_await(w);
    while (!wire_is(frame, "job.result")) {
        assert_false(wire_is(frame, "job.error"));
        frame = wire_await(w);
    }
}

/* ---- tests ---- */

static void silent_connections_keep_no_client_out(void **state)
{
    static int fds[SILENT];
    daemon_state d;
    wire alice;
    begin(&d, NULL, 0);
    be_silent(&d, fds, SILENT);
    enter(&d, &alice);
    run_job(&alice);
    char answer[16] = "";
    struct pollfd one = {.fd = fds[0], .events = POLLIN};
    assert_int_equal(poll(&one, 1, WIRE_PATIENCE_MS), 1);
    assert_true(recv(fds[0], answer, sizeof answer - 1, 0) > 12);
    assert_memory_equal(answer, "HTTP/1.1 503", 12); /* the oldest was closed, with a response */
    wire_close(&alice);
    close_all(fds, SILENT);
    daemon_end(&d);
}

static void silent_upgraded_connections_are_bounded_too(void **state)
{
    static wire wires[UPGRADED];
    daemon_state d;
    wire alice;
    begin(&d, NULL, 0);
    enter(&d, &alice);
    be_upgraded(&d, wires, UPGRADED);
    wire second;
    enter(&d, &second);
    run_job(&second);
    run_job(&alice); /* a connection that was welcomed is not pending */
    assert_int_equal(count_ended(wires, UPGRADED), UPGRADED - 255);
    wire_close(&second);
    wire_close(&alice);
    leave_all(wires, UPGRADED);
    daemon_end(&d);
}

/* As many connections as may be pending, each with most of a first frame: together they hold at
 * most limits.pending_bytes, not that much each. */
static void partial_first_frames_are_bounded_together(void **state)
{
    static wire wires[PARTIAL];
    static char part[PART_HEAD + PART] = "\x81\xfe\xff\xfe";
    const size_t bytes_max = 4194304;
    daemon_state d;
    wire alice;
    begin(&d,
          "limits: {pending_per_address: 2000, pending: 2000, pending_bytes: 4194304, "
          "hello_timeout_sec: 3600}\n",
          0);
    enter(&d, &alice);
    run_job(&alice);
    const uint64_t before = daemon_resident_bytes(&d);
    be_upgraded(&d, wires, PARTIAL);
    for (size_t i = 0; i < PARTIAL; i++) {
        wire_send_bytes(&wires[i], part, sizeof part);
    }
    run_job(&alice);
    while ((PARTIAL - count_ended(wires, PARTIAL)) * PART > bytes_max) {
        run_job(&alice);
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* A buffer may have twice the size of its content, and each connection needs some memory in
     * addition. */
    assert_in_range(daemon_resident_bytes(&d) - before, 0, 2 * bytes_max + (size_t)8 * 1024 * 1024);
#else
    (void)before; /* sanitizers keep freed memory */
#endif
    wire_close(&alice);
    leave_all(wires, PARTIAL);
    daemon_end(&d);
}

static void pending_connections_leave_descriptors_for_agents(void **state)
{
    static wire wires[SILENT];
    static int fds[SILENT];
    daemon_state d;
    wire alice;
    begin(&d, "limits: {pending_per_address: 2000, pending: 2000, hello_timeout_sec: 3600}\n", 256);
    enter(&d, &alice);
    be_upgraded(&d, wires, SILENT);
    be_silent(&d, fds, SILENT);
    for (int job = 0; job < 10; job++) {
        run_job(&alice);
    }
    assert_int_equal(count_ended(wires, SILENT), SILENT); /* they were the older ones */
    close_all(fds, SILENT);
    wire_close(&alice);
    leave_all(wires, SILENT);
    daemon_end(&d);
}

static void a_new_connection_gets_503_when_sessions_use_all_places(void **state)
{
    enum { PLACES = 8 };
    wire sessions[PLACES];
    char answer[16] = "";
    daemon_state d;
    begin(&d, "limits: {reserved_files: 56}\n", 64);
    for (size_t i = 0; i < PLACES; i++) {
        enter(&d, &sessions[i]);
    }
    const int late = connect_to(&d);
    struct pollfd one = {.fd = late, .events = POLLIN};
    assert_int_equal(poll(&one, 1, WIRE_PATIENCE_MS), 1);
    assert_true(recv(late, answer, sizeof answer - 1, 0) > 12);
    assert_memory_equal(answer, "HTTP/1.1 503", 12);
    (void)close(late);
    for (size_t i = 0; i < PLACES; i++) {
        run_job(&sessions[i]);
    }
    leave_all(sessions, PLACES);
    daemon_end(&d);
}

static size_t count_in(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *found = strstr(text, word); found != NULL; found = strstr(found + 1, word)) {
        count++;
    }
    return count;
}

static char *audit_log(const daemon_state *d)
{
    static char text[1024 * 1024];
    char path[96];
    (void)snprintf(path, sizeof path, "%s/audit.jsonl", d->directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

/* A line for each would fill the disk at the pace of the network. */
static void refused_peers_are_counted_in_the_logs(void **state)
{
    enum { STRANGERS = 200, LINES = 5 };
    static wire wires[STRANGERS];
    daemon_state d;
    begin(&d, NULL, 0);
    be_upgraded(&d, wires, STRANGERS);
    for (int i = 0; i < STRANGERS; i++) {
        wire_send_hello(&wires[i], "wrong");
    }
    for (int i = 0; i < STRANGERS; i++) {
        assert_int_equal(wire_await_close(&wires[i]), 1008);
    }
    leave_all(wires, STRANGERS);
    assert_int_equal(daemon_stop(&d), 0);
    const char *records = audit_log(&d);
    const char *alone = "\"rule\":\"token\",\"peer\":\"127.0.0.1:";
    const char *together = "\"peer\":\"127.0.0.1\",\"count\":";
    unsigned long counted = 0;
    for (const char *found = strstr(records, together); found != NULL;
         found = strstr(found + 1, together)) {
        counted += strtoul(found + strlen(together), NULL, 10);
    }
    assert_true(counted > 0); /* how many depends on how many minutes it took */
    assert_int_equal(count_in(records, alone) + counted, STRANGERS);
    assert_true(count_in(records, alone) <= LINES * count_in(records, together) + LINES);
    char *log = daemon_errors(&d);
    assert_non_null(strstr(log, "refused 127.0.0.1 (bearer token): "));
    free(log);
    daemon_end(&d);
}

static void set_soft_limit(rlim_t value)
{
    struct rlimit files = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = value;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

static void agents_get_the_descriptors_that_arcpd_was_started_with(void **state)
{
    struct rlimit mine = {0};
    struct rlimit its = {0};
    daemon_state d;
    wire alice;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &mine), 0);
    daemon_begin(&d, &(daemon_options){.agents = {"limit=/bin/sh -c 'ulimit -Sn'"}});
    set_soft_limit(300);
    daemon_start(&d);
    set_soft_limit(mine.rlim_cur);
    assert_int_equal(prlimit(d.pid, RLIMIT_NOFILE, NULL, &its), 0);
    assert_int_equal(its.rlim_cur, mine.rlim_max);
    enter(&d, &alice);
    wire_send(&alice, "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{"
                      "\"agent\":\"limit\",\"input\":null}}");
    arcp_span frame = wire_await_type(&alice, "job.event");
    while (!arcp_span_equal_cstr(wire_text(frame, "kind"), "log")) {
        frame = wire_await_type(&alice, "job.event");
    }
    assert_true(arcp_span_equal_cstr(wire_text(frame, "message"), "300"));
    wire_close(&alice);
    daemon_end(&d);
}

/* The test has as many connections as the daemon, and more. */
static void take_descriptors(void)
{
    struct rlimit files = {0};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_connections_keep_no_client_out),
        cmocka_unit_test(silent_upgraded_connections_are_bounded_too),
        cmocka_unit_test(partial_first_frames_are_bounded_together),
        cmocka_unit_test(pending_connections_leave_descriptors_for_agents),
        cmocka_unit_test(a_new_connection_gets_503_when_sessions_use_all_places),
        cmocka_unit_test(refused_peers_are_counted_in_the_logs),
        cmocka_unit_test(agents_get_the_descriptors_that_arcpd_was_started_with),
    };
    take_descriptors();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
