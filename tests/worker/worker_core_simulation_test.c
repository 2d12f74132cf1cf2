/* A worker and a model of the runtime, over a link that delays and is cut, with crashes of the
 * runtime at any step, with programs that take their time to die, and with stores that are restored
 * from a backup. Each item has its effect once, in order; each that asks gets one reply; no job
 * starts twice, and none is given up while its program lives.
 *
 * A seed that fails is printed; ARCP_WORKER_SEED=N repeats it alone, and ARCP_WORKER_SEEDS=N runs
 * so many. */
#include "support/check.h"

#include <inttypes.h>

#include <arcp/time.h>

#include "base/digits.h"
#include "worker/worker_core.h"

#define SEEDS     800
#define JOBS      4
#define ITEMS_MAX 24
#define BYTES_MAX 3000u
#define KEEP_NS   (10 * ARCP_NS_PER_SEC)
#define STEPS_MAX 2000
#define CALM_STEP 250 /* from then on nothing fails */

static const char *const job_ids[JOBS] = {"job_0", "job_1", "job_2", "job_3"};

/* Faults of the runtime's side that the simulation must find. */
typedef enum fault_kind {
    FAULT_NONE,
    FAULT_NO_STORED,  /* it does not compare hello with its store */
    FAULT_NO_OPEN,    /* it lets the worker forget items that it has not acted on */
    FAULT_NO_MARGIN,  /* it gives jobs up after keep_ms, not 10 s later */
    FAULT_NO_ITEM,    /* it acts on what it has acted on */
    FAULT_EARLY_KEPT, /* it lets the worker forget what is not durable */
    FAULT_NOT_HERE    /* it lets it forget items whose answers a former link may have lost */
} fault_kind;

typedef enum item_kind {
    KIND_EVENT,     /* has an effect */
    KIND_ASK,       /* has an effect, and wants a reply */
    KIND_AUTHORIZE, /* has no effect, and wants a reply */
    KIND_DELEGATE,  /* has its effect later, and then a reply */
    KINDS
} item_kind;

/* ---- what the runtime's store has of a job; copied as bytes ---- */

typedef struct stored_job {
    uint64_t is_placed, has_ended,
        is_lost;    /* not bool: without padding, equal rows are equal bytes */
    uint64_t item;  /* acted on, up to this one */
    uint64_t bytes; /* of output */
    uint64_t effects[ITEMS_MAX + 1];
    uint64_t last_effect; /* of those that come in order */
    uint64_t open[ITEMS_MAX + 1];
    uint64_t at; /* of the last line */
    uint64_t answers_to[ITEMS_MAX + 1];
} stored_job;

typedef struct store {
    stored_job rows[JOBS];
} store;

/* ---- programs ---- */

typedef struct program {
    bool is_started, runs, reads, is_killed;
    unsigned starts;
    uint64_t items, written;   /* it will write, has written */
    uint64_t bytes, bytes_out; /* the same of output */
    uint64_t replies[ITEMS_MAX + 1];
    int64_t start_ns, end_ns; /* when it runs, and when it has ended after a kill */
    bool has_exited;
    arcp__worker_job *job;
} program;

/* ---- the link ---- */

typedef struct frame {
    struct frame *next;
    int64_t due_ns;
    arcp_buf bytes;
} frame;

typedef struct one_way {
    frame *first, *last;
} one_way;

