/* A job as an object: its creation, removal, observers and children, and the numbers that its
 * session gave to its records. */
#include "job/job_state.h"
#include "job/purse.h"

arcp__job *arcp__job_find(const arcp__jobs *jobs, arcp_span id)
{
    arcp__job *job = NULL;
    HASH_FIND(hh, jobs->all, id.data, id.size, job);
    return job;
}

void arcp__job_format_head(arcp__job *job)
{
    const arcp_span pieces[] = {ARCP_SPAN_LITERAL(",\"trace_id\":\""),
                                arcp_span_cstr(job->trace_id),
                                ARCP_SPAN_LITERAL("\",\"job_id\":\""), arcp_span_cstr(job->id),
                                ARCP_SPAN_LITERAL("\",\"payload\":")};
    arcp__job_live *live = job->live;
    live->head_size = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        assert(pieces[i].size <= sizeof live->head - live->head_size);
        memcpy(live->head + live->head_size, pieces[i].data, pieces[i].size);
        live->head_size += pieces[i].size;
    }
}

static void live_free(arcp__job_live *live)
{
    if (live == NULL) {
        return;
    }
    arcp__free(live->tracestate);
    arcp__free(live->delegate_id);
    arcp__free(live->cwd);
    arcp__free(live->spent);
    arcp__free(live->input);
    arcp__free(live->wait_reply);
    arcp__free(live->cancel_message);
    arcp__free(live->end_message);
    arcp__job_details_fini(&live->details);
    arcp_buf_fini(&live->inline_result);
    arcp_buf_fini(&live->plain_output);
    arcp__job_port_fini(&live->port);
    arcp__job_numbers_free(live->numbers);
    arcp__enforcement_free(live->enforcement);
    arcp__free(live->denials.hashes);
    arcp__id_set_fini(&live->delegate_ids);
    arcp__purse_unref(live->purse);
    arcp_authority_unref(live->authority);
    arcp_lease_unref(live->lease);
    arcp__free(live);
}

void arcp__job_unpin(arcp__job *job)
{
    if (--job->pins == 0) {
        live_free(job->live);
        arcp__job_facts_fini(&job->facts);
        arcp__free(job->agent_text);
        arcp__free(job->accepted);
        arcp__free(job->owner_runs);
        arcp_budget_unref(job->budget);
        arcp__free(job);
    }
}

