/* A job's life: made by a submit or a delegation, started when that is durable, ended
 * exactly once (job_result.c), kept for listings and subscribers, then dropped. */
#include "engine/job_log.h"
#include "engine/parts.h"

#include <assert.h>

arcp__job *arcp__job_find(const arcp__engine *engine, arcp_span id)
{
    arcp__job *job = NULL;
    HASH_FIND(hh, engine->jobs, id.data, id.size, job);
    return job;
}

void arcp__job_note_head(arcp__job *job)
{
    const arcp_span pieces[] = {ARCP_SPAN_LITERAL(",\"trace_id\":\""),
                                arcp_span_cstr(job->trace_id),
                                ARCP_SPAN_LITERAL("\",\"job_id\":\""), arcp_span_cstr(job->id),
                                ARCP_SPAN_LITERAL("\",\"payload\":")};
    arcp__job_live *live = job->live;
    live->head_size = 0;
    for (size_t at = 0; at < sizeof(pieces) / sizeof(pieces[0]); at++) {
        assert(pieces[at].size <= sizeof(live->head) - live->head_size);
        memcpy(live->head + live->head_size, pieces[at].data, pieces[at].size);
        live->head_size += pieces[at].size;
    }
}

/* Takes the reference of `stream` and registers the job under its id. */
static bool add_to_tables(arcp__engine *engine, arcp__job *job)
{
    job->stream = arcp__stream_new(engine->log, "j:", arcp_span_cstr(job->id));
    if (job->stream == NULL) {
        return false;
    }
    HASH_ADD_KEYPTR(hh, engine->jobs, job->id, strlen(job->id), job);
    if (!ARCP__HASH_ADDED(job)) {
        arcp__stream_unref(engine->log, job->stream);
        return false;
    }
    if (!arcp__principal_add_job(job->principal, job)) {
        HASH_DEL(engine->jobs, job);
        arcp__stream_unref(engine->log, job->stream);
        return false;
    }
    job->stream->owner = job;
    return true;
}

static bool add_job(arcp__engine *engine, arcp__job *job)
{
    if (!add_to_tables(engine, job)) {
        return false;
    }
    job->principal->running_jobs++;
    engine->running_jobs++;
    return true;
}

static void live_free(arcp__job_live *live)
{
    if (live == NULL) {
        return;
    }
    arcp__free(live->tracestate);
    arcp__free(live->delegate_id);
    arcp__free(live->cwd);
    arcp__free(live->input);
    arcp__free(live->wait_reply);
    arcp__free(live->cancel_message);
    arcp__job_costs_free(live);
    arcp_buf_fini(&live->inline_result);
    arcp_buf_fini(&live->plain_output);
    arcp__job_port_fini(&live->port);
    arcp__id_set_fini(&live->delegate_ids);
    arcp_authority_unref(live->authority);
    arcp_lease_unref(live->lease);
    arcp__free(live);
}

static void release_memory(arcp__job *job)
{
    live_free(job->live);
    arcp__free(job->agent_text);
    arcp__free(job->accepted);
    arcp__free(job->owner_runs);
    arcp_budget_unref(job->budget);
    arcp__free(job);
}

static arcp__job *allocate(void)
{
    arcp__job *job = arcp__alloc(sizeof(*job));
    arcp__job_live *live = arcp__alloc(sizeof(*live));
    if (job == NULL || live == NULL) {
        arcp__free(job);
        arcp__free(live);
        return NULL;
    }
    job->live = live;
    return job;
}