typedef struct simulation {
    uint64_t random;
    fault_kind fault;
    int64_t now_ns;
    const char *problem;
    /* The runtime. */
    bool is_up;
    int64_t up_ns; /* when a runtime that is down starts */
    store now, flying, disk, backup;
    bool is_flying;
    int64_t flown_ns;
    bool sees_link; /* it believes that it is connected */
    bool has_greeted;
    int64_t notices_ns, gone_ns; /* the end of the link; since when it is gone */
    uint64_t seen[JOBS];
    uint64_t here[JOBS]; /* the last item that came on this link, or was forgotten before it */
    bool pending[JOBS][ITEMS_MAX + 1];
    uint64_t sent_at[JOBS]; /* lines that were sent on this link */
    bool is_start_sent[JOBS];
    bool is_restored[JOBS]; /* a backup took it away; nothing is promised */
    /* The worker. */
    arcp__worker_core *core;
    program programs[JOBS];
    bool link_is_up; /* on the worker's side */
    int64_t worker_notices_ns, connects_ns, ticked_ns;
    bool is_cut;
    one_way up, down;
} simulation;

static uint64_t draw(simulation *s, uint64_t below)
{
    uint64_t z = (s->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void expect(simulation *s, bool holds, const char *problem)
{
    if (!holds && s->problem == NULL) {
        s->problem = problem;
    }
}

static item_kind kind_of(uint64_t job, uint64_t item)
{
    return (item_kind)((item * 7 + job * 3) % 11 % KINDS);
}

static size_t index_of(arcp_span job)
{
    size_t i = 0;
    while (i < JOBS && !arcp_span_equal_cstr(job, job_ids[i])) {
        i++;
    }
    return i;
}

/* ---- frames on their way ---- */

static void drop(one_way *way)
{
    while (way->first != NULL) {
        frame *first = way->first;
        way->first = first->next;
        arcp_buf_fini(&first->bytes);
        free(first);
    }
    way->last = NULL;
}

static void post(simulation *s, one_way *way, const arcp__worker_message *message)
{
    if (s->is_cut) {
        return;
    }
    frame *sent = calloc(1, sizeof *sent);
    const int64_t due_ns = s->now_ns + (int64_t)draw(s, 400) * ARCP_NS_PER_MS;
    assert_non_null(sent);
    sent->due_ns = way->last != NULL && way->last->due_ns > due_ns ? way->last->due_ns : due_ns;
    arcp__worker_message_write(message, &sent->bytes);
    assert_false(sent->bytes.failed);
    if (way->last == NULL) {
        way->first = sent;
    } else {
        way->last->next = sent;
    }
    way->last = sent;
}

/* What has arrived by now; NULL: nothing. */
static frame *arrived(simulation *s, one_way *way)
{
    frame *first = way->first;
    if (first == NULL || first->due_ns > s->now_ns) {
        return NULL;
    }
    way->first = first->next;
    way->last = way->first == NULL ? NULL : way->last;
    return first;
}

static void cut(simulation *s)
{
    if (!s->is_cut && (s->link_is_up || s->sees_link)) {
        s->is_cut = true;
        drop(&s->up);
        drop(&s->down);
        s->worker_notices_ns = s->now_ns + (int64_t)draw(s, 3000) * ARCP_NS_PER_MS;
        s->notices_ns = s->now_ns + (int64_t)draw(s, 3000) * ARCP_NS_PER_MS;
    }
}

/* ---- the runtime ---- */

static void send_line(simulation *s, size_t i, uint64_t at, uint64_t answers_to)
{
    arcp__worker_message message = {
        .kind = ARCP__WORKER_LINE,
        .line = {arcp_span_cstr(job_ids[i]), at, answers_to},
        .body = ARCP_SPAN_LITERAL("{}"),
    };
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, answers_to);
    message.body = arcp_span_cstr(text);
    post(s, &s->down, &message);
}

static void send_start(simulation *s, size_t i)
{
    const arcp__worker_message message = {
        .kind = ARCP__WORKER_START,
        .start = {.job = arcp_span_cstr(job_ids[i]), .agent = ARCP_SPAN_LITERAL("a")},
        .body = ARCP_SPAN_LITERAL("{\"type\":\"job.start\"}")};
    post(s, &s->down, &message);
}

static void send_of_job(simulation *s, size_t i, arcp__worker_kind kind)
{
    const arcp__worker_message message = {.kind = kind, .forget = {arcp_span_cstr(job_ids[i])}};
    post(s, &s->down, &message);
}

/* What is durable may be seen: lines with a position, and what the worker may forget. */
static void show_job(simulation *s, size_t i)
{
    const stored_job *disk = &s->disk.rows[i];
    const stored_job *now = &s->now.rows[i];
    if (!s->has_greeted || !disk->is_placed) {
        return;
    }
    if (disk->has_ended) {
        send_of_job(s, i, ARCP__WORKER_FORGET);
        return;
    }
    while (s->sent_at[i] < disk->at) {
        s->sent_at[i]++;
        send_line(s, i, s->sent_at[i], disk->answers_to[s->sent_at[i]]);
    }
    const bool is_unchanged = memcmp(disk, now, sizeof *disk) == 0;
    const stored_job *shown = s->fault == FAULT_EARLY_KEPT ? now : disk;
    const uint64_t items = is_unchanged ? s->seen[i] : shown->item;
    const uint64_t here = s->fault == FAULT_NOT_HERE ? items : s->here[i];
    uint64_t open[ITEMS_MAX];
    arcp__worker_message message = {.kind = ARCP__WORKER_KEPT,
                                    .kept = {.job = arcp_span_cstr(job_ids[i]),
                                             .items = items < here ? items : here,
                                             .bytes = shown->bytes,
                                             .open = open,
                                             .stored = disk->item}};
    for (uint64_t n = 1; n <= ITEMS_MAX && s->fault != FAULT_NO_OPEN; n++) {
        if ((now->open[n] || disk->open[n]) && n <= message.kept.items) {
            open[message.kept.open_count++] = n;
        }
    }
    post(s, &s->down, &message);
}

static void commit(simulation *s)
{
    if (s->is_flying && s->now_ns >= s->flown_ns) {
        s->is_flying = false;
        s->backup = draw(s, 20) == 0 ? s->disk : s->backup;
        s->disk = s->flying;
        for (size_t i = 0; i < JOBS; i++) {
            show_job(s, i);
        }
    }
    if (!s->is_flying && memcmp(&s->now, &s->disk, sizeof s->now) != 0) {
        s->is_flying = true;
        s->flying = s->now;
        s->flown_ns = s->now_ns + (int64_t)draw(s, 300) * ARCP_NS_PER_MS;
    }
}

static void act(simulation *s, size_t i, uint64_t item, bool is_in_order)
{
    stored_job *row = &s->now.rows[i];
    row->effects[item]++;
    expect(s, row->effects[item] == 1, "an item has its effect twice");
    if (is_in_order) {
        expect(s, item > row->last_effect, "items have their effects out of order");
        row->last_effect = item;
    }
}

static void reply(simulation *s, size_t i, uint64_t item)
{
    stored_job *row = &s->now.rows[i];
    row->answers_to[++row->at] = item;
}

static void take_item(simulation *s, size_t i, uint64_t item)
{
    stored_job *row = &s->now.rows[i];
    const item_kind kind = kind_of(i, item);
    s->here[i] = item > s->here[i] ? item : s->here[i];
    if (kind == KIND_AUTHORIZE) { /* also again: nothing is stored of it */
        s->seen[i] = item > s->seen[i] ? item : s->seen[i];
        send_line(s, i, 0, item);
        return;
    }
    if (item <= s->seen[i] && s->fault != FAULT_NO_ITEM) {
        s->pending[i][item] = s->pending[i][item] || row->open[item];
        return;
    }
    s->seen[i] = item > s->seen[i] ? item : s->seen[i];
    row->item = s->seen[i];
    if (kind == KIND_DELEGATE) {
        s->pending[i][item] = true;
        row->open[item] = 1;
        return;
    }
    act(s, i, item, true);
    if (kind == KIND_ASK) {
        reply(s, i, item);
    }
}

/* A delegation that waited is done. */
static void finish_pending(simulation *s)
{
    for (size_t i = 0; i < JOBS; i++) {
        const uint64_t item = 1 + draw(s, ITEMS_MAX);
        if (s->pending[i][item] && !s->now.rows[i].has_ended) {
            s->pending[i][item] = false;
            s->now.rows[i].open[item] = 0;
            act(s, i, item, false);
            reply(s, i, item);
        }
    }
}

static void end_job(simulation *s, size_t i, bool is_lost)
{
    s->now.rows[i].has_ended = true;
    s->now.rows[i].is_lost = is_lost;
}

/* What hello says of a job; the store must not have less. */
static void greet_job(simulation *s, const arcp__worker_job_row *said, arcp_buf *welcome)
{
    const size_t i = index_of(said->job);
    stored_job *row = &s->now.rows[i];
    arcp__worker_resume_row resume = {said->job, ARCP__WORKER_GO_ON};
    const bool is_older =
        s->fault != FAULT_NO_STORED &&
        (said->stored > row->item || said->at > row->at || said->bytes_first > row->bytes);
    if (is_older && row->is_placed && !row->has_ended) {
        end_job(s, i, false);
        s->is_restored[i] = true;
    }
    if (!row->is_placed || row->has_ended) {
        resume.what = ARCP__WORKER_FORGET_JOB;
    } else {
        const uint64_t forgotten = said->items_first - 1;
        s->seen[i] = forgotten > s->seen[i] ? forgotten : s->seen[i];
        s->here[i] = forgotten;
        s->sent_at[i] = said->at;
    }
    arcp__worker_resume_row_write(&resume, welcome);
}

static void take_hello(simulation *s, const arcp__worker_message *hello)
{
    bool is_named[JOBS] = {false};
    arcp_buf rows = arcp_buf_init();
    arcp__worker_reader reader = {.line_bytes_max = 1000};
    for (arcp_span rest = hello->body; rest.size != 0;) {
        arcp__worker_job_row said;
        assert_int_equal(arcp__worker_job_row_read(&reader, &rest, &said, NULL), ARCP_OK);
        is_named[index_of(said.job)] = true;
        greet_job(s, &said, &rows);
    }
    const arcp__worker_message welcome = {.kind = ARCP__WORKER_WELCOME,
                                          .welcome = {.v = 1,
                                                      .store = ARCP_SPAN_LITERAL("s"),
                                                      .keep_ms = KEEP_NS / ARCP_NS_PER_MS,
                                                      .line_bytes = 1000,
                                                      .unkept_bytes = 2000,
                                                      .unkept_total_bytes = 6000},
                                          .body = arcp_buf_span(&rows)};
    post(s, &s->down, &welcome);
    s->has_greeted = true;
    for (size_t i = 0; i < JOBS; i++) {
        s->here[i] = is_named[i] ? s->here[i] : 0;
        s->is_start_sent[i] = s->disk.rows[i].is_placed;
        if (s->disk.rows[i].is_placed && !s->now.rows[i].has_ended && !is_named[i]) {
            send_start(s, i); /* it never got there */
        }
    }
    arcp__worker_reader_fini(&reader);
    arcp_buf_fini(&rows);
}

static void take_output(simulation *s, size_t i, uint64_t first, arcp_span bytes)
{
    stored_job *row = &s->now.rows[i];
    for (size_t k = 0; k < bytes.size; k++) {
        const uint64_t at = first + k;
        expect(s, (unsigned char)bytes.data[k] == at % 251, "a byte of output is another one");
        expect(s, at <= row->bytes, "bytes of output are missing");
        row->bytes += at == row->bytes;
    }
}

static void take_at_runtime(simulation *s, const arcp__worker_message *message)
{
    arcp__worker_message pong = {.kind = ARCP__WORKER_PONG, .pong = {message->ping.number}};
    const size_t i = message->kind == ARCP__WORKER_HELLO || message->kind == ARCP__WORKER_PING ||
                             message->kind == ARCP__WORKER_PONG
                         ? JOBS
                         : index_of(message->items.job);
    if (message->kind == ARCP__WORKER_HELLO) {
        take_hello(s, message);
    } else if (message->kind == ARCP__WORKER_PING) {
        post(s, &s->down, &pong);
    }
    if (i == JOBS || s->now.rows[i].has_ended) {
        return;
    }
    if (message->kind == ARCP__WORKER_ITEMS) {
        for (uint64_t n = 0; n < message->items.count; n++) {
            const uint64_t item = message->items.first + n;
            expect(s, item <= s->seen[i] + 1, "an item is missing");
            take_item(s, i, item);
        }
        show_job(s, i);
    } else if (message->kind == ARCP__WORKER_OUTPUT) {
        take_output(s, i, message->output.first, message->body);
    } else if (message->kind == ARCP__WORKER_EXITED) {
        expect(s,
               s->seen[i] == message->exited.items && s->now.rows[i].bytes == message->exited.bytes,
               "an exit comes before all items");
        const bool was_killed = message->exited.why != ARCP__WORKER_END_ITSELF;
        end_job(s, i, was_killed);
    }
}

/* Jobs whose worker is away for too long. */
static void give_up(simulation *s)
{
    const int64_t margin_ns = s->fault == FAULT_NO_MARGIN ? 0 : 10 * ARCP_NS_PER_SEC;
    if (s->sees_link || s->now_ns - s->gone_ns < KEEP_NS + margin_ns) {
        return;
    }
    for (size_t i = 0; i < JOBS; i++) {
        const stored_job *row = &s->now.rows[i];
        if (row->is_placed && !row->has_ended) {
            expect(s, !s->programs[i].runs, "a job is given up while its program lives");
            end_job(s, i, true);
        }
    }
}

static void crash(simulation *s)
{
    s->is_up = s->sees_link = s->has_greeted = s->is_flying = false;
    s->up_ns = s->now_ns + (int64_t)draw(s, draw(s, 8) == 0 ? 25000 : 3000) * ARCP_NS_PER_MS;
    if (draw(s, 4) == 0) {
        for (size_t i = 0; i < JOBS; i++) {
            /* A job that the backup does not know would be another one. */
            s->is_restored[i] =
                s->is_restored[i] || (s->disk.rows[i].is_placed && !s->backup.rows[i].is_placed);
            s->is_restored[i] =
                s->is_restored[i] || (s->disk.rows[i].has_ended && !s->backup.rows[i].has_ended);
        }
        s->disk = s->backup;
    }
    s->now = s->disk;
    memset(s->seen, 0, sizeof s->seen);
    memset(s->pending, 0, sizeof s->pending);
    for (size_t i = 0; i < JOBS; i++) {
        s->seen[i] = s->disk.rows[i].item;
        if (s->is_restored[i]) {
            s->now.rows[i].is_placed = s->now.rows[i].has_ended = true;
        }
    }
    cut(s);
    s->is_cut = true;
}

static void run_runtime(simulation *s)
{
    static arcp__worker_reader reader;
    if (!s->is_up) {
        if (s->now_ns >= s->up_ns) {
            s->is_up = true;
            s->gone_ns = s->now_ns;
        }
        return;
    }
    reader = (arcp__worker_reader){.line_bytes_max = 1000};
    for (frame *in = NULL; s->sees_link && (in = arrived(s, &s->up)) != NULL; free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        if (arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER, arcp_buf_span(&in->bytes),
                                      &message, &err) == ARCP_OK) {
            take_at_runtime(s, &message);
        } else {
            expect(s, false, "the runtime cannot read a message");
        }
        arcp_buf_fini(&in->bytes);
    }
    arcp__worker_reader_fini(&reader);
    if (s->sees_link && s->is_cut && s->now_ns >= s->notices_ns) {
        s->sees_link = s->has_greeted = false;
        s->gone_ns = s->now_ns;
    }
    finish_pending(s);
    commit(s);
    give_up(s);
    const size_t i = draw(s, JOBS);
    if (s->has_greeted && !s->now.rows[i].is_placed && draw(s, 4) == 0) {
        s->now.rows[i].is_placed = true; /* the start follows when that is durable */
    }
    for (size_t k = 0; k < JOBS; k++) {
        if (s->has_greeted && s->disk.rows[k].is_placed && !s->is_start_sent[k] &&
            !s->disk.rows[k].has_ended) {
            s->is_start_sent[k] = true;
            send_start(s, k);
        }
    }
}

