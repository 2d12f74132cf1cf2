#include "worker/worker_rig.h"

static void note(worker_rig *r, const char *what, arcp_span text)
{
    const size_t used = strlen(r->done);
    (void)snprintf(r->done + used, sizeof r->done - used, "%s%.*s;", what, (int)text.size,
                   text.size == 0 ? "" : text.data);
}

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    worker_rig *r = user;
    r->job = job;
    note(r, "start ", order->body);
    if (r->cannot_start) {
        (void)snprintf(message, 256, "no program");
        return NULL;
    }
    return r;
}

static void write_line(void *user, void *program, arcp_span line)
{
    (void)program;
    note(user, "write ", line);
}

static void kill_program(void *user, void *program, bool at_once)
{
    (void)program;
    note(user, at_once ? "kill" : "terminate", arcp_span_make(NULL, 0));
}

static void read_program(void *user, void *program, bool reads)
{
    (void)program;
    note(user, reads ? "read" : "pause", arcp_span_make(NULL, 0));
}

static void revoke(void *user, void *program, arcp_span code)
{
    (void)program;
    note(user, "revoke ", code);
}

static void warm(void *user, arcp_span rows)
{
    note(user, "warm ", arcp_span_first(rows, rows.size - 1));
}

static void forget(void *user, void *program)
{
    (void)program;
    note(user, "forget", arcp_span_make(NULL, 0));
}

void worker_rig_check_done(worker_rig *r, const char *done)
{
    assert_string_equal(r->done, done);
    r->done[0] = '\0';
}

void worker_rig_check_sent(worker_rig *r, const char *sent)
{
    arcp__worker_message message;
    arcp_buf out = arcp_buf_init();
    while (arcp__worker_core_next(r->core, r->now_ns, &message)) {
        if (message.kind != ARCP__WORKER_HELLO) {
            arcp__worker_message_write(&message, &out);
            if (message.body.size != 0 && message.body.data[message.body.size - 1] != '\n') {
                arcp_buf_append_byte(&out, '\n');
            }
        } else {
            arcp_buf_append_cstr(&out, "hello ");
            arcp_buf_append(&out, message.body);
        }
    }
    check_span(arcp_buf_span(&out), sent);
    arcp_buf_fini(&out);
}

arcp_status worker_rig_receive(worker_rig *r, const char *text)
{
    arcp__worker_reader reader = {.line_bytes_max = 1000};
    arcp__worker_message message;
    arcp_error err = {0};
    arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_RUNTIME,
                                                   arcp_span_cstr(text), &message, &err);
    check_ok(status, &err);
    status = arcp__worker_core_receive(r->core, r->now_ns, &message, &err);
    arcp__worker_reader_fini(&reader);
    return status;
}

void worker_rig_take(worker_rig *r, const char *text)
{
    assert_int_equal(worker_rig_receive(r, text), ARCP_OK);
}

static void open_with(worker_rig *r, void (*warm_up)(void *user, arcp_span rows),
                      void (*use)(void *user, void *program, arcp__worker_usage_row *out))
{
    const arcp__worker_hello hello = {.v_low = 1,
                                      .v_high = 1,
                                      .version = ARCP_SPAN_LITERAL("1"),
                                      .name = ARCP_SPAN_LITERAL("w"),
                                      .instance = ARCP_SPAN_LITERAL("i"),
                                      .boot_id = ARCP_SPAN_LITERAL("b")};
    const arcp__worker_programs programs = {
        start, write_line, kill_program, read_program, revoke, warm_up, forget, r, use};
    *r = (worker_rig){.now_ns = 100 * SEC};
    r->core = arcp__worker_core_new(&hello, &programs, r->now_ns);
    assert_non_null(r->core);
}

void worker_rig_open(worker_rig *r)
{
    open_with(r, warm, NULL);
}

void worker_rig_open_own(worker_rig *r)
{
    open_with(r, NULL, NULL);
}

void worker_rig_connect(worker_rig *r, const char *rows, const char *welcome)
{
    char hello[600];
    (void)snprintf(hello, sizeof hello, "hello %s", rows);
    arcp__worker_core_connected(r->core, r->now_ns);
    worker_rig_check_sent(r, hello);
    worker_rig_take(r, welcome);
}

void worker_rig_open_job_with(worker_rig *r, const char *order,
                              void (*use)(void *user, void *program, arcp__worker_usage_row *out))
{
    open_with(r, warm, use);
    worker_rig_connect(r, "", WELCOME(""));
    worker_rig_take(r, order);
    worker_rig_check_done(r, "start {};");
    arcp__worker_core_started(r->core, r->job, 5);
    worker_rig_check_sent(r, STARTED);
}

void worker_rig_open_job(worker_rig *r, const char *order)
{
    worker_rig_open_job_with(r, order, NULL);
}

void worker_rig_close(worker_rig *r)
{
    arcp__worker_core_free(r->core);
}

void worker_rig_item(worker_rig *r, const char *text)
{
    arcp__worker_core_item(r->core, r->job, ARCP__WORKER_ITEM_LINE, arcp_span_cstr(text));
}

void worker_rig_end_program(worker_rig *r)
{
    const arcp__worker_exited exited = {.is_known = true, .code = 3};
    arcp__worker_core_exited(r->core, r->job, &exited, ARCP_SPAN_LITERAL("tail"));
}
