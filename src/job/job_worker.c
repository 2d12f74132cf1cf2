#include "job/job_worker.h"

#include <stdio.h>

#include "job/job_state.h"

/* From the end of a worker's link to the event of its jobs. */
#define AWAY_MS 5000u
/* From a refusal to the next job that a worker gets. */
#define BUSY_MS 5000u

#define WORKER_LOST    "the job's worker is lost"
#define WORKER_TOO_OLD "the job's worker is of a release that the runtime cannot go on with"
#define WORKER_STOPPED "the job's worker was stopped before the job had ended"
#define WORKER_ALONE                                                                               \
    "the job's worker has ended its program, because the runtime was away for longer than "        \
    "workers.keep_sec"
#define OLDER_STORE "the store was restored from a backup while the job ran"

/* ---- workers ---- */

static bool is_name(arcp_span text)
{
    return text.size != 0 && text.size < ARCP__WORKER_NAME_SIZE &&
           memchr(text.data, '\0', text.size) == NULL;
}

static bool is_connected(const arcp__worker_entry *worker)
{
    return worker != NULL && worker->state != ARCP__WORKER_AWAY;
}

/* NULL: it is not, or there is no such life. */
static arcp__worker_entry *find_connected(const arcp__jobs *jobs, arcp__worker_life life)
{
    arcp__worker_entry *worker = arcp__worker_find(jobs, life);
    return is_connected(worker) ? worker : NULL;
}

/* Whether the job's start was not sent to any life of the worker. */
static bool awaits(const arcp__job *job, const arcp__worker_entry *worker)
{
    return arcp__job_awaits_worker(job) && strcmp(job->live->numbers->worker, worker->name) == 0;
}

static void audit(arcp__jobs *jobs, const arcp__worker_entry *worker, const char *decision)
{
    arcp__audit(jobs->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_WORKER,
                                    .decision = decision,
                                    .target = arcp_span_cstr(worker->name),
                                    .more = {{"instance", arcp_span_cstr(worker->instance)}}});
}

/* ---- the loss of a job ---- */

static void lose(arcp__jobs *jobs, arcp__job *job, const char *message, const char *reason)
{
    char details[64];
    (void)snprintf(details, sizeof details, "{\"reason\":\"%s\"}", reason);
    arcp__job_fail(jobs, job, ARCP_E_INTERNAL_ERROR, arcp_span_cstr(message), true,
                   arcp_span_cstr(details));
}

/* Its program is dead. */
static void lose_with_agent(arcp__jobs *jobs, arcp__job *job, const char *message,
                            const char *reason)
{
    arcp__job_pin(job);
    job->live->numbers->is_here = false;
    if (arcp__job_has_agent(job)) {
        arcp__agent_forget(jobs, job);
    }
    lose(jobs, job, message, reason);
    arcp__job_unpin(job);
}

void arcp__worker_ended_agent(arcp__jobs *jobs, arcp__job *job, arcp__agent_ended_by ended_by)
{
    const bool was_away = ended_by == ARCP__AGENT_ENDED_BY_ABSENCE;
    const char *message = was_away ? WORKER_ALONE : WORKER_STOPPED;
    if (!job->cancelling) {
        arcp__job_log(jobs, ARCP__LOG_WARN, job, message);
    }
    lose(jobs, job, message, was_away ? "worker_alone" : "worker_stopped");
}

/* ---- a worker's hello ---- */

/* Whether another life of this name is connected and is to go on. */
static bool is_in_use(const arcp__jobs *jobs, arcp__worker_life life)
{
    for (const arcp__worker_entry *worker = jobs->workers; worker != NULL; worker = worker->next) {
        if (is_connected(worker) && !worker->is_draining &&
            arcp_span_equal_cstr(life.name, worker->name) &&
            !arcp_span_equal_cstr(life.instance, worker->instance)) {
            return true;
        }
    }
    return false;
}

static void lose_worker(arcp__jobs *jobs, arcp__worker_entry *worker);