/* ---- the worker ---- */

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    simulation *s = user;
    program *p = &s->programs[index_of(order->start.job)];
    (void)message;
    p->starts++;
    expect(s, p->starts == 1, "a job starts twice");
    p->is_started = true;
    p->reads = true;
    p->runs = true; /* from the order on: it may be there already */
    p->job = job;
    p->start_ns = s->now_ns + (int64_t)draw(s, 500) * ARCP_NS_PER_MS;
    return p;
}

static void write_line(void *user, void *of, arcp_span line)
{
    simulation *s = user;
    program *p = of;
    uint64_t item = 0;
    assert_true(arcp__digits_parse(line, &item) && item <= ITEMS_MAX);
    p->replies[item]++;
    expect(s, p->replies[item] == 1, "an item gets two replies");
}

static void kill_program(void *user, void *of, bool at_once)
{
    simulation *s = user;
    program *p = of;
    (void)at_once;
    if (!p->is_killed) {
        p->is_killed = true;
        p->end_ns = s->now_ns + (int64_t)draw(s, 4000) * ARCP_NS_PER_MS;
    }
}

static void read_program(void *user, void *of, bool reads)
{
    (void)user;
    ((program *)of)->reads = reads;
}

static void revoke(void *user, void *of, arcp_span code)
{
    (void)user;
    (void)of;
    (void)code;
}

