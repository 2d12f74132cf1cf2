/* The runtime's end of a link: the handshake, the order of numbers, and what is kept no more. */
#include "support/check.h"

#include "worker/worker_peer.h"

#define MS ARCP_NS_PER_MS

typedef struct rig {
    arcp__worker_peer *peer;
    arcp__worker_reader reader;
    int64_t now_ns;
    char done[2000]; /* the calls of the owner, and what was sent */
    bool refuses_worker;
    arcp__worker_resumption claimed; /* ARCP__WORKER_RESUMPTIONS: not spoken of */
    arcp__worker_kept kept;
    arcp_error error;
} rig;

static void note(rig *r, const char *format, ...) ARCP_PRINTF(2, 3);
static void note(rig *r, const char *format, ...)
{
    const size_t used = strlen(r->done);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(r->done + used, sizeof r->done - used, format, arguments);
    va_end(arguments);
}

static void on_send(void *user, const arcp__worker_message *message)
{
    arcp_buf text = arcp_buf_init();
    arcp__worker_message_write(message, &text);
    note(user, "%s", arcp_buf_cstr(&text));
    arcp_buf_fini(&text);
}

static arcp_status on_hello(void *user, const arcp__worker_hello *hello,
                            arcp__worker_welcome *welcome, arcp_error *err)
{
    const rig *r = user;
    *welcome = (arcp__worker_welcome){.store = ARCP_SPAN_LITERAL("s"),
                                      .keep_ms = 1,
                                      .line_bytes = 2,
                                      .unkept_bytes = 3,
                                      .unkept_total_bytes = 4};
    return r->refuses_worker ? arcp_error_set(err, ARCP_E_EXISTS, "name_in_use") : ARCP_OK;
}

static void on_foreign(void *user, const arcp__worker_hello *hello)
{
    note(user, "foreign %d;", (int)hello->v_low);
}

static bool on_claim(void *user, const arcp__worker_job_row *row, arcp__worker_resumption *what,
                     void **job)
{
    rig *r = user;
    note(r, "claim %.*s;", (int)row->job.size, row->job.data);
    *what = r->claimed;
    *job = r;
    return r->claimed != ARCP__WORKER_RESUMPTIONS;
}

static void on_ready(void *user)
{
    note(user, "ready;");
}

static void on_started(void *user, void *job, uint64_t pid)
{
    assert_ptr_equal(user, job);
    note(user, "started %d;", (int)pid);
}

static void on_refused(void *user, void *job, const arcp__worker_refused *refused)
{
    assert_ptr_equal(user, job);
    note(user, "refused %d;", (int)refused->why);
}

static void on_item(void *user, void *job, uint64_t number, arcp__worker_item what, arcp_span text)
{
    assert_ptr_equal(user, job);
    note(user, "item %d %d %.*s;", (int)number, (int)what, (int)text.size, text.data);
}

static void on_output(void *user, void *job, uint64_t end, arcp_span bytes)
{
    assert_ptr_equal(user, job);
    note(user, "output %d %.*s;", (int)end, (int)bytes.size, bytes.data);
}

static void on_error_line(void *user, void *job, uint64_t number, arcp_span line)
{
    assert_ptr_equal(user, job);
    note(user, "error %d %.*s;", (int)number, (int)line.size, line.data);
}

static void on_log(void *user, void *job, arcp_span line)
{
    assert_ptr_equal(user, job);
    note(user, "log %.*s;", (int)line.size, line.data);
}

static void on_log_dropped(void *user, void *job, uint64_t bytes)
{
    note(user, "dropped %llu;", (unsigned long long)bytes);
}

static void on_exited(void *user, void *job, const arcp__worker_exited *exited,
                      arcp_span stderr_tail)
{
    assert_ptr_equal(user, job);
    note(user, "exited %d %.*s;", (int)exited->code, (int)stderr_tail.size, stderr_tail.data);
}

static void on_got(void *user, void *job, uint64_t at)
{
    assert_ptr_equal(user, job);
    note(user, "got %d;", (int)at);
}

static void get_kept(void *user, void *job, arcp__worker_kept *out)
{
    const rig *r = user;
    assert_ptr_equal(user, job);
    *out = r->kept;
}

