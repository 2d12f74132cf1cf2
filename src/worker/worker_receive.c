/* What the runtime sends to a worker. */
#include <string.h>

#include "worker/worker_state.h"

static arcp__worker_job *find_job(const arcp__worker_core *core, arcp_span id)
{
    arcp__worker_job *job = NULL;
    HASH_FIND(hh, core->jobs, id.data, id.size, job);
    return job;
}

/* An id is a C string here; one with a NUL would be another one. */
static bool is_id(arcp_span id)
{
    return id.size <= ARCP__WORKER_ID_MAX && memchr(id.data, '\0', id.size) == NULL;
}

static arcp_status refuse_link(arcp_error *err, const arcp__worker_message *message,
                               const char *why)
{
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s: %s",
                          arcp__worker_kind_name(message->kind), why);
}

static arcp__worker_store *get_store(arcp__worker_core *core, arcp_span id)
{
    arcp__worker_store *found = core->stores;
    while (found != NULL && !arcp_span_equal_cstr(id, found->id)) {
        found = found->next;
    }
    if (found == NULL) {
        found = arcp__alloc(sizeof *found);
        if (found == NULL) {
            arcp__worker_fail(core);
            return NULL;
        }
        memcpy(found->id, id.data, id.size);
        DL_APPEND(core->stores, found);
    }
    return found;
}

/* Begins to send what a job has, from the first that is kept. */
static void go_on(arcp__worker_core *core, arcp__worker_job *job)
{
    for (size_t i = 0; i < 3; i++) {
        arcp__worker_stream_rewind(&job->streams[i]);
    }
    job->due.started =
        job->state == ARCP__WORKER_JOB_RUNNING || job->state == ARCP__WORKER_JOB_EXITED;
    job->due.exited = job->state == ARCP__WORKER_JOB_EXITED;
    job->due.got = false; /* hello has it */
    arcp__worker_let_speak(core, job);
    arcp__worker_update_reading(core, job);
}

/* What one row of welcome says. */
static arcp_status resume_job(arcp__worker_core *core, const arcp__worker_message *message,
                              const arcp__worker_resume_row *row, arcp_error *err)
{
    arcp__worker_job *job = find_job(core, row->job);
    if (job == NULL || job->store != core->store || !job->is_awaited) {
        return refuse_link(err, message, "it names a job that hello did not, or twice");
    }
    job->is_awaited = false;
    switch (row->what) {
    case ARCP__WORKER_GO_ON:
        go_on(core, job);
        break;
    case ARCP__WORKER_END:
        go_on(core, job);
        arcp__worker_kill_job(core, job, ARCP__WORKER_END_KILLED, true);
        break;
    case ARCP__WORKER_FORGET_JOB:
        arcp__worker_forget_job(core, job);
        break;
    case ARCP__WORKER_RESUMPTIONS:
        break;
    }
    return ARCP_OK;
}