static void warm(void *user, arcp_span rows)
{
    (void)user;
    (void)rows;
}

static void forget(void *user, void *of)
{
    (void)user;
    ((program *)of)->job = NULL;
}

static bool has_replies(const program *p, uint64_t job)
{
    for (uint64_t n = 1; n <= p->items; n++) {
        if (kind_of(job, n) != KIND_EVENT && p->replies[n] == 0) {
            return false;
        }
    }
    return true;
}

static void exit_program(simulation *s, program *p)
{
    const arcp__worker_exited exited = {.is_known = true};
    p->runs = false;
    p->has_exited = true;
    arcp__worker_core_exited(s->core, p->job, &exited, arcp_span_make(NULL, 0));
}

static void run_program(simulation *s, size_t i)
{
    program *p = &s->programs[i];
    if (!p->runs) {
        return;
    }
    if (p->is_killed && s->now_ns >= p->end_ns) {
        exit_program(s, p);
        return;
    }
    if (s->now_ns < p->start_ns) {
        return;
    }
    if (p->start_ns != 0) {
        p->start_ns = 0;
        arcp__worker_core_started(s->core, p->job, 1 + i);
    }
    if (p->reads && p->written < p->items && draw(s, 3) == 0) {
        p->written++;
        arcp__worker_core_item(s->core, p->job,
                               p->written % 5 == 0 ? ARCP__WORKER_ITEM_RECORD
                                                   : ARCP__WORKER_ITEM_LINE,
                               ARCP_SPAN_LITERAL("{\"type\":\"job.event\"}"));
    } else if (p->reads && p->bytes_out < p->bytes) {
        char bytes[500];
        const size_t most =
            p->bytes - p->bytes_out < sizeof bytes ? p->bytes - p->bytes_out : sizeof bytes;
        const size_t size = 1 + draw(s, most);
        for (size_t k = 0; k < size; k++) {
            bytes[k] = (char)((p->bytes_out + k) % 251);
        }
        p->bytes_out += size;
        arcp__worker_core_output(s->core, p->job, arcp_span_make(bytes, size));
    } else if (p->written == p->items && p->bytes_out == p->bytes && has_replies(p, i) &&
               !p->is_killed) {
        exit_program(s, p);
    }
}