static void open_peer_with(rig *r, void (*log)(void *user, void *job, arcp_span line))
{
    const arcp__worker_peer_owner owner = {
        .send = on_send,
        .hello = on_hello,
        .foreign = on_foreign,
        .claim = on_claim,
        .ready = on_ready,
        .started = on_started,
        .refused = on_refused,
        .item = on_item,
        .output = on_output,
        .error_line = on_error_line,
        .log = log,
        .log_dropped = on_log_dropped,
        .exited = on_exited,
        .got = on_got,
        .get_kept = get_kept,
        .user = r,
    };
    *r = (rig){.now_ns = 1000 * ARCP_NS_PER_SEC, .reader = {.line_bytes_max = 1048576}};
    r->peer = arcp__worker_peer_new(&owner, r->now_ns);
    assert_non_null(r->peer);
}

static void open_peer(rig *r)
{
    open_peer_with(r, on_log);
}

static void close_peer(rig *r)
{
    arcp__worker_peer_free(r->peer);
    arcp__worker_reader_fini(&r->reader);
}

static arcp_status receive(rig *r, const char *text)
{
    arcp__worker_message message;
    check_ok(arcp__worker_message_read(&r->reader, ARCP__WORKER_SIDE_WORKER, arcp_span_cstr(text),
                                       &message, &r->error),
             &r->error);
    return arcp__worker_peer_receive(r->peer, r->now_ns, &message, &r->error);
}

static void take(rig *r, const char *text)
{
    check_ok(receive(r, text), &r->error);
}

static void check_done(rig *r, const char *done)
{
    assert_string_equal(r->done, done);
    r->done[0] = '\0';
}

static void check_refused(rig *r, const char *text, const char *why)
{
    assert_int_equal(receive(r, text), ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(r->error.message, why));
    check_done(r, "");
}

#define HELLO(low, high, rows)                                                                     \
    "{\"type\":\"hello\",\"v\":[" #low "," #high "],\"version\":\"1\",\"name\":\"local\","         \
    "\"instance\":\"i\",\"boot_id\":\"b\"}\n" rows
#define ROW(job, numbers) "{\"job\":\"" job "\",\"store\":\"s\"," numbers "}\n"
#define FRESH             "\"items_first\":1,\"errors_first\":1"
#define WELCOME                                                                                    \
    "{\"type\":\"welcome\",\"v\":1,\"store\":\"s\",\"keep_ms\":1,\"line_bytes\":2,"                \
    "\"unkept_bytes\":3,\"unkept_total_bytes\":4}\n"

/* A worker that has joined, with a job "j" that it was given. */
static void open_joined_with(rig *r, void (*log)(void *user, void *job, arcp_span line))
{
    open_peer_with(r, log);
    take(r, HELLO(1, 1, ""));
    assert_true(arcp__worker_peer_add(r->peer, ARCP_SPAN_LITERAL("j"), r));
    r->done[0] = '\0';
}

static void open_joined(rig *r)
{
    open_joined_with(r, on_log);
}

/* ---- the handshake ---- */

static void hello_is_answered_with_welcome(void **state)
{
    rig r;
    (void)state;
    open_peer(&r);
    assert_false(arcp__worker_peer_has_joined(r.peer));
    take(&r, HELLO(1, 7, "")); /* a newer one speaks ours, too */
    check_done(&r, WELCOME "ready;");
    assert_true(arcp__worker_peer_has_joined(r.peer));
    close_peer(&r);
}

static void jobs_that_hello_names_are_claimed(void **state)
{
    rig r;
    (void)state;
    open_peer(&r);
    r.claimed = ARCP__WORKER_END;
    take(&r, HELLO(1, 1, ROW("j", FRESH) ROW("k", FRESH)));
    check_done(&r, "claim j;claim k;" WELCOME "{\"job\":\"j\",\"what\":\"end\"}\n"
                   "{\"job\":\"k\",\"what\":\"end\"}\nready;");
    close_peer(&r);
}

static void jobs_of_another_store_are_not_spoken_of(void **state)
{
    rig r;
    (void)state;
    open_peer(&r);
    r.claimed = ARCP__WORKER_RESUMPTIONS;
    take(&r, HELLO(1, 1, ROW("j", FRESH)));
    check_done(&r, "claim j;" WELCOME "ready;");
    check_refused(&r, "{\"type\":\"started\",\"job\":\"j\"}\n", "was not given this job");
    close_peer(&r);
}

