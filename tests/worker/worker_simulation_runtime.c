/* The model of the runtime: its store, what it acts on and lets the worker forget, and its crashes.
 */
#include "worker/worker_simulation.h"

const char *const simulation_job_ids[JOBS] = {"job_0", "job_1", "job_2", "job_3"};

size_t simulation_index_of(arcp_span job)
{
    size_t i = 0;
    while (i < JOBS && !arcp_span_equal_cstr(job, simulation_job_ids[i])) {
        i++;
    }
    return i;
}

static void post(simulation *s, const arcp__worker_message *message)
{
    link_post(&s->link, &s->link.down, &s->chance, s->now_ns, message);
}

static void send_line(simulation *s, size_t i, uint64_t at, uint64_t answers_to)
{
    arcp__worker_message message = {
        .kind = ARCP__WORKER_LINE,
        .line = {arcp_span_cstr(simulation_job_ids[i]), at, answers_to},
        .body = ARCP_SPAN_LITERAL("{}"),
    };
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, answers_to);
    message.body = arcp_span_cstr(text);
    post(s, &message);
}

static void send_start(simulation *s, size_t i)
{
    const arcp__worker_message message = {
        .kind = ARCP__WORKER_START,
        .start = {.job = arcp_span_cstr(simulation_job_ids[i]), .agent = ARCP_SPAN_LITERAL("a")},
        .body = ARCP_SPAN_LITERAL("{\"type\":\"job.start\"}")};
    post(s, &message);
}

static void send_of_job(simulation *s, size_t i, arcp__worker_kind kind)
{
    const arcp__worker_message message = {.kind = kind,
                                          .forget = {arcp_span_cstr(simulation_job_ids[i])}};
    post(s, &message);
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
                                    .kept = {.job = arcp_span_cstr(simulation_job_ids[i]),
                                             .items = items < here ? items : here,
                                             .bytes = shown->bytes,
                                             .open = open,
                                             .stored = disk->item}};
    for (uint64_t n = 1; n <= ITEMS_MAX && s->fault != FAULT_NO_OPEN; n++) {
        if ((now->open[n] || disk->open[n]) && n <= message.kept.items) {
            open[message.kept.open_count++] = n;
        }
    }
    post(s, &message);
}

static void commit(simulation *s)
{
    if (s->is_flying && s->now_ns >= s->flown_ns) {
        s->is_flying = false;
        s->backup = simulation_draw(s, 20) == 0 ? s->disk : s->backup;
        s->disk = s->flying;
        for (size_t i = 0; i < JOBS; i++) {
            show_job(s, i);
        }
    }
    if (!s->is_flying && memcmp(&s->now, &s->disk, sizeof s->now) != 0) {
        s->is_flying = true;
        s->flying = s->now;
        s->flown_ns = s->now_ns + chance_draw_ns(&s->chance, 300);
    }
}

static void act(simulation *s, size_t i, uint64_t item, bool is_in_order)
{
    stored_job *row = &s->now.rows[i];
    row->effects[item]++;
    simulation_expect(s, row->effects[item] == 1, "an item has its effect twice");
    if (is_in_order) {
        simulation_expect(s, item > row->last_effect, "items have their effects out of order");
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
    const item_kind kind = simulation_kind_of(i, item);
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
        const uint64_t item = 1 + simulation_draw(s, ITEMS_MAX);
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
    const size_t i = simulation_index_of(said->job);
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
        is_named[simulation_index_of(said.job)] = true;
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
    post(s, &welcome);
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
        simulation_expect(s, (unsigned char)bytes.data[k] == at % 251,
                          "a byte of output is another one");
        simulation_expect(s, at <= row->bytes, "bytes of output are missing");
        row->bytes += at == row->bytes;
    }
}

static void take_at_runtime(simulation *s, const arcp__worker_message *message)
{
    arcp__worker_message pong = {.kind = ARCP__WORKER_PONG, .pong = {message->ping.number}};
    const size_t i = message->kind == ARCP__WORKER_HELLO || message->kind == ARCP__WORKER_PING ||
                             message->kind == ARCP__WORKER_PONG
                         ? JOBS
                         : simulation_index_of(message->items.job);
    if (message->kind == ARCP__WORKER_HELLO) {
        take_hello(s, message);
    } else if (message->kind == ARCP__WORKER_PING) {
        post(s, &pong);
    }
    if (i == JOBS || s->now.rows[i].has_ended) {
        return;
    }
    if (message->kind == ARCP__WORKER_ITEMS) {
        for (uint64_t n = 0; n < message->items.count; n++) {
            const uint64_t item = message->items.first + n;
            simulation_expect(s, item <= s->seen[i] + 1, "an item is missing");
            take_item(s, i, item);
        }
        show_job(s, i);
    } else if (message->kind == ARCP__WORKER_OUTPUT) {
        take_output(s, i, message->output.first, message->body);
    } else if (message->kind == ARCP__WORKER_EXITED) {
        simulation_expect(
            s, s->seen[i] == message->exited.items && s->now.rows[i].bytes == message->exited.bytes,
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
            simulation_expect(s, !s->programs[i].runs, "a job is given up while its program lives");
            end_job(s, i, true);
        }
    }
}

void simulation_cut(simulation *s)
{
    if (s->link.is_up || s->sees_link) {
        link_cut(&s->link, &s->chance, s->now_ns);
    }
}

void simulation_crash(simulation *s)
{
    s->is_up = s->sees_link = s->has_greeted = s->is_flying = false;
    s->up_ns = s->now_ns + chance_draw_ns(&s->chance, simulation_draw(s, 8) == 0 ? 25000 : 3000);
    if (simulation_draw(s, 4) == 0) {
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
    simulation_cut(s);
    s->link.is_cut = true;
}

static void take_messages(simulation *s)
{
    arcp__worker_reader reader = {.line_bytes_max = 1000};
    for (frame *in = NULL; s->sees_link && (in = link_arrived(&s->link.up, s->now_ns)) != NULL;
         frame_free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        if (arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER, arcp_buf_span(&in->bytes),
                                      &message, &err) == ARCP_OK) {
            take_at_runtime(s, &message);
        } else {
            simulation_expect(s, false, "the runtime cannot read a message");
        }
    }
    arcp__worker_reader_fini(&reader);
}

void simulation_run_runtime(simulation *s)
{
    if (!s->is_up) {
        if (s->now_ns >= s->up_ns) {
            s->is_up = true;
            s->gone_ns = s->now_ns;
        }
        return;
    }
    take_messages(s);
    if (s->sees_link && s->link.is_cut && s->now_ns >= s->link.runtime_notices_ns) {
        s->sees_link = s->has_greeted = false;
        s->gone_ns = s->now_ns;
    }
    finish_pending(s);
    commit(s);
    give_up(s);
    const size_t i = simulation_draw(s, JOBS);
    if (s->has_greeted && !s->now.rows[i].is_placed && simulation_draw(s, 4) == 0) {
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