static void take_at_worker(simulation *s)
{
    static arcp__worker_reader reader;
    reader = (arcp__worker_reader){.line_bytes_max = 1000};
    for (frame *in = NULL; s->link_is_up && (in = arrived(s, &s->down)) != NULL; free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_RUNTIME,
                                                       arcp_buf_span(&in->bytes), &message, &err);
        if (status == ARCP_OK) {
            status = arcp__worker_core_receive(s->core, s->now_ns, &message, &err);
        }
        if (status != ARCP_OK && s->problem == NULL) {
            static char problem[300];
            (void)snprintf(problem, sizeof problem, "the worker closes the link: %s", err.message);
            s->problem = problem;
        }
        arcp_buf_fini(&in->bytes);
    }
    arcp__worker_reader_fini(&reader);
}

static void run_worker(simulation *s)
{
    arcp__worker_message message;
    take_at_worker(s);
    for (size_t i = 0; i < JOBS; i++) {
        run_program(s, i);
    }
    if (s->now_ns - s->ticked_ns >= ARCP__WORKER_TICK_NS) {
        s->ticked_ns = s->now_ns;
        if (!arcp__worker_core_tick(s->core, s->now_ns)) {
            cut(s);
            s->worker_notices_ns = s->now_ns;
        }
    }
    if (s->link_is_up && s->is_cut && s->now_ns >= s->worker_notices_ns) {
        s->link_is_up = false;
        arcp__worker_core_disconnected(s->core, s->now_ns);
        s->connects_ns =
            s->now_ns + (int64_t)draw(s, draw(s, 12) == 0 ? 40000 : 2000) * ARCP_NS_PER_MS;
    }
    if (!s->link_is_up && s->is_up && s->now_ns >= s->connects_ns) {
        drop(&s->up);
        drop(&s->down);
        s->is_cut = false;
        s->link_is_up = s->sees_link = true;
        s->has_greeted = false;
        arcp__worker_core_connected(s->core, s->now_ns);
    }
    for (unsigned room = (unsigned)draw(s, 6); s->link_is_up && room != 0; room--) {
        if (!arcp__worker_core_next(s->core, s->now_ns, &message)) {
            break;
        }
        post(s, &s->up, &message);
    }
    expect(s, !arcp__worker_core_has_failed(s->core), "the worker has failed");
}