arcp__job *arcp__job_new(arcp__engine *engine, arcp__principal *principal,
                         const arcp__admission *admission)
{
    arcp__job *job = allocate();
    if (job == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    job->principal = principal;
    if (admission != NULL) {
        memcpy(job->id, admission->job_id, sizeof(job->id));
        job->created_wall_ns = admission->created_wall_ns;
    } else {
        arcp__context_make_id(&engine->context, "job_", job->id);
        job->created_wall_ns =
            engine->context.now.wall_ns - engine->context.now.wall_ns % ARCP_NS_PER_MS;
    }
    job->pins = 1; /* the table's */
    if (!add_job(engine, job)) {
        release_memory(job);
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    return job;
}

arcp__job *arcp__job_add_restored(arcp__engine *engine, arcp__principal *principal, arcp_span id)
{
    arcp__job *job = id.size < sizeof(job->id) ? allocate() : NULL;
    if (job == NULL) {
        return NULL;
    }
    memcpy(job->id, id.data, id.size);
    job->principal = principal;
    job->pins = 1;
    job->agent_state = ARCP__AGENT_RELEASED;
    if (!add_job(engine, job)) {
        release_memory(job);
        return NULL;
    }
    return job;
}

arcp__audit_who arcp__job_who(const arcp__job *job)
{
    return (arcp__audit_who){.principal = job->principal->name,
                             .session_id = job->session_id,
                             .job_id = job->id,
                             .parent_job_id = job->parent_id,
                             .agent = job->agent_text,
                             .trace_id = job->trace_id};
}

void arcp__job_pin(arcp__job *job)
{
    job->pins++;
}

void arcp__job_unpin(arcp__job *job)
{
    if (--job->pins == 0) {
        release_memory(job);
    }
}

static void disarm_live(arcp__engine *engine, arcp__job_live *live)
{
    arcp__context_disarm(&engine->context, &live->runtime_timer);
    arcp__context_disarm(&engine->context, &live->expiry_timer);
    arcp__context_disarm(&engine->context, &live->grace_timer);
}

void arcp__job_release_live(arcp__engine *engine, arcp__job *job)
{
    if (job->live == NULL) {
        return;
    }
    if (job->principal != NULL) { /* else arcp__job_drop did */
        disarm_live(engine, job->live);
    }
    live_free(job->live);
    job->live = NULL;
}

void arcp__job_drop(arcp__engine *engine, arcp__job *job)
{
    arcp__job_keep_no_longer(engine, job);
    arcp__idempotency_take_back(engine, job);
    if (job->live != NULL) {
        arcp__credential_take_back(&engine->credentials, &job->live->credential);
        disarm_live(engine, job->live); /* its memory stays as long as somebody holds the job */
    }
    arcp__context_disarm(&engine->context, &job->keep_timer);
    while (job->observers != NULL) {
        job->observers->ops->dropped(engine, job->observers);
    }
    arcp__job_leave_parent(job);
    while (job->children != NULL) {
        arcp__job_leave_parent(job->children);
    }
    arcp__principal_drop_job(job->principal, job);
    job->principal->stored_bytes -= job->stream->bytes;
    if (!arcp__job_has_ended(job)) {
        job->principal->running_jobs--;
        engine->running_jobs--;
    }
    arcp__principal_maybe_free(engine, job->principal);
    job->principal = NULL;
    HASH_DEL(engine->jobs, job);
    job->stream->owner = NULL;
    arcp__stream_unref(engine->log, job->stream);
    job->stream = NULL;
    arcp__job_unpin(job);
}

void arcp__job_free(arcp__engine *engine, arcp__job *job)
{
    if (arcp__job_has_agent(job)) {
        arcp__job_unpin(job); /* the agent's pin */
    }
    arcp__job_drop(engine, job);
}

/* [arcp:6.6-6] [arcp:7.6-10] [arcp:7.6-11] [arcp:14-1] [arcp:14-2] */
bool arcp__job_is_visible_to(const arcp__engine *engine, const arcp__job *job,
                             const arcp__principal *principal)
{
    return job->principal == principal ||
           engine->context.settings.authorization_subscribe == ARCP_SUBSCRIBE_ANY;
}

static void write_part(const arcp__job *job, const char *name, arcp__piece part,
                       arcp_json_writer *writer)
{
    if (part.size != 0) {
        arcp_json_name(writer, name);
        arcp_json_write_raw(writer, arcp_span_make(job->accepted + part.at, part.size));
    }
}

void arcp__job_write_lease(const arcp__job *job, arcp_json_writer *writer)
{
    write_part(job, "lease", job->lease, writer);
    write_part(job, "lease_constraints", job->constraints, writer);
}

/* [arcp:7.6-7] */
void arcp__job_write_budget(const arcp__job *job, bool current, bool as_text,
                            arcp_json_writer *writer)
{
    const arcp_budget *budget = job->budget;
    if (budget == NULL) {
        return;
    }
    arcp_json_name(writer, "budget");
    arcp_json_begin_object(writer);
    for (size_t at = 0; at < arcp_budget_count(budget); at++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        arcp_span currency = arcp_budget_currency(budget, at);
        size_t size = arcp_decimal_format(
            current ? arcp_budget_remaining(budget, at) : arcp_budget_initial(budget, at), amount);
        arcp_json_name_span(writer, currency);
        if (as_text) {
            arcp_buf text = ARCP_BUF_INIT;
            arcp_buf_append(&text, currency);
            arcp_buf_append_byte(&text, ':');
            arcp_buf_append(&text, arcp_span_make(amount, size));
            writer->out->failed = writer->out->failed || text.failed;
            arcp_json_write_string(writer, arcp_buf_span(&text));
            arcp_buf_fini(&text);
        } else {
            arcp_json_write_raw(writer, arcp_span_make(amount, size));
        }
    }
    arcp_json_end_object(writer);
}

/* ---- start ---- */

/* [arcp:7.5-9] */
void arcp__job_start(arcp__engine *engine, arcp__job *job)
{
    arcp_buf line = arcp__context_take_buf(&engine->context);
    arcp__agent_format_start(engine, job, &line);
    arcp__free(job->live->input);
    job->live->input = NULL;
    arcp__effect_push(engine->log, &job->live->agent_port,
                      &(arcp__effect){.kind = ARCP__EFFECT_START_AGENT, .job = job}, &line, true);
    arcp__job_pin(job); /* the agent's, until FORGET_AGENT */
    engine->live_agents++;
    arcp__agent_enter(job, ARCP__AGENT_STARTING);
    if (job->live->max_runtime_sec != 0) {
        arcp__context_arm(&engine->context, &job->live->runtime_timer, ARCP__TIMER_JOB_RUNTIME, job,
                          arcp__context_after_sec(&engine->context, job->live->max_runtime_sec));
    }
    /* Also where expiry ends nothing: it is logged. */
    arcp__context_arm(&engine->context, &job->live->expiry_timer, ARCP__TIMER_JOB_EXPIRY, job,
                      arcp_authority_deadline_mono_ns(job->live->authority));
}

void arcp__job_agent_started(arcp__engine *engine, arcp__job *job, arcp_status status,
                             arcp_span message)
{
    if (job->agent_state != ARCP__AGENT_STARTING) {
        return; /* it was heard of before */
    }
    if (status != ARCP_OK) {
        arcp__agent_enter(job, ARCP__AGENT_GONE);
        arcp__job_fail(engine, job, ARCP_E_INTERNAL_ERROR, ARCP_SPAN_LITERAL("INTERNAL_ERROR"),
                       message, true, arcp_span_make(NULL, 0));
        arcp__job_forget_agent(engine, job);
        return;
    }
    arcp__agent_enter(job, ARCP__AGENT_RUNNING);
    if (!arcp__job_has_ended(job)) {
        arcp__job_enter(job, ARCP_JOB_RUNNING);
        arcp__job_emit_status(engine, job, "running", arcp_span_make(NULL, 0));
        arcp__job_log(engine, ARCP__LOG_INFO, job, "job started");
    }
    arcp__job_update_pressure(engine, job);
    if (arcp__log_is_failing(engine->log)) {
        arcp__jobs_release_stops(engine);
    }
}

/* The host may let go of the job; its pin goes when the effect was handed out. */
void arcp__job_forget_agent(arcp__engine *engine, arcp__job *job)
{
    engine->live_agents--;
    arcp__context_disarm(&engine->context, &job->live->grace_timer);
    /* Lines for it that still wait for their batch have no reader any more, and must not be
     * handed out after its owner let go of the job. */
    arcp__port_drop(engine->log, &job->live->agent_port);
    arcp__job_agent_over(engine, job);
}

/* ---- observers ---- */

void arcp__job_observe(arcp__job *job, arcp__observer *observer)
{
    observer->job = job;
    DL_PREPEND2(job->observers, observer, previous, next);
}

void arcp__job_adopt(arcp__job *job, arcp__submitter *submitter, arcp__observer *observer)
{
    submitter->live_jobs += arcp__job_has_ended(job) ? 0 : 1;
    job->submitter = submitter;
    job->owner = observer;
}

void arcp__job_unobserve(arcp__engine *engine, arcp__observer *observer)
{
    arcp__job *job = observer->job;
    DL_DELETE2(job->observers, observer, previous, next);
    if (job->owner == observer) {
        job->submitter->live_jobs -= arcp__job_has_ended(job) ? 0 : 1;
        job->submitter = NULL;
        job->owner = NULL;
        arcp__job_hold(engine, job, false);
    }
}

/* ---- the owning session's numbers ---- */

void arcp__job_note_owner_run(arcp__engine *engine, arcp__job *job, uint64_t job_first_seq,
                              uint64_t seq, uint64_t position, uint64_t count)
{
    if (job->last_seq == 0) {
        job->first_seq = job_first_seq;
    }
    if (job->owner_run_count != 0) {
        arcp__owner_run *last = &job->owner_runs[job->owner_run_count - 1];
        if (last->first_seq + last->count == seq &&
            last->first_position + last->count == position) {
            last->count += count;
            return;
        }
    }
    if (job->owner_run_count == job->owner_run_capacity) {
        size_t capacity = job->owner_run_capacity == 0 ? 1 : job->owner_run_capacity * 2;
        arcp__owner_run *runs = arcp__realloc_array(job->owner_runs, capacity, sizeof(*runs));
        if (runs == NULL) {
            arcp__context_no_memory(&engine->context);
            return;
        }
        job->owner_runs = runs;
        job->owner_run_capacity = capacity;
    }
    job->owner_runs[job->owner_run_count++] = (arcp__owner_run){seq, position, count};
}

/* The first position whose number in the owning session is above `owner_seq`. */
uint64_t arcp__job_position_after(const arcp__job *job, uint64_t owner_seq)
{
    if (owner_seq == 0 || job->owner_run_count == 0 || owner_seq < job->owner_runs[0].first_seq) {
        return 0; /* rather more than less */
    }
    for (size_t at = 0; at < job->owner_run_count; at++) {
        const arcp__owner_run *run = &job->owner_runs[at];
        if (owner_seq < run->first_seq) {
            return run->first_position;
        }
        if (owner_seq < run->first_seq + run->count - 1) {
            return run->first_position + (owner_seq - run->first_seq) + 1;
        }
    }
    return job->stream->next;
}

/* The number below which everything before `position` lies; 0 before the first. */
uint64_t arcp__job_owner_seq(const arcp__job *job, uint64_t position)
{
    uint64_t seq = 0;
    for (size_t at = 0; at < job->owner_run_count; at++) {
        const arcp__owner_run *run = &job->owner_runs[at];
        if (position <= run->first_position) {
            break;
        }
        uint64_t below = position - run->first_position;
        seq = run->first_seq + (below < run->count ? below : run->count) - 1;
    }
    return seq;
}

/* ---- for hosts ---- */

const arcp_authority *arcp__job_authority(const arcp__job *job)
{
    return job->live->authority;
}

arcp_span arcp__job_id(const arcp__job *job)
{
    return arcp_span_cstr(job->id);
}

arcp_span arcp__job_agent(const arcp__job *job)
{
    return arcp_span_cstr(job->agent_text);
}

arcp_span arcp__job_trace_id(const arcp__job *job)
{
    return arcp_span_cstr(job->trace_id);
}

arcp_span arcp__job_traceparent(const arcp__job *job)
{
    return arcp_span_cstr(job->live->trace.traceparent);
}

arcp_span arcp__job_tracestate(const arcp__job *job)
{
    return arcp_span_cstr(job->live->tracestate);
}

arcp_span arcp__job_principal(const arcp__job *job)
{
    return arcp_span_cstr(job->principal->name);
}

arcp_span arcp__job_cwd(const arcp__job *job)
{
    return arcp_span_cstr(job->live->cwd);
}

bool arcp__job_owns_cwd(const arcp__job *job)
{
    return job->live->owns_cwd;
}

void *arcp__job_host(const arcp__job *job)
{
    return job->live->host;
}

void arcp__job_set_user(arcp__job *job, void *user)
{
    job->live->user = user;
}

void *arcp__job_user(const arcp__job *job)
{
    return job->live->user;
}
