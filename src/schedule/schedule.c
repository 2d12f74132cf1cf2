/* The schedules: what is configured, joined with what the store has of them. */
#include "schedule/schedule_state.h"

static void free_configuration(arcp__schedule *schedule)
{
    arcp__zone_free(schedule->zone);
    arcp__free(schedule->agent);
    arcp__free(schedule->principal);
    arcp__free(schedule->request);
    arcp__free(schedule->when);
    schedule->zone = NULL;
    schedule->agent = schedule->principal = schedule->request = schedule->when = NULL;
}

static void unschedule(arcp__schedule *schedule)
{
    if (schedule->is_scheduled) {
        schedule->is_scheduled = false;
        DL_DELETE2(schedule->schedules->scheduled, schedule, previous_scheduled, next_scheduled);
    }
}

void arcp__schedule_schedule(arcp__schedule *schedule)
{
    if (!schedule->is_scheduled && schedule->agent != NULL) {
        schedule->is_scheduled = true;
        DL_APPEND2(schedule->schedules->scheduled, schedule, previous_scheduled, next_scheduled);
    }
}

static void schedule_free(arcp__schedules *schedules, arcp__schedule *schedule)
{
    HASH_DEL(schedules->all, schedule);
    arcp__context_disarm(schedules->context, &schedule->timer);
    arcp__submitter_fini(schedules->jobs, &schedule->submitter);
    arcp__schedule_forget_runs(schedules, schedule);
    unschedule(schedule);
    free_configuration(schedule);
    arcp__free(schedule->stored_when);
    arcp__free(schedule->name);
    arcp__free(schedule);
}

void arcp__schedules_fini(arcp__schedules *schedules)
{
    while (schedules->all != NULL) {
        schedule_free(schedules, schedules->all);
    }
}

arcp__schedule *arcp__schedule_get(arcp__schedules *schedules, arcp_span name)
{
    arcp__schedule *schedule = NULL;
    HASH_FIND(hh, schedules->all, name.data, name.size, schedule);
    if (schedule != NULL) {
        return schedule;
    }
    schedule = arcp__alloc(sizeof *schedule);
    char *copy = arcp__copy_cstr(name.data, name.size);
    if (schedule == NULL || copy == NULL) {
        arcp__free(schedule);
        arcp__free(copy);
        return NULL;
    }
    schedule->schedules = schedules;
    schedule->name = copy;
    schedule->last_due = ARCP__DUE_NEVER;
    schedule->submitter.ops = &arcp__schedule_submitter_ops;
    schedule->submitter.session_id = "";
    schedule->submitter.viewer = (arcp__credential_viewer){.has_feature = true};
    HASH_ADD_KEYPTR(hh, schedules->all, schedule->name, name.size, schedule);
    return schedule;
}

/* ---- configuration ---- */

arcp_status arcp__schedule_recurrence(const arcp__schedule_options *options, arcp__recurrence *out,
                                      arcp__zone **zone, arcp_error *err)
{
    arcp_error why = {0};
    *out = (arcp__recurrence){.every_sec = options->every_sec};
    *zone = NULL;
    if ((options->cron.size == 0) == (options->every_sec == 0)) {
        return arcp_error_set(err, ARCP_E_USAGE, "needs cron or every_sec");
    }
    if (options->every_sec != 0) {
        return ARCP_OK;
    }
    if (arcp__cron_read(options->cron, &out->cron, &why) != ARCP_OK) {
        return arcp_error_set(err, why.status, "cron: %s", why.message);
    }
    if (options->tzif.size != 0 && arcp__zone_new(options->tzif, zone, &why) != ARCP_OK) {
        return arcp_error_set(err, why.status, "zone: %s", why.message);
    }
    out->zone = *zone;
    return ARCP_OK;
}

static char *copy(arcp_span text)
{
    return arcp__copy_cstr(text.data, text.size);
}

/* The texts that say when the schedule is due. */
static char *when_of(const arcp__schedule_options *options)
{
    arcp_buf text = arcp_buf_init();
    if (options->every_sec != 0) {
        arcp_buf_append_format(&text, "every %llu s", (unsigned long long)options->every_sec);
    } else {
        arcp_buf_append(&text, options->cron);
        arcp_buf_append_cstr(&text, ", ");
        arcp_buf_append(&text, options->zone.size == 0 ? ARCP_SPAN_LITERAL("UTC") : options->zone);
    }
    char *taken = arcp_buf_take_cstr(&text);
    arcp_buf_fini(&text);
    return taken;
}

/* What a submit under the same key must have in common. */
static void fingerprint(arcp__schedules *schedules, arcp__schedule *schedule)
{
    arcp_buf text = arcp__context_take_buf(schedules->context);
    arcp_buf_append_cstr(&text, schedule->agent);
    arcp_buf_append_byte(&text, '\n');
    arcp_buf_append_cstr(&text, schedule->request);
    arcp__context_check_text(schedules->context, &text);
    arcp__context_sha256(schedules->context, arcp_buf_span(&text), schedule->fingerprint);
    arcp__context_give_buf(schedules->context, &text);
}

/* A job of an earlier run that has not ended. */
static void adopt_last_job(arcp__schedules *schedules, arcp__schedule *schedule)
{
    arcp__job *job = arcp__job_find(schedules->jobs, arcp_span_cstr(schedule->last_job));
    if (job != NULL && job->submitter == NULL && !arcp__job_has_ended(job)) {
        arcp__schedule_adopt(schedules, schedule, job, true);
    }
}

