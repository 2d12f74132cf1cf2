/* A worker between a runtime and programs that do everything: whatever comes, the worker sends only
 * what a runtime can read, numbers its items without gaps, and writes nothing to a program that has
 * ended. Input: lines.
 *
 *   m TEXT     a message of the runtime; a \ in TEXT is a line feed
 *   c d t      the link is there, is gone; time passes
 *   s r e      the program of the last job runs, cannot be started, has ended
 *   i l o x g  it writes: a line, one that is too long, output, standard error, a line of the log
 *   n          the link takes all messages */
#include "lines.h"

#include <arcp/time.h>

#include "worker/worker_core.h"

#define JOBS_MAX 8

typedef struct program {
    arcp__worker_job *job; /* NULL: forgotten */
    bool runs, has_ended;
} program;

typedef struct state {
    arcp__worker_core *core;
    program programs[JOBS_MAX];
    size_t count;
    int64_t now_ns;
    bool is_linked;
    arcp__worker_reader reader, sent_reader;
} state;

static void *on_start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                      char message[256])
{
    state *s = user;
    require(order->kind == ARCP__WORKER_START);
    if (s->count == JOBS_MAX) {
        message[0] = 'x';
        message[1] = '\0';
        return NULL;
    }
    s->programs[s->count].job = job;
    return &s->programs[s->count++];
}

static void on_write(void *user, void *of, arcp_span line)
{
    const program *p = of;
    require(p->job != NULL && !p->has_ended && line.size != 0);
}

static void on_kill(void *user, void *of, bool at_once)
{
    const program *p = of;
    require(p->job != NULL && !p->has_ended);
}

static void on_read(void *user, void *of, bool reads)
{
    const program *p = of;
    require(p->job != NULL && !p->has_ended);
}

static void on_revoke(void *user, void *of, arcp_span code)
{
    const program *p = of;
    require(p->job != NULL && !p->has_ended);
}

static void on_use(void *user, void *its_program, arcp__worker_usage_row *out)
{
    out->pid = 1;
}

static void on_warm(void *user, arcp_span rows)
{
}

static void on_forget(void *user, void *of)
{
    program *p = of;
    require(p->job != NULL);
    p->job = NULL;
}

/* The program that was started last and that the worker still has. */
static program *last_program(state *s)
{
    size_t i = s->count;
    while (i != 0 && (s->programs[i - 1].job == NULL || s->programs[i - 1].has_ended)) {
        i--;
    }
    return i == 0 ? NULL : &s->programs[i - 1];
}

static void disconnect(state *s)
{
    if (s->is_linked) {
        s->is_linked = false;
        arcp__worker_core_disconnected(s->core, s->now_ns);
    }
}

static void receive(state *s, arcp_span text)
{
    arcp__worker_message message;
    char bytes[2000];
    const size_t size = text.size < sizeof bytes ? text.size : sizeof bytes;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = text.data[i] == '\\' ? '\n' : text.data[i];
    }
    if (!s->is_linked ||
        arcp__worker_message_read(&s->reader, ARCP__WORKER_SIDE_RUNTIME,
                                  arcp_span_make(bytes, size), &message, NULL) != ARCP_OK) {
        return;
    }
    if (arcp__worker_core_receive(s->core, s->now_ns, &message, NULL) != ARCP_OK) {
        disconnect(s);
    }
}

static void take_messages(state *s)
{
    arcp__worker_message message, read;
    arcp_buf out = arcp_buf_init();
    while (arcp__worker_core_next(s->core, s->now_ns, &message)) {
        require(s->is_linked);
        arcp_buf_clear(&out);
        arcp__worker_message_write(&message, &out);
        require(arcp__worker_message_read(&s->sent_reader, ARCP__WORKER_SIDE_WORKER,
                                          arcp_buf_span(&out), &read, NULL) == ARCP_OK);
        for (arcp_span rest = read.body; read.kind == ARCP__WORKER_HELLO && rest.size != 0;) {
            arcp__worker_job_row row;
            require(arcp__worker_job_row_read(&s->sent_reader, &rest, &row, NULL) == ARCP_OK);
        }
    }
    arcp_buf_fini(&out);
}

static void write_something(state *s, program *p, char what, arcp_span text)
{
    if (what == 'i') {
        arcp__worker_core_item(s->core, p->job, ARCP__WORKER_ITEM_LINE, text);
    } else if (what == 'l') {
        arcp__worker_core_item(s->core, p->job, ARCP__WORKER_ITEM_TOO_LONG,
                               arcp_span_make(NULL, 0));
    } else if (what == 'o') {
        arcp__worker_core_output(s->core, p->job, text);
    } else if (what == 'x') {
        arcp__worker_core_error_line(s->core, p->job, text);
    } else if (what == 'g') {
        arcp__worker_core_log(s->core, p->job, text);
    }
}

static void change_program(state *s, program *p, char what, arcp_span text)
{
    const arcp__worker_exited exited = {.code = 1, .failure = text};
    if (what == 's' && !p->runs) {
        p->runs = true;
        arcp__worker_core_started(s->core, p->job, 1);
    } else if (what == 'r' && !p->runs) {
        arcp__worker_core_refuse(s->core, p->job, ARCP__WORKER_CANNOT_START, text);
    } else if (what == 'e') {
        p->has_ended = true;
        arcp__worker_core_exited(s->core, p->job, &exited, text);
    } else {
        write_something(s, p, what, text);
    }
}

static void step(state *s, char what, arcp_span text)
{
    program *p = last_program(s);
    if (what == 'm') {
        receive(s, text);
    } else if (what == 'c' && !s->is_linked) {
        s->is_linked = true;
        arcp__worker_core_connected(s->core, s->now_ns);
    } else if (what == 'd') {
        disconnect(s);
    } else if (what == 't') {
        s->now_ns += (int64_t)(text.size + 1) * ARCP_NS_PER_SEC;
        if (!arcp__worker_core_tick(s->core, s->now_ns)) {
            disconnect(s);
        }
    } else if (what == 'n') {
        take_messages(s);
    } else if (p != NULL) {
        change_program(s, p, what, text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static state s;
    const arcp__worker_hello hello = {.v_low = 1,
                                      .v_high = 1,
                                      .version = ARCP_SPAN_LITERAL("1"),
                                      .name = ARCP_SPAN_LITERAL("w"),
                                      .instance = ARCP_SPAN_LITERAL("i"),
                                      .boot_id = ARCP_SPAN_LITERAL("b")};
    const arcp__worker_programs programs = {on_start, on_write,  on_kill, on_read, on_revoke,
                                            on_warm,  on_forget, &s,      on_use};
    arcp_span input = arcp_span_make((const char *)data, size);
    s = (state){.now_ns = ARCP_NS_PER_SEC,
                .reader = {.line_bytes_max = 1000},
                .sent_reader = {.line_bytes_max = 10000000}};
    s.core = arcp__worker_core_new(&hello, &programs, s.now_ns);
    require(s.core != NULL);
    while (input.size != 0) {
        const arcp_span line = take_line(&input);
        if (line.size != 0) {
            step(&s, line.data[0], arcp_span_from(line, line.size > 1 ? 2 : 1));
        }
        require(!arcp__worker_core_has_failed(s.core));
    }
    arcp__worker_core_free(s.core);
    for (size_t i = 0; i < s.count; i++) {
        require(s.programs[i].job == NULL);
    }
    arcp__worker_reader_fini(&s.reader);
    arcp__worker_reader_fini(&s.sent_reader);
    return 0;
}