/* ---- a run ---- */

static bool is_over(const simulation *s)
{
    for (size_t i = 0; i < JOBS; i++) {
        if (!s->disk.rows[i].has_ended || s->programs[i].job != NULL) {
            return false;
        }
    }
    return true;
}

static void check_end(simulation *s)
{
    for (size_t i = 0; i < JOBS; i++) {
        const program *p = &s->programs[i];
        const stored_job *row = &s->disk.rows[i];
        if (s->is_restored[i] || row->is_lost) {
            continue;
        }
        for (uint64_t n = 1; n <= p->items; n++) {
            const item_kind kind = kind_of(i, n);
            expect(s, row->effects[n] == (kind != KIND_AUTHORIZE), "an item has no effect");
            expect(s, p->replies[n] == (kind != KIND_EVENT), "an item has no reply");
        }
        expect(s, row->bytes == p->bytes, "output is missing");
    }
    expect(s, arcp__worker_core_figures(s->core).unkept_bytes == 0, "the worker keeps something");
}

/* Returns NULL, or what is wrong. */
static const char *run(uint64_t seed, fault_kind fault, int *step_number)
{
    static simulation s;
    const arcp__worker_hello hello = {.v_low = 1,
                                      .v_high = 1,
                                      .version = ARCP_SPAN_LITERAL("1"),
                                      .name = ARCP_SPAN_LITERAL("w"),
                                      .instance = ARCP_SPAN_LITERAL("i"),
                                      .boot_id = ARCP_SPAN_LITERAL("b")};
    const arcp__worker_programs programs = {start,  write_line, kill_program, read_program,
                                            revoke, warm,       forget,       &s};
    memset(&s, 0, sizeof s);
    s.random = seed * 0x2545f4914f6cdd1du + 1;
    s.fault = fault;
    s.is_up = true;
    s.now_ns = s.gone_ns = 100 * ARCP_NS_PER_SEC;
    s.core = arcp__worker_core_new(&hello, &programs, s.now_ns);
    assert_non_null(s.core);
    for (size_t i = 0; i < JOBS; i++) {
        s.programs[i].items = draw(&s, ITEMS_MAX + 1);
        s.programs[i].bytes = i == 0 ? draw(&s, BYTES_MAX) : 0;
    }
    for (*step_number = 0; *step_number < STEPS_MAX && s.problem == NULL && !is_over(&s);
         ++*step_number) {
        const bool is_calm = *step_number > CALM_STEP;
        s.now_ns += (int64_t)(1 + draw(&s, 200)) * ARCP_NS_PER_MS;
        run_worker(&s);
        run_runtime(&s);
        if (!is_calm && draw(&s, 60) == 0) {
            cut(&s);
        }
        if (!is_calm && s.is_up && draw(&s, 150) == 0) {
            crash(&s);
        }
    }
    if (s.problem == NULL) {
        expect(&s, is_over(&s), "the jobs do not end");
    }
    if (s.problem == NULL) {
        check_end(&s);
    }
    drop(&s.up);
    drop(&s.down);
    arcp__worker_core_free(s.core);
    return s.problem;
}