/* Gives the schedule its configuration, whose recurrence was read. */
static void configure(arcp__schedules *schedules, const arcp__schedule_options *options,
                      const arcp__recurrence *recurrence, arcp__zone *zone)
{
    arcp__schedule *schedule = arcp__schedule_get(schedules, options->name);
    if (schedule == NULL) {
        arcp__zone_free(zone);
        arcp__context_no_memory(schedules->context);
        return;
    }
    free_configuration(schedule);
    schedule->recurrence = *recurrence;
    schedule->zone = zone;
    schedule->overlap = options->overlap;
    schedule->catch_up = options->catch_up;
    schedule->principal = copy(options->principal);
    schedule->request = copy(options->request);
    schedule->when = when_of(options);
    schedule->agent = copy(options->agent);
    if (schedule->principal == NULL || schedule->request == NULL || schedule->when == NULL ||
        schedule->agent == NULL) {
        arcp__context_no_memory(schedules->context);
        return;
    }
    fingerprint(schedules, schedule);
    if (schedule->stored_when == NULL || strcmp(schedule->stored_when, schedule->when) != 0) {
        arcp__free(schedule->stored_when);
        schedule->stored_when = copy(arcp_span_cstr(schedule->when));
        if (schedule->stored_when == NULL) {
            arcp__context_no_memory(schedules->context);
            return;
        }
        schedule->range_count = 0;
        schedule->decided = arcp__schedules_now(schedules);
        arcp__schedule_store(schedules, schedule);
    }
    if (schedule->runs == NULL) {
        adopt_last_job(schedules, schedule);
    }
    arcp__schedule_decide(schedules, schedule);
    arcp__schedule_schedule(schedule);
}

/* Removes the schedules that are not configured any more, or what they would continue with while
 * their jobs run. */
static void remove_others(arcp__schedules *schedules)
{
    for (arcp__schedule *schedule = schedules->all, *next = NULL; schedule != NULL;
         schedule = next) {
        next = schedule->hh.next;
        if (schedule->agent != NULL) {
            continue;
        }
        if (schedule->stored_when != NULL) {
            arcp__batch_delete(schedules->log, ARCP_STORE_SCHEDULES,
                               arcp_span_cstr(schedule->name));
            arcp__free(schedule->stored_when);
            schedule->stored_when = NULL;
        }
        arcp__context_disarm(schedules->context, &schedule->timer);
        schedule->last_due = ARCP__DUE_NEVER;
        schedule->last_job[0] = '\0';
        if (schedule->submitter.live_jobs == 0) {
            schedule_free(schedules, schedule);
        }
    }
}

static int by_name(const arcp__schedule *a, const arcp__schedule *b)
{
    return strcmp(a->name, b->name);
}

arcp_status arcp__schedules_check(const arcp__schedule_options *options, size_t count,
                                  arcp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        arcp__recurrence recurrence;
        arcp__zone *zone = NULL;
        arcp_error why = {0};
        const arcp_status status = arcp__schedule_recurrence(&options[i], &recurrence, &zone, &why);
        arcp__zone_free(zone);
        if (status != ARCP_OK) {
            return arcp_error_set(err, status, "schedule \"%.*s\": %s", (int)options[i].name.size,
                                  options[i].name.data, why.message);
        }
    }
    return ARCP_OK;
}

arcp_status arcp__schedules_set(arcp__schedules *schedules, const arcp__schedule_options *options,
                                size_t count, arcp_error *err)
{
    const arcp_status status = arcp__schedules_check(options, count, err);
    if (status != ARCP_OK) {
        return status;
    }
    for (arcp__schedule *schedule = schedules->all; schedule != NULL;
         schedule = schedule->hh.next) {
        unschedule(schedule);
        free_configuration(schedule);
    }
    for (size_t i = 0; i < count && !schedules->context->failed; i++) {
        arcp__recurrence recurrence;
        arcp__zone *zone = NULL;
        if (arcp__schedule_recurrence(&options[i], &recurrence, &zone, err) == ARCP_OK) {
            configure(schedules, &options[i], &recurrence, zone);
        } else {
            arcp__context_no_memory(schedules->context); /* it was read before */
        }
    }
    if (!schedules->context->failed) {
        remove_others(schedules);
        HASH_SORT(schedules->all, by_name);
    }
    return ARCP_OK;
}

/* ---- time ---- */

void arcp__schedule_due(arcp__schedules *schedules, arcp__timer *timer)
{
    arcp__schedule *schedule = timer->owner;
    if (schedule->agent != NULL) {
        arcp__schedule_decide(schedules, schedule);
        arcp__schedule_schedule(schedule); /* it may wait for another attempt */
    }
}

void arcp__schedules_wall_clock_set(arcp__schedules *schedules)
{
    for (arcp__schedule *schedule = schedules->all; schedule != NULL;
         schedule = schedule->hh.next) {
        if (schedule->agent != NULL) {
            arcp__schedule_decide(schedules, schedule);
        }
    }
}

/* ---- listing ---- */

bool arcp__schedule_next(const arcp__schedules *schedules, const char *name,
                         arcp__schedule_view *out)
{
    const arcp__schedule *first = NULL;
    if (name != NULL) {
        HASH_FIND(hh, schedules->all, name, strlen(name), first);
    }
    first = first == NULL ? schedules->all : first->hh.next;
    while (first != NULL &&
           (first->agent == NULL || (name != NULL && strcmp(first->name, name) <= 0))) {
        first = first->hh.next;
    }
    if (first != NULL) {
        *out =
            (arcp__schedule_view){.name = first->name,
                                  .agent = first->agent,
                                  .principal = first->principal,
                                  .next = arcp__recurrence_next(&first->recurrence, first->decided),
                                  .last = first->last_due,
                                  .last_job = first->last_job,
                                  .waiting = first->range_count != 0 ? 1 : 0};
    }
    return first != NULL;
}