static void a_hello_that_does_not_fit_is_refused(void **state)
{
    rig r;
    (void)state;
    open_peer(&r);
    assert_int_equal(receive(&r, HELLO(2, 3, "")), ARCP_E_INVALID_REQUEST);
    assert_string_equal(r.error.message, "the worker speaks versions 2 to 3, not 1 to 1");
    check_done(&r, "foreign 2;");
    assert_int_equal(receive(&r, HELLO(1, 1, ROW("j", FRESH) ROW("j", FRESH))),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(r.error.message, "names a job twice"));
    r.refuses_worker = true;
    assert_int_equal(receive(&r, HELLO(1, 1, "")), ARCP_E_EXISTS);
    assert_string_equal(r.error.message, "name_in_use");
    assert_false(arcp__worker_peer_has_joined(r.peer));
    close_peer(&r);
    open_joined(&r);
    check_refused(&r, HELLO(1, 1, ""), "it came twice");
    close_peer(&r);
}

static void hello_comes_first_and_in_time(void **state)
{
    rig r;
    (void)state;
    open_peer(&r);
    check_refused(&r, "{\"type\":\"ping\",\"number\":1}\n", "it came before hello");
    assert_int_equal(arcp__worker_peer_due(r.peer), r.now_ns + 10 * ARCP_NS_PER_SEC);
    check_ok(arcp__worker_peer_tick(r.peer, arcp__worker_peer_due(r.peer) - 1, &r.error), &r.error);
    assert_int_equal(arcp__worker_peer_tick(r.peer, arcp__worker_peer_due(r.peer), &r.error),
                     ARCP_E_TIMEOUT);
    assert_string_equal(r.error.message, "it has sent no hello in 10 s");
    close_peer(&r);
}

/* ---- pings ---- */

static void pings_go_both_ways_and_silence_ends_the_link(void **state)
{
    rig r;
    (void)state;
    open_joined(&r);
    const int64_t began_ns = r.now_ns;
    take(&r, "{\"type\":\"ping\",\"number\":9}\n");
    check_done(&r, "{\"type\":\"pong\",\"number\":9}\n");
    assert_int_equal(arcp__worker_peer_due(r.peer), began_ns + 5 * ARCP_NS_PER_SEC);
    check_ok(arcp__worker_peer_tick(r.peer, began_ns + 5 * ARCP_NS_PER_SEC - 1, &r.error),
             &r.error);
    check_done(&r, "");
    check_ok(arcp__worker_peer_tick(r.peer, began_ns + 5 * ARCP_NS_PER_SEC, &r.error), &r.error);
    check_done(&r, "{\"type\":\"ping\",\"number\":1}\n");
    check_refused(&r, "{\"type\":\"pong\",\"number\":2}\n", "there was no such ping");
    r.now_ns = began_ns + 6 * ARCP_NS_PER_SEC;
    take(&r, "{\"type\":\"pong\",\"number\":1}\n");
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 15 * ARCP_NS_PER_SEC - 1, &r.error),
             &r.error);
    assert_int_equal(arcp__worker_peer_tick(r.peer, r.now_ns + 15 * ARCP_NS_PER_SEC, &r.error),
                     ARCP_E_TIMEOUT);
    assert_string_equal(r.error.message, "it has sent nothing for 15 s");
    close_peer(&r);
}

/* ---- what jobs say ---- */

static void what_a_job_says_is_passed_on_in_order(void **state)
{
    rig r;
    (void)state;
    open_joined(&r);
    take(&r, "{\"type\":\"started\",\"job\":\"j\",\"pid\":5}\n");
    take(&r,
         "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":2,\"what\":\"lines\"}\na\n\n");
    take(&r, "{\"type\":\"items\",\"job\":\"j\",\"first\":3,\"count\":1,\"what\":\"too_long\"}\n");
    take(&r, "{\"type\":\"output\",\"job\":\"j\",\"first\":0}\nabc");
    take(&r, "{\"type\":\"output\",\"job\":\"j\",\"first\":3}\nd");
    take(&r, "{\"type\":\"errors\",\"job\":\"j\",\"first\":1,\"count\":2}\nx\ny\n");
    take(&r, "{\"type\":\"log\",\"job\":\"j\"}\none\ntw");
    take(&r, "{\"type\":\"log\",\"job\":\"j\",\"dropped\":9}\no");
    take(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":4}\n");
    take(&r, "{\"type\":\"exited\",\"job\":\"j\",\"items\":3,\"bytes\":4,\"errors\":2,\"code\":6,"
             "\"why\":\"itself\"}\ntail");
    check_done(&r, "started 5;item 1 0 a;item 2 0 ;item 3 1 ;output 3 abc;output 4 d;error 1 x;"
                   "error 2 y;log one;log tw;dropped 9;log o;got 4;exited 6 tail;");
    close_peer(&r);
}