/* A worker that begins ends all programs of the lives of its name before it. */
static void lose_swept(arcp__jobs *jobs, const arcp__worker_entry *newest)
{
    for (arcp__worker_entry *worker = jobs->workers, *next = NULL; worker != NULL; worker = next) {
        next = worker->next;
        if (worker != newest && !is_connected(worker) && newest->boot_id[0] != '\0' &&
            strcmp(worker->name, newest->name) == 0 &&
            strcmp(worker->boot_id, newest->boot_id) == 0) {
            lose_worker(jobs, worker);
        }
    }
}

static void copy_text(char out[ARCP__WORKER_NAME_SIZE], arcp_span text)
{
    (void)snprintf(out, ARCP__WORKER_NAME_SIZE, "%.*s", (int)text.size,
                   text.size == 0 ? "" : text.data);
}

static void take_intro(arcp__jobs *jobs, arcp__worker_entry *worker,
                       const arcp__worker_intro *intro)
{
    copy_text(worker->version, intro->version);
    copy_text(worker->boot_id, intro->boot_id);
    arcp__free(worker->work);
    worker->work =
        intro->work.size == 0 ? NULL : arcp__copy_cstr(intro->work.data, intro->work.size);
    if (worker->work == NULL && intro->work.size != 0) {
        arcp__context_no_memory(jobs->context);
    }
    worker->pid = intro->pid;
    if (intro->drains_ms != 0) {
        const int64_t now_ns = jobs->context->now.wall_ns;
        const uint64_t most_ms = (uint64_t)now_ns / ARCP_NS_PER_MS;
        const uint64_t ms = intro->drains_ms < most_ms ? intro->drains_ms : most_ms;
        worker->is_draining = true;
        worker->drains_wall_ns = now_ns - (int64_t)ms * ARCP_NS_PER_MS;
    }
    worker->place.capacity = intro->capacity > ARCP__WORKER_CAPACITY_MAX ? ARCP__WORKER_CAPACITY_MAX
                                                                         : (size_t)intro->capacity;
    arcp__worker_set_offers(jobs, worker, intro);
}

bool arcp__worker_joins(arcp__jobs *jobs, const arcp__worker_intro *intro)
{
    const arcp__worker_life life = intro->life;
    if (!is_name(life.name) || !is_name(life.instance) ||
        (intro->drains_ms == 0 && is_in_use(jobs, life))) {
        return false;
    }
    arcp__worker_away(jobs, life); /* the new link takes the place of an older one */
    arcp__worker_entry *worker = arcp__worker_get(jobs, life);
    if (worker != NULL) {
        const bool did_drain = worker->is_draining;
        worker->is_busy = false;
        arcp__context_disarm(jobs->context, &worker->busy_timer);
        arcp__worker_enter(jobs, worker, ARCP__WORKER_GREETING);
        take_intro(jobs, worker, intro);
        audit(jobs, worker, "joined");
        if (!did_drain && worker->is_draining) {
            audit(jobs, worker, "drained");
        }
        if (intro->agent_count != 0) {
            lose_swept(jobs, worker);
        }
    }
    return worker != NULL;
}

/* Whether the worker knows more of the job than the store, which is therefore an older one. Its
 * start is sent only when the store has the worker. */
static bool is_restored_from_backup(const arcp__job_numbers *numbers,
                                    const arcp__worker_claim *claim)
{
    const uint64_t lines = numbers->line_stream == NULL ? 0 : numbers->line_stream->next;
    return claim->stored > numbers->item || claim->at > lines ||
           claim->bytes_first > numbers->bytes || numbers->instance[0] == '\0';
}

