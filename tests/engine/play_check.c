/* What must hold after every step of a play, and at its end. */
#include "engine/play.h"

#include "support/check.h"

#include "engine/state.h"
#include "job/job_state.h"

/* An open link has at most as much as the engine hands out before the transport has sent it (64 KiB
 * of records, and responses up to a megabyte before the link is paused), plus the responses to one
 * more frame and one more record. */
#define UNSENT_BYTES_MAX (65536u + 1048576u + 65536u)

/* A job.error that the runtime made itself. */
#define END_BYTES_MAX 1024u

/* ---- nothing is sent that is not written ---- */

static arcp_span id_after(arcp_span text, const char *mark)
{
    const char *found = memmem(text.data, text.size, mark, strlen(mark));
    if (found == NULL) {
        return arcp_span_make(NULL, 0);
    }
    const char *start = found + strlen(mark);
    const char *end = memchr(start, '"', text.size - (size_t)(start - text.data));
    return arcp_span_make(start, (size_t)(end - start));
}

static bool has(arcp_span text, const char *part)
{
    return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

static void check_durable(play *p, arcp_span frame)
{
    const arcp_span head = arcp_span_first(frame, 400);
    const disk_known *session = disk_find(&p->disk, id_after(head, "\"session_id\":\""));
    const arcp_span seq = id_after(head, "\"event_seq\"");
    if (seq.data != NULL && (session == NULL || session->tip < strtoull(seq.data + 1, NULL, 10))) {
        watch_fail(&p->watch, "its event_seq is not written yet", frame.data);
    }
    if (has(head, "\"type\":\"session.welcome\"") && (session == NULL || !session->has_row)) {
        watch_fail(&p->watch, "the session is not written yet", frame.data);
    }
    const bool ends = has(head, "\"type\":\"job.result\"") ||
                      (has(head, "\"type\":\"job.error\"") && !has(frame, "\"request_id\""));
    if (ends || has(head, "\"type\":\"job.accepted\"")) {
        const disk_known *job = disk_find(&p->disk, id_after(head, "\"job_id\":\""));
        if (job == NULL || !job->has_row || (ends && !job->has_end)) {
            watch_fail(&p->watch, "the job is not written like that yet", frame.data);
        }
    }
}

/* ---- memory stays bounded ---- */

static void check_unsent(play *p, const arcp__effect *effect)
{
    const size_t unsent = ((const rig_client *)effect->link_user)->unsent + effect->text.size;
    if (unsent > p->unsent_max) {
        p->unsent_max = unsent;
    }
    if (unsent > UNSENT_BYTES_MAX + effect->text.size) {
        watch_fail(&p->watch, "too much is waiting for a slow peer", "");
    }
}

static void note_memory(play *p)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(p->rig.engine, &stats);
    p->tail_max = stats.tail_bytes > p->tail_max ? stats.tail_bytes : p->tail_max;
    p->queue_max = stats.store_queue_bytes > p->queue_max ? stats.store_queue_bytes : p->queue_max;
    /* Agents are not read at the limit, or when their owner has too many unread events; each may
     * have one burst in transit. */
    const uint64_t limit = p->rig.settings.limits_store_queue_bytes;
    if (stats.store_queue_bytes > 2 * limit + 4194304) {
        watch_fail(&p->watch, "too much is waiting for the store", "");
    }
    /* Records that are not written are in memory, and of the others at most the newest 64 MiB. */
    if (stats.tail_bytes > stats.store_queue_bytes * 2 + 67108864) {
        watch_fail(&p->watch, "too much is kept of the streams", "");
    }
}

void play_check_sent(play *p, const arcp__effect *effect)
{
    check_durable(p, effect->text);
    check_unsent(p, effect);
}

/* ---- counts are right ---- */

/* For one principal, or for all. */
typedef struct tally {
    size_t evicted_count, key_count;
    uint64_t evicted_bytes, key_bytes, stored_bytes;
    uint64_t running_bytes; /* of these, the bytes of jobs that cannot be removed */
    uint64_t kept[ARCP__KEPT_COUNT];
} tally;

static tally count_all(const arcp__engine *engine, const arcp__principal *principal)
{
    tally sum = {0};
    for (const arcp__job *job = engine->jobs.all; job != NULL; job = job->hh.next) {
        const uint64_t accepted = strlen(job->accepted) + arcp_span_cstr(job->facts.start).size;
        const uint64_t bytes = job->stream->bytes + accepted;
        if (principal != NULL && job->principal != principal) {
            continue;
        }
        sum.stored_bytes += job->stream->bytes;
        sum.running_bytes += arcp__job_has_ended(job) ? 0 : job->stream->bytes;
        sum.evicted_count += job->is_evicted ? 1 : 0;
        sum.evicted_bytes += job->is_evicted ? bytes : 0;
        sum.kept[ARCP__KEPT_JOBS] += job->is_terminal ? 1 : 0;
        sum.kept[ARCP__KEPT_BYTES] += job->bytes_counted ? bytes : 0;
        sum.kept[ARCP__KEPT_LEASES] += job->bytes_counted ? accepted : 0;
    }
    for (const arcp__idempotency *key = engine->jobs.oldest_key; key != NULL; key = key->newer) {
        if (principal == NULL || key->principal == principal) {
            sum.key_count++;
            sum.key_bytes += arcp__idempotency_accepted(key).size;
        }
    }
    return sum;
}

static bool is_counted(const tally *sum, size_t evicted_count, uint64_t evicted_bytes,
                       size_t key_count, uint64_t key_bytes)
{
    return sum->evicted_count == evicted_count && sum->evicted_bytes == evicted_bytes &&
           sum->key_count == key_count && sum->key_bytes == key_bytes;
}