/* A message of the log with so many bytes: one line. */
static void take_log(rig *r, size_t size)
{
    static char text[ARCP__PEER_LOG_BYTES + 64];
    const int head = snprintf(text, sizeof text, "{\"type\":\"log\",\"job\":\"j\"}\n");
    memset(text + head, 'x', size);
    text[head + (int)size] = '\0';
    take(r, text);
}

static void count_log(void *user, void *job, arcp_span line)
{
    (void)job;
    note(user, "log %zu;", line.size);
}

static void a_log_has_a_mebibyte_in_a_second(void **state)
{
    rig r;
    (void)state;
    open_joined_with(&r, count_log);
    take_log(&r, ARCP__PEER_LOG_BYTES - 1);
    take_log(&r, 1);
    check_done(&r, "log 1048575;log 1;");
    take_log(&r, 1);
    take_log(&r, 7);
    check_done(&r, "");
    r.now_ns += ARCP_NS_PER_SEC - 1;
    take_log(&r, 1);
    check_done(&r, "");
    r.now_ns += 1; /* what is missing is reported once */
    take_log(&r, 2);
    check_done(&r, "dropped 9;log 2;");
    take_log(&r, ARCP__PEER_LOG_BYTES - 1);
    take(&r, "{\"type\":\"exited\",\"job\":\"j\",\"code\":6,\"why\":\"itself\"}\n");
    check_done(&r, "dropped 1048575;exited 6 ;");
    close_peer(&r);
}

static void what_a_program_uses_is_kept(void **state)
{
    rig r;
    arcp__worker_usage_row row = {.pid = 1};
    (void)state;
    open_joined(&r);
    assert_false(arcp__worker_peer_usage(r.peer, ARCP_SPAN_LITERAL("j"), &row));
    take(&r, "{\"type\":\"started\",\"job\":\"j\",\"pid\":5}\n");
    assert_true(arcp__worker_peer_usage(r.peer, ARCP_SPAN_LITERAL("j"), &row));
    assert_int_equal(row.pid, 5);
    assert_int_equal(row.cpu_ms, 0);
    take(&r, "{\"type\":\"usage\",\"room\":3}\n"
             "{\"job\":\"j\",\"pid\":5,\"cpu_ms\":70,\"memory_bytes\":4096}\n");
    assert_true(arcp__worker_peer_usage(r.peer, ARCP_SPAN_LITERAL("j"), &row));
    assert_int_equal(row.cpu_ms, 70);
    assert_int_equal(row.memory_bytes, 4096);
    check_done(&r, "started 5;");
    check_refused(&r, "{\"type\":\"usage\"}\n{\"job\":\"other\",\"pid\":5}\n",
                  "the worker was not given one of its jobs");
    close_peer(&r);
}