arcp__claim_answer arcp__worker_claims(arcp__jobs *jobs, arcp__worker_life life,
                                       const arcp__worker_claim *claim, void *host,
                                       arcp__job **job_out)
{
    arcp__worker_entry *worker = find_connected(jobs, life);
    arcp__job *job = arcp__job_find(jobs, claim->job);
    if (worker == NULL || job == NULL || (!arcp__job_is_of(job, worker) && !awaits(job, worker))) {
        return ARCP__CLAIM_FORGET;
    }
    arcp__job_numbers *numbers = job->live->numbers;
    if (arcp__job_has_ended(job) && numbers->end_id <= jobs->log->committed_id) {
        if (arcp__job_has_agent(job)) {
            arcp__agent_forget(jobs, job);
        }
        return ARCP__CLAIM_FORGET;
    }
    numbers->is_here = numbers->is_hosted = true;
    job->live->host = host;
    *job_out = job;
    if (!arcp__job_has_ended(job) && is_restored_from_backup(numbers, claim)) {
        worker->is_ahead = true;
        memcpy(numbers->instance, worker->instance, sizeof numbers->instance);
        lose(jobs, job, OLDER_STORE, "store_restored");
    }
    arcp__numbers_resume(numbers, claim->items_first, claim->stored, claim->errors_first);
    if (arcp__job_has_ended(job) || job->stop == ARCP__AGENT_STOP_KILLED) {
        job->stop = ARCP__AGENT_STOP_KILLED;
        return ARCP__CLAIM_END;
    }
    arcp__worker_forget_lines(numbers, claim->at);
    return ARCP__CLAIM_GO_ON;
}

/* Sends again what the worker does not have, when it is durable. */
static void send_lines(arcp__jobs *jobs, arcp__job *job)
{
    const arcp_span cancel = ARCP_SPAN_LITERAL("{\"type\":\"job.cancel\"");
    for (const struct arcp__kept_line *line = job->live->numbers->lines; line != NULL;
         line = line->next) {
        const arcp_span kept = arcp_span_make(line->text, line->size);
        arcp_buf text = arcp__context_take_buf(jobs->context);
        if (arcp_span_equal_cstr(kept, ARCP__LINE_OF_CREDENTIALS)) {
            arcp__agent_write_credentials(jobs, job, &text);
        } else {
            arcp_buf_append(&text, kept);
        }
        const arcp__effect effect = {.kind = arcp_span_starts_with(kept, cancel)
                                                 ? ARCP__EFFECT_CANCEL_AGENT
                                                 : ARCP__EFFECT_AGENT_LINE,
                                     .job = job,
                                     .from = line->at,
                                     .id = line->item};
        arcp__effect_push(jobs->log, &job->live->agent_port, &effect, &text, true);
    }
}

static void go_on(arcp__jobs *jobs, arcp__job *job, bool is_announced)
{
    const arcp__enforcement *enforcement = job->live->enforcement;
    send_lines(jobs, job);
    if (job->paused) {
        arcp__effect_push(jobs->log, &job->live->agent_port,
                          &(arcp__effect){.kind = ARCP__EFFECT_PAUSE_AGENT, .job = job}, NULL,
                          false);
    }
    arcp__job_update_pressure(jobs, job);
    if (enforcement != NULL && enforcement->is_revoked) {
        arcp__agent_revoke(jobs, job,
                           arcp_authority_is_expired(job->live->authority, jobs->context->now)
                               ? ARCP_E_LEASE_EXPIRED
                               : ARCP_E_BUDGET_EXHAUSTED);
    }
    if (is_announced && job->status == ARCP_JOB_RUNNING) {
        arcp__job_emit_status(jobs, job, "running", arcp_span_make(NULL, 0));
    }
}

/* The start of a job that never got to its worker. After a restart its agent has to be found. */
static void start_now(arcp__jobs *jobs, arcp__job *job, const arcp__worker_entry *worker)
{
    const arcp__agent_version *agent = NULL;
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    if (job->live->host == NULL) {
        status = arcp__agent_resolve(jobs, arcp_span_cstr(job->agent_text), &agent, &error);
    }
    if (agent != NULL) {
        job->live->host = arcp__worker_host_of(worker, agent);
    }
    if (status == ARCP_OK && job->live->host == NULL) {
        status = arcp_error_set(&error, ARCP_E_AGENT_NOT_AVAILABLE,
                                "the worker does not offer the agent any more");
    }
    if (status != ARCP_OK) {
        arcp__job_pin(job);
        arcp__agent_forget(jobs, job);
        arcp__job_fail_with(jobs, job, status, error.message);
        arcp__job_unpin(job);
        return;
    }
    arcp__worker_send_start(jobs, job, worker);
}