static arcp_status take_welcome(arcp__worker_core *core, int64_t now_ns,
                                const arcp__worker_message *message, arcp_error *err)
{
    const arcp__worker_welcome *welcome = &message->welcome;
    arcp__worker_reader reader = {.line_bytes_max = 0};
    arcp_status status = ARCP_OK;
    if (core->link != ARCP__WORKER_LINK_GREETING || core->hello_is_due) {
        return refuse_link(err, message, "there was no hello before it");
    }
    if (welcome->v < core->hello.v_low || welcome->v > core->hello.v_high ||
        !is_id(welcome->store) || welcome->keep_ms > (uint64_t)INT64_MAX / ARCP_NS_PER_MS) {
        return refuse_link(err, message, "v, store or keep_ms is out of range");
    }
    arcp__worker_store *ours = get_store(core, welcome->store);
    if (ours == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    core->link = ARCP__WORKER_LINK_READY;
    core->store = ours;
    ours->keep_ns = (int64_t)welcome->keep_ms * ARCP_NS_PER_MS;
    core->unkept_bytes_max = welcome->unkept_bytes;
    core->unkept_total_max = welcome->unkept_total_bytes;
    arcp__worker_note_contact(core, core->last_ping);
    for (arcp_span rest = message->body; rest.size != 0 && status == ARCP_OK;) {
        arcp__worker_resume_row row;
        status = arcp__worker_resume_row_read(&reader, &rest, &row, err);
        status = status == ARCP_OK ? resume_job(core, message, &row, err) : status;
    }
    arcp__worker_reader_fini(&reader);
    for (const arcp__worker_job *job = core->jobs; job != NULL && status == ARCP_OK;
         job = job->hh.next) {
        if (job->store == ours && job->is_awaited) {
            status = refuse_link(err, message, "it does not name a job that hello did");
        }
    }
    core->is_full = core->unkept_bytes >= core->unkept_total_max;
    arcp__worker_update_all_reading(core);
    return status;
}

static int64_t deadline_of(const arcp__worker_start *start, int64_t now_ns)
{
    return start->deadline_ms == 0 ||
                   start->deadline_ms > (uint64_t)(INT64_MAX - now_ns) / ARCP_NS_PER_MS
               ? ARCP_TIME_NEVER
               : now_ns + (int64_t)start->deadline_ms * ARCP_NS_PER_MS;
}

/* NULL when out of memory. */
static arcp__worker_job *new_job(arcp__worker_core *core, arcp_span id, int64_t deadline_ns)
{
    arcp__worker_job *job = arcp__alloc(sizeof *job);
    if (job != NULL) {
        memcpy(job->id, id.data, id.size);
        job->store = core->store;
        job->reads = true;
        job->deadline_ns = deadline_ns;
        for (size_t i = 0; i < 3; i++) {
            arcp__worker_stream_init(&job->streams[i], i == ARCP__WORKER_STREAM_OUTPUT);
        }
        HASH_ADD_STR(core->jobs, id, job);
        if (!ARCP__HASH_ADDED(job)) {
            arcp__free(job);
            job = NULL;
        }
    }
    return job;
}

static uint64_t jobs_max(const arcp__worker_core *core)
{
    const uint64_t capacity = core->hello.capacity; /* 0: no limit */
    return capacity == 0 || capacity > ARCP__WORKER_JOBS_MAX / ARCP__WORKER_LENT_MAX
               ? ARCP__WORKER_JOBS_MAX
               : capacity * ARCP__WORKER_LENT_MAX;
}

static arcp_status take_start(arcp__worker_core *core, int64_t now_ns,
                              const arcp__worker_message *message, arcp_error *err)
{
    const arcp__worker_start *start = &message->start;
    char why[256] = "";
    if (!is_id(start->job) || find_job(core, start->job) != NULL) {
        return refuse_link(err, message, "the worker has this job, or that is no id of a job");
    }
    arcp__worker_job *job = new_job(core, start->job, deadline_of(start, now_ns));
    if (job == NULL) {
        arcp__worker_fail(core);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (core->is_draining || HASH_COUNT(core->jobs) > jobs_max(core)) {
        arcp__worker_refuse_job(core, job, ARCP__WORKER_BUSY, arcp_span_make(NULL, 0));
        return ARCP_OK;
    }
    job->program = core->programs.start(core->programs.user, job, message, why);
    if (job->program == NULL) {
        arcp__worker_refuse_job(core, job, ARCP__WORKER_CANNOT_START, arcp_span_cstr(why));
    } else {
        arcp__worker_update_reading(core, job);
    }
    return ARCP_OK;
}

/* Whether a line still has to be written; notes that it is. */
static bool is_new(arcp__worker_core *core, arcp__worker_job *job, const arcp__worker_line *line)
{
    if (line->at != 0) {
        if (line->at <= job->at) {
            return false;
        }
        job->at = line->at;
        job->due.got = true;
        arcp__worker_let_speak(core, job);
        return true;
    }
    if (line->answers_to == 0) {
        return true;
    }
    if (!arcp__worker_stream_has(&job->streams[ARCP__WORKER_STREAM_ITEMS], line->answers_to)) {
        return false; /* it has been answered before it was kept */
    }
    bool is_first = false;
    if (!arcp__worker_answers_add(&job->answers, line->answers_to, &is_first)) {
        arcp__worker_fail(core);
    }
    return is_first;
}

static arcp_status take_line(arcp__worker_core *core, arcp__worker_job *job,
                             const arcp__worker_message *message, arcp_error *err)
{
    if (is_new(core, job, &message->line) &&
        (job->state == ARCP__WORKER_JOB_STARTING || job->state == ARCP__WORKER_JOB_RUNNING)) {
        core->programs.write(core->programs.user, job->program, message->body);
    }
    return ARCP_OK;
}

static arcp_status take_kept(arcp__worker_core *core, arcp__worker_job *job,
                             const arcp__worker_message *message, arcp_error *err)
{
    const arcp__worker_kept *kept = &message->kept;
    arcp__worker_stream *streams = job->streams;
    if (kept->items >= streams[ARCP__WORKER_STREAM_ITEMS].next ||
        kept->bytes > streams[ARCP__WORKER_STREAM_OUTPUT].next ||
        kept->errors >= streams[ARCP__WORKER_STREAM_ERRORS].next ||
        kept->stored >= streams[ARCP__WORKER_STREAM_ITEMS].next || kept->stored < job->stored) {
        return refuse_link(err, message, "there is no such number, or it goes back");
    }
    const size_t before = arcp__worker_kept_bytes(job);
    job->stored = kept->stored;
    if (!arcp__worker_stream_forget(&streams[ARCP__WORKER_STREAM_ITEMS], kept->items + 1,
                                    kept->open, kept->open_count) ||
        !arcp__worker_stream_forget(&streams[ARCP__WORKER_STREAM_OUTPUT], kept->bytes, NULL, 0) ||
        !arcp__worker_stream_forget(&streams[ARCP__WORKER_STREAM_ERRORS], kept->errors + 1, NULL,
                                    0)) {
        arcp__worker_fail(core);
    }
    arcp__worker_answers_forget(&job->answers, kept->items);
    arcp__worker_streams_changed(core, job, before);
    return ARCP_OK;
}

/* ---- by kind ---- */

static arcp_status take_ping(arcp__worker_core *core, int64_t now_ns,
                             const arcp__worker_message *message, arcp_error *err)
{
    core->pong = message->ping.number;
    return ARCP_OK;
}

static arcp_status take_pong(arcp__worker_core *core, int64_t now_ns,
                             const arcp__worker_message *message, arcp_error *err)
{
    if (message->pong.number > core->last_ping) {
        return refuse_link(err, message, "there was no such ping");
    }
    if (core->last_ping - message->pong.number < ARCP__WORKER_PINGS) {
        arcp__worker_note_contact(core, message->pong.number);
    }
    return ARCP_OK;
}

static arcp_status take_drain(arcp__worker_core *core, int64_t now_ns,
                              const arcp__worker_message *message, arcp_error *err)
{
    arcp__worker_begin_drain(core, now_ns);
    return ARCP_OK;
}

static arcp_status take_bye(arcp__worker_core *core, int64_t now_ns,
                            const arcp__worker_message *message, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CLOSED, "it stops, and jobs go on");
}

static arcp_status take_warm(arcp__worker_core *core, int64_t now_ns,
                             const arcp__worker_message *message, arcp_error *err)
{
    if (core->programs.warm == NULL) {
        return refuse_link(err, message, "the worker has agents of its own, and takes no others");
    }
    core->programs.warm(core->programs.user, message->body);
    return ARCP_OK;
}

static arcp_status take_kill(arcp__worker_core *core, arcp__worker_job *job,
                             const arcp__worker_message *message, arcp_error *err)
{
    arcp__worker_kill_job(core, job, ARCP__WORKER_END_KILLED, message->kill.at_once);
    return ARCP_OK;
}

static arcp_status take_pause(arcp__worker_core *core, arcp__worker_job *job,
                              const arcp__worker_message *message, arcp_error *err)
{
    job->is_paused = message->kind == ARCP__WORKER_PAUSE;
    arcp__worker_update_reading(core, job);
    return ARCP_OK;
}

static arcp_status take_revoke(arcp__worker_core *core, arcp__worker_job *job,
                               const arcp__worker_message *message, arcp_error *err)
{
    if (job->state != ARCP__WORKER_JOB_EXITED) {
        core->programs.revoke(core->programs.user, job->program, message->revoke.code);
    }
    return ARCP_OK;
}

static arcp_status take_forget(arcp__worker_core *core, arcp__worker_job *job,
                               const arcp__worker_message *message, arcp_error *err)
{
    arcp__worker_forget_job(core, job);
    return ARCP_OK;
}

/* What the runtime sends: about the worker, or about one of its jobs. */
static const struct {
    arcp_status (*take)(arcp__worker_core *core, int64_t now_ns,
                        const arcp__worker_message *message, arcp_error *err);
    arcp_status (*take_of_job)(arcp__worker_core *core, arcp__worker_job *job,
                               const arcp__worker_message *message, arcp_error *err);
} kinds[ARCP__WORKER_KINDS] = {
    [ARCP__WORKER_WELCOME] = {.take = take_welcome},
    [ARCP__WORKER_START] = {.take = take_start},
    [ARCP__WORKER_LINE] = {.take_of_job = take_line},
    [ARCP__WORKER_KEPT] = {.take_of_job = take_kept},
    [ARCP__WORKER_KILL] = {.take_of_job = take_kill},
    [ARCP__WORKER_PAUSE] = {.take_of_job = take_pause},
    [ARCP__WORKER_RESUME] = {.take_of_job = take_pause},
    [ARCP__WORKER_REVOKE] = {.take_of_job = take_revoke},
    [ARCP__WORKER_FORGET] = {.take_of_job = take_forget},
    [ARCP__WORKER_WARM] = {.take = take_warm},
    [ARCP__WORKER_DRAIN] = {.take = take_drain},
    [ARCP__WORKER_BYE] = {.take = take_bye},
    [ARCP__WORKER_PING] = {.take = take_ping},
    [ARCP__WORKER_PONG] = {.take = take_pong},
};

arcp_status arcp__worker_core_receive(arcp__worker_core *core, int64_t now_ns,
                                      const arcp__worker_message *message, arcp_error *err)
{
    arcp__worker_end_message(core);
    core->heard_ns = now_ns;
    if (core->link != ARCP__WORKER_LINK_READY && message->kind != ARCP__WORKER_WELCOME) {
        return refuse_link(err, message, "it came before welcome");
    }
    if (kinds[message->kind].take != NULL) {
        return kinds[message->kind].take(core, now_ns, message, err);
    }
    /* One that the worker does not have was refused, or is forgotten. */
    arcp__worker_job *job = find_job(core, message->forget.job); /* all of these begin with it */
    if (job == NULL || job->is_forgotten || job->state == ARCP__WORKER_JOB_REFUSED) {
        return ARCP_OK;
    }
    return job->store == core->store
               ? kinds[message->kind].take_of_job(core, job, message, err)
               : refuse_link(err, message, "it is about a job of another store");
}