static void a_job_that_was_refused_is_not_known_any_more(void **state)
{
    rig r;
    (void)state;
    open_joined(&r);
    take(&r, "{\"type\":\"refused\",\"job\":\"j\",\"why\":\"unable\"}\n");
    check_done(&r, "refused 2;");
    check_refused(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n", "was not given this job");
    assert_true(arcp__worker_peer_add(r.peer, ARCP_SPAN_LITERAL("j"), &r)); /* it can be again */
    take(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n");
    check_done(&r, "got 1;");
    close_peer(&r);
}

static void messages_about_a_forgotten_job_are_dropped_for_a_while(void **state)
{
    rig r;
    (void)state;
    open_joined(&r);
    arcp__worker_peer_forget(r.peer, ARCP_SPAN_LITERAL("j"));
    arcp__worker_peer_forget(r.peer, ARCP_SPAN_LITERAL("j"));
    arcp__worker_peer_forget(r.peer, ARCP_SPAN_LITERAL("unknown"));
    check_done(&r, "{\"type\":\"forget\",\"job\":\"j\"}\n");
    take(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n");
    check_done(&r, "");
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 5 * ARCP_NS_PER_SEC, &r.error), &r.error);
    check_done(&r, "{\"type\":\"ping\",\"number\":1}\n");
    take(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n"); /* sent before it read forget */
    take(&r, "{\"type\":\"pong\",\"number\":1}\n");
    check_refused(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n", "was not given this job");
    close_peer(&r);
}

typedef struct gap_row {
    const char *name;
    const char *before; /* NULL: nothing */
    const char *text;
} gap_row;

#define ITEMS(first, count, lines)                                                                 \
    "{\"type\":\"items\",\"job\":\"j\",\"first\":" #first ",\"count\":" #count                     \
    ",\"what\":\"lines\"}\n" lines
#define OUTPUT(first) "{\"type\":\"output\",\"job\":\"j\",\"first\":" #first "}\nab"
#define ERRORS(first) "{\"type\":\"errors\",\"job\":\"j\",\"first\":" #first ",\"count\":1}\na\n"
#define EXITED(i, b, errors)                                                                       \
    "{\"type\":\"exited\",\"job\":\"j\",\"items\":" #i ",\"bytes\":" #b ",\"errors\":" #errors     \
    ",\"why\":\"itself\"}\n"

static const gap_row gap_rows[] = {
    {"a gap of items", NULL, ITEMS(2, 1, "a\n")},
    {"items that go back", ITEMS(1, 2, "a\nb\n"), ITEMS(2, 1, "b\n")},
    {"a gap of bytes", NULL, OUTPUT(1)},
    {"bytes that go back", OUTPUT(0), OUTPUT(1)},
    {"a gap of lines", NULL, ERRORS(2)},
    {"lines that go back", ERRORS(1), ERRORS(1)},
    {"an exit before the last items", ITEMS(1, 1, "a\n"), EXITED(2, 0, 0)},
    {"an exit before the last bytes", OUTPUT(0), EXITED(0, 3, 0)},
    {"an exit before the last lines", ERRORS(1), EXITED(0, 0, 2)},
};

static void numbers_that_do_not_follow_are_refused(void **state)
{
    const gap_row *row = *state;
    rig r;
    open_joined(&r);
    if (row->before != NULL) {
        take(&r, row->before);
    }
    r.done[0] = '\0';
    check_refused(&r, row->text, "");
    close_peer(&r);
}

/* After a new link: items 3, 5 and 6 are open, 7 and 8 were not kept. */
static void open_items_come_before_the_others(void **state)
{
    rig r;
    (void)state;
    open_peer(&r);
    r.claimed = ARCP__WORKER_GO_ON;
    take(&r, HELLO(1, 1,
                   ROW("j", "\"items_first\":7,\"items_last\":8,\"bytes_first\":2,"
                            "\"bytes_last\":4,\"errors_first\":3,\"errors_last\":3")));
    r.done[0] = '\0';
    take(&r, ITEMS(3, 1, "c\n"));
    take(&r, ITEMS(5, 1, "e\n"));
    check_done(&r, "item 3 0 c;item 5 0 e;");
    check_refused(&r, ITEMS(4, 1, "d\n"), "not the next numbers");
    take(&r, ITEMS(6, 2, "f\ng\n")); /* the last open one, and what follows */
    take(&r, ITEMS(8, 1, "h\n"));
    take(&r, OUTPUT(2));
    take(&r, ERRORS(3));
    check_done(&r, "item 6 0 f;item 7 0 g;item 8 0 h;output 4 ab;error 3 a;");
    check_refused(&r, ITEMS(6, 1, "f\n"), "not the next numbers");
    close_peer(&r);
}

/* ---- what is kept no more ---- */

static void kept_goes_after_fifty_milliseconds(void **state)
{
    rig r;
    (void)state;
    open_joined(&r);
    take(&r, ITEMS(1, 2, "a\nb\n"));
    r.done[0] = '\0';
    r.kept = (arcp__worker_kept){.items = 2, .stored = 1};
    assert_int_equal(arcp__worker_peer_due(r.peer), r.now_ns + 50 * MS);
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 50 * MS - 1, &r.error), &r.error);
    check_done(&r, "");
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 50 * MS, &r.error), &r.error);
    check_done(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2,\"stored\":1}\n");
    assert_true(arcp__worker_peer_due(r.peer) > r.now_ns + 50 * MS); /* all was kept */
    close_peer(&r);
}