/* Whether a job that was not claimed may have run and ended, after the backup. */
static bool may_have_run(const arcp__job *job, const arcp__worker_entry *worker)
{
    return awaits(job, worker) || (arcp__job_is_of(job, worker) && !job->live->numbers->is_here &&
                                   arcp__job_has_agent(job) && !arcp__job_has_ended(job));
}

void arcp__worker_ready(arcp__jobs *jobs, arcp__worker_life life)
{
    arcp__worker_entry *worker = find_connected(jobs, life);
    if (worker == NULL) {
        return;
    }
    const bool is_announced = worker->is_announced;
    arcp__worker_enter(jobs, worker, ARCP__WORKER_JOINED);
    worker->is_announced = false;
    arcp__context_disarm(jobs->context, &worker->away_timer);
    arcp__context_disarm(jobs->context, &worker->lost_timer);
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (worker->is_ahead && may_have_run(job, worker)) {
            lose_with_agent(jobs, job, OLDER_STORE, "store_restored");
            continue;
        }
        if (!arcp__job_is_of(job, worker)) {
            continue;
        }
        if (job->live->numbers->is_here && !arcp__job_has_ended(job)) {
            go_on(jobs, job, is_announced);
        } else if (!job->live->numbers->is_here && !arcp__job_has_ended(job) &&
                   job->agent_state == ARCP__AGENT_STARTING) {
            start_now(jobs, job, worker);
        } else if (!job->live->numbers->is_here && arcp__job_has_agent(job)) {
            lose_with_agent(jobs, job, WORKER_LOST, "worker_lost");
        }
    }
    worker->is_ahead = false;
}

/* ---- its end ---- */

static void begin_away(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    const uint64_t alone_sec = jobs->worker_keep_sec + ARCP__WORKER_MARGIN_SEC;
    arcp__worker_enter(jobs, worker, ARCP__WORKER_AWAY);
    arcp__context_arm(jobs->context, &worker->away_timer, jobs->worker_timer_kind, worker,
                      arcp__context_after_ms(jobs->context, AWAY_MS));
    arcp__context_arm(jobs->context, &worker->lost_timer, jobs->worker_timer_kind, worker,
                      arcp__context_after_sec(jobs->context, alone_sec));
}

void arcp__worker_away(arcp__jobs *jobs, arcp__worker_life life)
{
    arcp__worker_entry *worker = find_connected(jobs, life);
    if (worker == NULL) {
        return;
    }
    for (arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        if (arcp__job_is_of(job, worker) && arcp__job_has_agent(job)) {
            job->live->numbers->is_here = false;
            arcp__agent_drop_effects(jobs, job); /* they are made again */
        }
    }
    audit(jobs, worker, "left");
    begin_away(jobs, worker);
}

static void lose_worker(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    audit(jobs, worker, "lost");
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (arcp__job_is_of(job, worker)) {
            lose_with_agent(jobs, job, worker->is_too_old ? WORKER_TOO_OLD : WORKER_LOST,
                            worker->is_too_old ? "worker_too_old" : "worker_lost");
        }
    }
    arcp__worker_remove(jobs, worker);
}

/* With no instance all lives of the name are meant. */
static bool is_meant(const arcp__worker_entry *worker, arcp__worker_life life)
{
    return arcp_span_equal_cstr(life.name, worker->name) &&
           (life.instance.size == 0 || arcp_span_equal_cstr(life.instance, worker->instance));
}

static void end_life(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    arcp__worker_away(
        jobs, (arcp__worker_life){arcp_span_cstr(worker->name), arcp_span_cstr(worker->instance)});
    lose_worker(jobs, worker);
}

void arcp__worker_lost(arcp__jobs *jobs, arcp__worker_life life)
{
    for (arcp__worker_entry *worker = jobs->workers, *next = NULL; worker != NULL; worker = next) {
        next = worker->next;
        if (is_meant(worker, life)) {
            end_life(jobs, worker);
        }
    }
}