static void each_item_has_its_effect_once_over_every_link(void **state)
{
    (void)state;
    const char *one = getenv("ARCP_WORKER_SEED");
    const char *many = getenv("ARCP_WORKER_SEEDS");
    const uint64_t first = one == NULL ? 0 : strtoull(one, NULL, 10);
    const uint64_t end = one != NULL ? first + 1 : many != NULL ? strtoull(many, NULL, 10) : SEEDS;
    for (uint64_t seed = first; seed < end; seed += test_stride()) {
        int at = 0;
        const char *problem = run(seed, FAULT_NONE, &at);
        if (problem != NULL) {
            fail_msg("ARCP_WORKER_SEED=%" PRIu64 ", step %d: %s", seed, at, problem);
        }
    }
}

typedef struct fault_row {
    const char *name;
    fault_kind fault;
} fault_row;

static const fault_row faults[] = {
    {"a runtime that does not look at stored makes a seed fail", FAULT_NO_STORED},
    {"a runtime that keeps nothing open makes a seed fail", FAULT_NO_OPEN},
    {"a runtime that gives jobs up without a margin makes a seed fail", FAULT_NO_MARGIN},
    {"a runtime that acts on an item again makes a seed fail", FAULT_NO_ITEM},
    {"a runtime that keeps what is not durable makes a seed fail", FAULT_EARLY_KEPT},
    {"a runtime that keeps what it has not answered on this link makes a seed fail",
     FAULT_NOT_HERE},
};

static void a_fault_of_the_runtime_makes_a_seed_fail(void **state)
{
    const fault_row *row = *state;
    int at = 0;
    uint64_t seed = 0;
    while (seed < SEEDS && run(seed, row->fault, &at) == NULL) {
        seed++;
    }
    assert_true(seed < SEEDS);
    print_message("seed %" PRIu64 " finds it\n", seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_has_its_effect_once_over_every_link),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_rows(faults, sizeof faults / sizeof faults[0], sizeof faults[0],
                             a_fault_of_the_runtime_makes_a_seed_fail);
}