arcp__job *arcp__job_new(arcp__jobs *jobs, arcp__principal *principal, arcp_span id)
{
    arcp__job *job = arcp__alloc(sizeof *job);
    if (job == NULL) {
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    job->live = arcp__alloc(sizeof *job->live);
    if (job->live != NULL) {
        job->live->owner = jobs->owner;
    }
    job->principal = principal;
    job->pins = 1; /* the table's pin */
    if (id.size != 0) {
        memcpy(job->id, id.data, id.size);
    } else {
        arcp__context_make_id(jobs->context, "job_", job->id);
    }
    job->stream =
        job->live == NULL ? NULL : arcp__stream_new(jobs->log, "j:", arcp_span_cstr(job->id));
    if (job->stream != NULL) {
        HASH_ADD_KEYPTR(hh, jobs->all, job->id, strlen(job->id), job);
    }
    const bool is_added = job->stream != NULL && ARCP__HASH_ADDED(job);
    const bool is_listed = is_added && arcp__job_list_add(&jobs->in_order, job);
    if (!is_listed || !arcp__job_list_add(&principal->jobs, job)) {
        if (is_listed) {
            arcp__job_list_remove(&jobs->in_order, job);
        }
        if (is_added) {
            HASH_DEL(jobs->all, job);
        }
        if (job->stream != NULL) {
            arcp__stream_unref(jobs->log, job->stream);
        }
        arcp__job_unpin(job);
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    job->stream->owner = job;
    principal->running_jobs++;
    jobs->running++;
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

static void disarm_live(arcp__jobs *jobs, arcp__job_live *live)
{
    arcp__context_disarm(jobs->context, &live->runtime_timer);
    arcp__context_disarm(jobs->context, &live->expiry_timer);
    arcp__context_disarm(jobs->context, &live->grace_timer);
    arcp__context_disarm(jobs->context, &live->queue_timer);
}

void arcp__job_release_live(arcp__jobs *jobs, arcp__job *job)
{
    if (job->live == NULL) {
        return;
    }
    if (job->principal != NULL) { /* else arcp__job_drop did */
        disarm_live(jobs, job->live);
    }
    live_free(job->live);
    job->live = NULL;
}

static void leave_parent(arcp__job *job)
{
    arcp__job *parent = job->parent;
    if (parent == NULL) {
        return;
    }
    LL_DELETE2(parent->children, job, next_child);
    if (!arcp__job_has_ended(job)) {
        parent->live_children--;
    }
    job->parent = NULL;
    job->next_child = NULL;
    arcp__job_unpin(parent);
}

void arcp__job_drop(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_unkeep(jobs, job);
    arcp__idempotency_remove(jobs, job);
    if (job->live != NULL) {
        arcp__credential_release(jobs->credentials, &job->live->credential);
        disarm_live(jobs, job->live); /* its memory stays until the last unpin */
        arcp__worker_drop_streams(jobs, job);
        (void)arcp__place_leave(&jobs->placement, &job->live->place);
    }
    arcp__context_disarm(jobs->context, &job->keep_timer);
    while (job->observers != NULL) {
        job->observers->ops->dropped(jobs->user, job->observers);
    }
    leave_parent(job);
    while (job->children != NULL) {
        leave_parent(job->children);
    }
    arcp__job_details_drop(jobs, job);
    arcp__job_stderr_drop(jobs, job);
    arcp__job_forget_changes(job);
    arcp__job_list_remove(&job->principal->jobs, job);
    arcp__job_list_remove(&jobs->in_order, job);
    job->principal->stored_bytes -= job->stream->bytes;
    if (!arcp__job_has_ended(job)) {
        job->principal->running_jobs--;
        jobs->running--;
    }
    arcp__principal_maybe_free(jobs, job->principal);
    job->principal = NULL;
    HASH_DEL(jobs->all, job);
    job->stream->owner = NULL;
    arcp__stream_unref(jobs->log, job->stream);
    job->stream = NULL;
    arcp__job_unpin(job);
}

/* ---- a job's lease, budget and bytes ---- */

/* [arcp:6.6-6] [arcp:7.6-10] [arcp:7.6-11] [arcp:14-1] [arcp:14-2] */
bool arcp__job_is_visible_to(const arcp__jobs *jobs, const arcp__job *job,
                             const arcp__principal *principal)
{
    return job->principal == principal ||
           jobs->context->settings.authorization_subscribe == ARCP__SUBSCRIBE_ANY;
}

void arcp__job_count_bytes(arcp__job *job, uint64_t bytes)
{
    job->stream->bytes += bytes;
    job->principal->stored_bytes += bytes;
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
    for (size_t i = 0; i < arcp_budget_count(budget); i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        const arcp_span currency = arcp_budget_currency(budget, i);
        const size_t size = arcp_decimal_format(
            current ? arcp_budget_remaining(budget, i) : arcp_budget_initial(budget, i), amount);
        arcp_json_name_span(writer, currency);
        if (as_text) {
            arcp_buf text = arcp_buf_init();
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

/* Finds the purse of a topmost job; *budget is left as it is if the principal has none. */
static arcp_status take_purse(arcp__jobs *jobs, arcp__job *job, arcp_budget **budget,
                              arcp_error *err)
{
    arcp__job_live *live = job->live;
    const arcp_status status = arcp__purse_take(jobs, job->principal, &live->purse, err);
    if (live->purse != NULL) {
        *budget = arcp__purse_budget(live->purse);
        live->stores_holds = jobs->log->options.keeps_rows;
    }
    return status;
}

/* Makes the gate of the job, with the counters `budget`, which it references. */
static arcp_status make_gate(arcp__jobs *jobs, arcp__job *job, const arcp_authority *above,
                             arcp_budget *budget, arcp_error *err)
{
    const arcp_settings *settings = &jobs->context->settings;
    arcp__job_live *live = job->live;
    arcp_authority_options options = arcp_authority_options_init();
    options.budget = budget;
    options.now = jobs->context->now;
    options.expiry_grace_ns = (int64_t)settings->lease_expiry_grace_ms * ARCP_NS_PER_MS;
    options.cwd = arcp__job_seen_cwd(live);
    options.model_use_required = settings->model_use_required == ARCP__CHOICE_TRUE;
    options.parent = above;
    arcp_authority *authority = NULL;
    const arcp_status status = arcp_authority_new(live->lease, &options, &authority, err);
    if (status == ARCP_OK) {
        arcp_authority_unref(live->authority);
        live->authority = authority;
        live->port.authority = authority;
        live->port.gates = &jobs->log->gates;
    }
    return status;
}

arcp_status arcp__job_make_authority(arcp__jobs *jobs, arcp__job *job, const arcp__job *parent,
                                     arcp_error *err)
{
    arcp__job_live *live = job->live;
    const arcp_authority *above = parent == NULL ? NULL : parent->live->authority;
    arcp_budget *budget = NULL;
    arcp_budget *over = above == NULL ? NULL : arcp_authority_budget(above);
    arcp_status status = ARCP_OK;
    if (parent != NULL) {
        live->purse = arcp__purse_ref(parent->live->purse);
        live->stores_holds = parent->live->stores_holds;
    } else if (!jobs->is_restoring || arcp__job_is_on_worker(job)) {
        /* a restored job that is queued gets it when it starts */
        status = take_purse(jobs, job, &over, err);
    }
    if (status == ARCP_OK) {
        status = arcp_budget_new(live->lease, over, &budget, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    status = make_gate(jobs, job, above, budget, err);
    if (status != ARCP_OK) {
        arcp_budget_unref(budget);
        return status;
    }
    live->credential =
        (arcp__credential_slot){.owner = job, .lease = live->lease, .budget = budget};
    if (arcp_budget_count(budget) != 0) {
        job->budget = budget; /* it has counters of its own */
    } else {
        arcp_budget_unref(budget);
    }
    return ARCP_OK;
}

/* Puts the budget of a job that has not started below its purse. */
static arcp_status draw_on_purse(arcp__jobs *jobs, arcp__job *job, arcp_error *err)
{
    arcp__job_live *live = job->live;
    arcp_budget *over = NULL;
    arcp_budget *budget = NULL;
    arcp_status status = take_purse(jobs, job, &over, err);
    if (status == ARCP_OK && over != NULL) {
        status = arcp_budget_new(live->lease, over, &budget, err);
    }
    if (status == ARCP_OK && over != NULL) {
        status = make_gate(jobs, job, NULL, budget, err);
        if (status == ARCP_OK && job->budget != NULL) {
            arcp_budget_unref(job->budget);
            job->budget = arcp_budget_ref(budget);
        }
        live->credential.budget = arcp_authority_budget(live->authority);
        arcp_budget_unref(budget);
    }
    return status;
}

arcp_status arcp__job_renew_authority(arcp__jobs *jobs, arcp__job *job, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (job->parent == NULL && job->live->purse == NULL) {
        status = draw_on_purse(jobs, job, err);
    }
    if (status == ARCP_OK) {
        status = make_gate(jobs, job, job->parent == NULL ? NULL : job->parent->live->authority,
                           arcp_authority_budget(job->live->authority), err);
    }
    if (status == ARCP_OK && !job->expiry_logged) {
        arcp__context_arm(jobs->context, &job->live->expiry_timer, jobs->timer_kind, job,
                          arcp__authority_due_mono_ns(job->live->authority, jobs->context->now));
    }
    return status;
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

void arcp__job_unobserve(arcp__jobs *jobs, arcp__observer *observer)
{
    arcp__job *job = observer->job;
    DL_DELETE2(job->observers, observer, previous, next);
    if (job->owner == observer) {
        job->submitter->live_jobs -= arcp__job_has_ended(job) ? 0 : 1;
        job->submitter = NULL;
        job->owner = NULL;
        arcp__job_set_owner_behind(jobs, job, false);
    }
}

/* ---- the owning session's numbers ---- */

void arcp__job_note_owner_run(arcp__jobs *jobs, arcp__job *job, uint64_t job_first_seq,
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
        const size_t capacity = job->owner_run_capacity == 0 ? 1 : job->owner_run_capacity * 2;
        arcp__owner_run *runs = arcp__realloc_array(job->owner_runs, capacity, sizeof *runs);
        if (runs == NULL) {
            arcp__context_no_memory(jobs->context);
            return;
        }
        job->owner_runs = runs;
        job->owner_run_capacity = capacity;
    }
    job->owner_runs[job->owner_run_count++] = (arcp__owner_run){seq, position, count};
}

uint64_t arcp__job_position_after(const arcp__job *job, uint64_t owner_seq)
{
    if (owner_seq == 0 || job->owner_run_count == 0 || owner_seq < job->owner_runs[0].first_seq) {
        return 0; /* rather too many records than too few */
    }
    for (size_t i = 0; i < job->owner_run_count; i++) {
        const arcp__owner_run *run = &job->owner_runs[i];
        if (owner_seq < run->first_seq) {
            return run->first_position;
        }
        if (owner_seq < run->first_seq + run->count - 1) {
            return run->first_position + (owner_seq - run->first_seq) + 1;
        }
    }
    return job->stream->next;
}

uint64_t arcp__job_owner_seq(const arcp__job *job, uint64_t position)
{
    uint64_t seq = 0;
    for (size_t i = 0; i < job->owner_run_count; i++) {
        const arcp__owner_run *run = &job->owner_runs[i];
        if (position <= run->first_position) {
            break;
        }
        const uint64_t below = position - run->first_position;
        seq = run->first_seq + (below < run->count ? below : run->count) - 1;
    }
    return seq;
}

/* ---- back-pressure: a full pipe ---- */

void arcp__job_update_pressure(arcp__jobs *jobs, arcp__job *job)
{
    const bool wanted =
        !arcp__job_has_ended(job) && (job->owner_is_behind || job->is_ahead || jobs->agents_paused);
    if (wanted == job->paused || job->agent_state != ARCP__AGENT_RUNNING ||
        jobs->context->closing) {
        return;
    }
    const arcp__effect effect = {
        .kind = wanted ? ARCP__EFFECT_PAUSE_AGENT : ARCP__EFFECT_RESUME_AGENT, .job = job};
    if (arcp__agent_is_here(job)) {
        arcp__effect_push(jobs->log, &job->live->agent_port, &effect, NULL, false);
    }
    job->paused = wanted;
    jobs->metrics.agent_pauses += wanted && (job->owner_is_behind || jobs->agents_paused);
}

void arcp__job_set_owner_behind(arcp__jobs *jobs, arcp__job *job, bool is_behind)
{
    job->owner_is_behind = is_behind;
    arcp__job_update_pressure(jobs, job);
}

void arcp__jobs_update_pressure(arcp__jobs *jobs)
{
    const uint64_t limit = jobs->context->settings.limits_store_queue_bytes;
    const bool wanted = arcp__log_is_failing(jobs->log) ||
                        jobs->log->queue_bytes > (jobs->agents_paused ? limit / 2 : limit);
    if (wanted == jobs->agents_paused) {
        return;
    }
    jobs->agents_paused = wanted;
    for (arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        arcp__job_update_pressure(jobs, job);
    }
}

/* Where there are several principals, the jobs of one are paused and its links are not read when
 * its records and rows fill this part of limits.store_queue_bytes, so that those of the others
 * never wait for more than that. One that is alone may fill the queue: that is a tenth faster. */
#define PRINCIPAL_PART 64u

bool arcp__principal_is_ahead(const arcp__jobs *jobs, const arcp__principal *principal, bool was)
{
    const uint64_t part = jobs->context->settings.limits_store_queue_bytes / PRINCIPAL_PART;
    return HASH_COUNT(jobs->principals) > 1 &&
           arcp__queued_bytes(jobs->log, &principal->queued) > (was ? part / 2 : part);
}

void arcp__job_recorded(arcp__jobs *jobs, arcp__job *job, size_t bytes)
{
    arcp__queued_add(jobs->log, &job->principal->queued, bytes);
    if (!job->is_ahead && arcp__principal_is_ahead(jobs, job->principal, false)) {
        job->is_ahead = true;
        LL_PREPEND2(jobs->ahead, job, next_ahead);
        arcp__job_pin(job);
        arcp__job_update_pressure(jobs, job);
    }
}

void arcp__jobs_committed(arcp__jobs *jobs)
{
    for (arcp__job **next = &jobs->ahead; *next != NULL;) {
        arcp__job *job = *next;
        if (job->principal != NULL && !jobs->context->closing &&
            arcp__principal_is_ahead(jobs, job->principal, true)) {
            next = &job->next_ahead;
            continue;
        }
        *next = job->next_ahead;
        job->is_ahead = false;
        if (job->principal != NULL) { /* else it was forgotten meanwhile */
            arcp__job_update_pressure(jobs, job);
        }
        arcp__job_unpin(job);
    }
}