void arcp__worker_drains(arcp__jobs *jobs, arcp__worker_life life)
{
    for (arcp__worker_entry *worker = jobs->workers; worker != NULL; worker = worker->next) {
        if (is_meant(worker, life) && !worker->is_draining) {
            worker->is_draining = true;
            worker->drains_wall_ns = jobs->context->now.wall_ns;
            arcp__worker_update_room(jobs, worker);
            audit(jobs, worker, "drained");
        }
    }
}

void arcp__worker_too_old(arcp__jobs *jobs, arcp__worker_life life)
{
    arcp__worker_entry *worker = arcp__worker_find(jobs, life);
    if (worker != NULL && !is_connected(worker)) {
        worker->is_too_old = true;
        arcp__worker_drains(jobs, life);
    }
}

/* ---- what it takes ---- */

void arcp__workers_start_awaiting(arcp__jobs *jobs)
{
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        const arcp__worker_entry *worker = arcp__job_awaits_worker(job)
                                               ? arcp__worker_open(jobs, job->live->numbers->worker)
                                               : NULL;
        next = job->hh.next;
        if (worker != NULL) {
            start_now(jobs, job, worker);
        }
    }
}

/* The job has not got to its worker. */
static void wait_again(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_live *live = job->live;
    const int64_t age_ns = jobs->context->now.wall_ns - job->created_wall_ns;
    if (live->place.agent->offer !=
        NULL) { /* it keeps its place, until the worker takes jobs again */
        arcp__agent_drop_effects(jobs, job);
        arcp__place_leave_worker(&jobs->placement, &live->place);
        memset(live->numbers->instance, 0, sizeof live->numbers->instance);
        live->numbers->is_here = live->numbers->is_hosted = false;
        arcp__job_live_changed(jobs, job);
        arcp__job_arm_wait(jobs, job, age_ns < 0 ? 0 : age_ns);
        if (!live->was_queued) {
            live->was_queued = true;
            arcp__job_emit_status(jobs, job, "queued",
                                  ARCP_SPAN_LITERAL("its worker takes no jobs now"));
        }
        return;
    }
    jobs->agents_changed = true; /* perhaps it had an agent of the configuration */
    arcp__agent_drop_effects(jobs, job);
    arcp__worker_drop_streams(jobs, job);
    arcp__job_numbers_free(live->numbers);
    live->numbers = NULL;
    job->paused = false;
    jobs->live_agents--;
    if (arcp__place_wait_again(&jobs->placement, &live->place, job->principal) != ARCP_OK) {
        arcp__context_no_memory(jobs->context);
        return;
    }
    arcp__job_enter_queue(jobs, job, age_ns < 0 ? 0 : age_ns);
    arcp__job_store_with_batch(jobs, job, ARCP__ROW_LIVE); /* without a worker */
    if (live->place.turn != live->place.order) {
        arcp__queue_write_turn(jobs, job);
    }
    arcp__job_unpin(job); /* the agent's pin */
}

void arcp__worker_refused_busy(arcp__jobs *jobs, arcp__job *job)
{
    const arcp__agent_exit never_ran = {.by_signal = true};
    if (job->agent_state != ARCP__AGENT_STARTING || !arcp__job_is_on_worker(job)) {
        return;
    }
    const arcp__job_numbers *numbers = job->live->numbers;
    arcp__worker_entry *worker =
        arcp__worker_find(jobs, (arcp__worker_life){arcp_span_cstr(numbers->worker),
                                                    arcp_span_cstr(numbers->instance)});
    if (is_connected(worker)) {
        worker->is_busy = true;
        arcp__worker_update_room(jobs, worker);
        arcp__context_arm(jobs->context, &worker->busy_timer, jobs->worker_timer_kind, worker,
                          arcp__context_after_ms(jobs->context, BUSY_MS));
    }
    if (arcp__job_has_ended(job) || job->cancelling) {
        arcp__job_agent_exited(jobs, job, &never_ran);
    } else {
        wait_again(jobs, job);
    }
}