static void what_the_store_does_not_have_is_asked_for_again(void **state)
{
    rig r;
    (void)state;
    open_joined(&r);
    take(&r, ITEMS(1, 2, "a\nb\n"));
    r.done[0] = '\0';
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 50 * MS, &r.error), &r.error);
    check_done(&r, ""); /* nothing is new */
    r.kept.items = r.kept.stored = 2;
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 100 * MS, &r.error), &r.error);
    check_done(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2,\"stored\":2}\n");
    close_peer(&r);
}

/* Not while the message is taken: the owner may have answers to its items. */
static void kept_is_due_at_once_after_64_kib(void **state)
{
    static char text[ARCP__PEER_KEPT_BYTES + 200];
    rig r;
    (void)state;
    open_joined(&r);
    const int head =
        snprintf(text, sizeof text, "{\"type\":\"output\",\"job\":\"j\",\"first\":0}\n");
    memset(text + head, 'x', ARCP__PEER_KEPT_BYTES - 1);
    take(&r, text);
    r.done[0] = '\0';
    r.kept.bytes = ARCP__PEER_KEPT_BYTES;
    take(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n");
    check_done(&r, "got 1;");
    assert_true(arcp__worker_peer_due(r.peer) > r.now_ns);
    take(&r, "{\"type\":\"output\",\"job\":\"j\",\"first\":65535}\nx");
    check_done(&r, "output 65536 x;");
    assert_true(arcp__worker_peer_due(r.peer) <= r.now_ns);
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns, &r.error), &r.error);
    check_done(&r, "{\"type\":\"kept\",\"job\":\"j\",\"bytes\":65536}\n");
    close_peer(&r);
}

/* The engine may have taken more on an earlier link than has come on this one. */
static void kept_names_nothing_that_has_not_come_on_this_link(void **state)
{
    static const uint64_t open_items[] = {3, 8, 9};
    rig r;
    (void)state;
    open_peer(&r);
    r.claimed = ARCP__WORKER_GO_ON;
    take(&r, HELLO(1, 1, ROW("j", "\"items_first\":7,\"items_last\":9,\"errors_first\":1")));
    take(&r, ITEMS(7, 2, "g\nh\n"));
    r.done[0] = '\0';
    r.kept = (arcp__worker_kept){.items = 9, .stored = 9, .open = open_items, .open_count = 3};
    check_ok(arcp__worker_peer_tick(r.peer, r.now_ns + 50 * MS, &r.error), &r.error);
    check_done(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":8,\"stored\":8,\"open\":[3,8]}\n");
    close_peer(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_is_answered_with_welcome),
        cmocka_unit_test(jobs_that_hello_names_are_claimed),
        cmocka_unit_test(jobs_of_another_store_are_not_spoken_of),
        cmocka_unit_test(a_hello_that_does_not_fit_is_refused),
        cmocka_unit_test(hello_comes_first_and_in_time),
        cmocka_unit_test(pings_go_both_ways_and_silence_ends_the_link),
        cmocka_unit_test(what_a_job_says_is_passed_on_in_order),
        cmocka_unit_test(what_a_program_uses_is_kept),
        cmocka_unit_test(a_log_has_a_mebibyte_in_a_second),
        cmocka_unit_test(a_job_that_was_refused_is_not_known_any_more),
        cmocka_unit_test(messages_about_a_forgotten_job_are_dropped_for_a_while),
        cmocka_unit_test(open_items_come_before_the_others),
        cmocka_unit_test(kept_goes_after_fifty_milliseconds),
        cmocka_unit_test(what_the_store_does_not_have_is_asked_for_again),
        cmocka_unit_test(kept_is_due_at_once_after_64_kib),
        cmocka_unit_test(kept_names_nothing_that_has_not_come_on_this_link),
    };
    const int failed = run_rows(gap_rows, sizeof gap_rows / sizeof gap_rows[0], sizeof gap_rows[0],
                                numbers_that_do_not_follow_are_refused);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