/* The bytes of every kept job are counted, those of the newest possibly not. */
static bool are_bytes_counted(const arcp__engine *engine)
{
    for (const arcp__job *job = engine->jobs.ended; job != NULL; job = job->ended_next) {
        if (!job->bytes_counted && job->ended_next != NULL) {
            return false;
        }
    }
    return true;
}

static void check_kept(play *p)
{
    const arcp__engine *engine = p->rig.engine;
    tally sum = count_all(engine, NULL);
    bool is_right = are_bytes_counted(engine) &&
                    HASH_COUNT(engine->jobs.keys) == engine->jobs.key_count &&
                    is_counted(&sum, engine->jobs.evicted_count, engine->jobs.evicted_bytes,
                               engine->jobs.key_count, engine->jobs.key_bytes);
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        is_right = is_right && sum.kept[what] == engine->jobs.kept[what].total;
    }
    for (const arcp__principal *principal = engine->jobs.principals; principal != NULL;
         principal = principal->hh.next) {
        sum = count_all(engine, principal);
        is_right = is_right && sum.stored_bytes == principal->stored_bytes &&
                   is_counted(&sum, principal->evicted_count, principal->evicted_bytes,
                              principal->key_count, principal->key_bytes);
        if (sum.running_bytes > p->rig.settings.limits_principal_bytes) {
            watch_fail(&p->watch, "a principal's jobs have said too much", principal->name);
        }
        for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
            is_right =
                is_right && sum.kept[what] == arcp__share_of(&principal->parts[what]) &&
                (sum.kept[what] == 0 ||
                 sum.kept[what] <= arcp__share_of(arcp__share_most(&engine->jobs.kept[what])));
        }
    }
    if (!is_right) {
        watch_fail(&p->watch, "what is kept is counted wrongly", "");
    }
}

/* A record beyond the limit is not stored; the runtime's terminal record is, and it is short. */
static void check_job_bytes(play *p)
{
    const uint64_t limit = p->rig.settings.limits_job_bytes;
    for (const arcp__job *job = p->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        if (job->stream->bytes > limit + (arcp__job_has_ended(job) ? END_BYTES_MAX : 0)) {
            watch_fail(&p->watch, "a job has said too much", job->id);
        }
        p->overs += job->over_limit != NULL && arcp__job_has_ended(job) ? 1 : 0;
    }
}

/* ---- no client waits for another ---- */

/* When nothing is under way, every client that reads has everything that is written: slow and dead
 * peers delay no others. */
static void check_delivered(play *p)
{
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        const rig_client *client = play_client(p, i);
        if (client->link == NULL || client->slow || p->clients[i].session == WATCH_NONE) {
            continue;
        }
        const watch_session *session = &p->watch.sessions[p->clients[i].session];
        const disk_known *known = disk_find(&p->disk, arcp_span_cstr(session->id));
        if (known != NULL && known->tip != session->last_seq) {
            char what[96];
            (void)snprintf(what, sizeof what, "%llu messages are written, the client has %llu",
                           (unsigned long long)known->tip, (unsigned long long)session->last_seq);
            watch_fail(&p->watch, what, session->id);
        }
    }
}

/* An agent is paused because of the store, or of the session that its job runs on; never because of
 * an observer. */
static void check_paused(play *p)
{
    bool somebody_is_slow = false;
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        const rig_client *client = &p->rig.clients[i];
        somebody_is_slow = somebody_is_slow || (client->link != NULL && client->slow);
    }
    for (size_t i = 0; i < p->rig.agent_count && !somebody_is_slow; i++) {
        const rig_agent *agent = &p->rig.agents[i];
        if (agent->paused && !agent->forgotten) {
            watch_fail(&p->watch, "an agent is paused although no client is slow", agent->job_id);
        }
    }
}

void play_check_delivered(play *p)
{
    check_delivered(p);
    check_paused(p);
}

/* ---- after a step, and at the end ---- */

bool play_is_quiet(const play *p)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(p->rig.engine, &stats);
    return stats.store_queue_bytes == 0 && !p->disk.is_held && !p->disk.refuses &&
           !p->disk.refuses_submit && !p->rig.fail_store && !p->rig.is_stepping;
}

void play_check(play *p)
{
    note_memory(p);
    check_kept(p);
    check_job_bytes(p);
    play_queue_check(p);
    if (play_is_quiet(p)) {
        play_check_delivered(p);
    }
}

static void check_stopped(play *p)
{
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        const rig_agent *agent = &p->rig.agents[i];
        if (!agent->forgotten) {
            watch_fail(&p->watch, "an agent is left", agent->job_id);
        }
    }
    arcp__engine_stats stats;
    arcp__engine_get_stats(p->rig.engine, &stats);
    /* Queued jobs wait for the next start of a runtime that stops. */
    if (stats.jobs_running != (p->is_stopping ? stats.jobs_queued : 0)) {
        watch_fail(&p->watch, "a job runs without an agent", "");
    }
    if (p->is_stopping && !arcp__engine_is_finished(p->rig.engine)) {
        watch_fail(&p->watch, "the engine was stopped and does not end", "");
    }
}

/* A client that has ended its input got all frames. */
static void check_left(play *p)
{
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        if (p->is_over[i] && play_client(p, i)->link != NULL) {
            watch_fail(&p->watch, "a client that sends nothing more is not let go", p->slots[i]);
        }
    }
}

void play_check_stopped(play *p)
{
    check_stopped(p);
    check_left(p);
}