void arcp__worker_due(arcp__jobs *jobs, arcp__timer *timer)
{
    arcp__worker_entry *worker = timer->owner;
    if (timer == &worker->lost_timer) {
        lose_worker(jobs, worker);
        return;
    }
    if (timer == &worker->busy_timer) {
        arcp__worker_end_busy(jobs, worker);
        return;
    }
    worker->is_announced = true;
    for (arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        if (arcp__job_is_of(job, worker) && job->status == ARCP_JOB_RUNNING) {
            arcp__job_emit_status(jobs, job, "worker_away", arcp_span_make(NULL, 0));
        }
    }
}

/* ---- restart ---- */

static void restart(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_live *live = job->live;
    arcp__job_numbers *numbers = live->numbers;
    const arcp_time now = jobs->context->now;
    const int64_t age_ns = now.wall_ns - job->created_wall_ns;
    arcp__place_agent *places = arcp__placement_agent(&jobs->placement, job->agent_text);
    if (places == NULL) {
        arcp__context_no_memory(jobs->context);
        return;
    }
    arcp__worker_entry *worker =
        numbers->instance[0] == '\0'
            ? NULL
            : arcp__worker_get(jobs, (arcp__worker_life){arcp_span_cstr(numbers->worker),
                                                         arcp_span_cstr(numbers->instance)});
    if (worker != NULL) { /* until its hello */
        memcpy(worker->boot_id, numbers->boot_id, sizeof worker->boot_id);
    }
    arcp__place_offer *offer =
        worker == NULL ? NULL : arcp__placement_offer_of(&worker->place, places);
    arcp__place_take(&jobs->placement, &live->place, places, arcp__place_kind_below(job->parent),
                     offer, job);
    arcp__metrics_job_began(jobs, job);
    job->status = job->facts.started_wall_ns != 0 ? ARCP_JOB_RUNNING : ARCP_JOB_PENDING;
    job->agent_state = job->facts.started_wall_ns != 0 ? ARCP__AGENT_RUNNING : ARCP__AGENT_STARTING;
    arcp__job_pin(job); /* the agent's pin */
    jobs->live_agents++;
    live->last_input_ns = now.mono_ns;
    arcp__job_arm_deadlines(jobs, job, age_ns < 0 ? 0 : age_ns);
    if (job->cancelling) {
        const int64_t left_ns = numbers->cancel_until_ns - now.wall_ns;
        job->stop = ARCP__AGENT_STOP_SENT;
        arcp__context_arm(jobs->context, &live->grace_timer, jobs->timer_kind, job,
                          now.mono_ns + (left_ns < 0 ? 0 : left_ns));
    }
    if (arcp__job_awaits_worker(job)) {
        arcp__job_arm_wait(jobs, job, age_ns < 0 ? 0 : age_ns);
    } else if (worker != NULL && worker->lost_timer.place == 0) {
        begin_away(jobs, worker);
    }
    arcp__credential_restore_reported(&live->credential, live->reported_before);
    arcp__job_note_lost_credential(jobs, job);
}

static void join_parent(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job *parent = arcp__job_find(jobs, arcp_span_cstr(job->parent_id));
    if (parent == NULL || arcp__job_has_ended(parent) || !arcp__job_is_on_worker(parent)) {
        return;
    }
    job->parent = parent;
    job->depth = parent->depth + 1;
    arcp__job_pin(parent);
    LL_PREPEND2(parent->children, job, next_child);
    parent->live_children++;
    parent->facts.children++;
    if (job->live->wait_reply != NULL) {
        arcp__place_lend(&jobs->placement, &parent->live->place);
    }
}

/* Parents come before their children, because they are older. */
void arcp__workers_restart(arcp__jobs *jobs)
{
    for (arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        if (!arcp__job_has_ended(job)) {
            join_parent(jobs, job);
            if (arcp__job_is_on_worker(job)) {
                restart(jobs, job);
            }
        }
    }
}
