/* The hooks as configured, and the events of jobs that make notifications for them. */
#include "base/timestamp.h"
#include "core/decimal.h"
#include "core/name_glob.h"
#include "hook/hook_state.h"
#include "json/json_put.h"

const char *arcp__hook_event_name(arcp__hook_event event)
{
    static const char *const names[] = {"end", "denial", "budget", "stuck"};
    return names[event];
}

/* ---- the table ---- */

static void free_configuration(arcp__hook *hook)
{
    arcp__free(hook->agent);
    arcp__free(hook->principal);
    arcp__free(hook->target);
    hook->agent = hook->principal = hook->target = NULL;
}

arcp__hook *arcp__hook_get(arcp__hooks *hooks, arcp_span name)
{
    arcp__hook *hook = NULL;
    HASH_FIND(hh, hooks->all, name.data, name.size, hook);
    if (hook != NULL) {
        return hook;
    }
    hook = arcp__alloc(sizeof *hook);
    char *copy = arcp__copy_cstr(name.data, name.size);
    if (hook != NULL && copy != NULL) {
        hook->name = copy;
        HASH_ADD_KEYPTR(hh, hooks->all, hook->name, name.size, hook);
        if (ARCP__HASH_ADDED(hook)) {
            return hook;
        }
    }
    arcp__free(hook);
    arcp__free(copy);
    return NULL;
}

static void hook_free(arcp__hooks *hooks, arcp__hook *hook)
{
    HASH_DEL(hooks->all, hook);
    free_configuration(hook);
    arcp__free(hook->name);
    arcp__free(hook);
}

void arcp__hook_maybe_free(arcp__hooks *hooks, arcp__hook *hook)
{
    if (hook->agent == NULL && hook->count == 0) {
        hook_free(hooks, hook);
    }
}

void arcp__hooks_fini(arcp__hooks *hooks)
{
    hooks->jobs->watch = NULL;
    while (hooks->oldest != NULL) {
        arcp__notification_free(hooks, hooks->oldest);
    }
    while (hooks->all != NULL) {
        hook_free(hooks, hooks->all);
    }
    arcp__context_disarm(hooks->context, &hooks->stuck_timer);
}

/* ---- notifications ---- */

static bool matches(const arcp__hook *hook, const arcp__job *job, arcp__hook_event event)
{
    const arcp_span agent = arcp_span_cstr(job->agent_text);
    const char *at = memchr(agent.data, '@', agent.size);
    return hook->agent != NULL && (hook->events & (1u << event)) != 0 &&
           arcp__name_glob_matches(hook->principal, arcp_span_cstr(job->principal->name)) &&
           (arcp__name_glob_matches(hook->agent, agent) ||
            (at != NULL && arcp__name_glob_matches(
                               hook->agent, arcp_span_first(agent, (size_t)(at - agent.data)))));
}

static void write_body(const arcp__hooks *hooks, const arcp__hook *hook, const char *id,
                       arcp__hook_event event, arcp_span job, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "id", id);
    arcp__put_cstr(&writer, "event", arcp__hook_event_name(event));
    arcp__write_timestamp(&writer, "at", hooks->context->now.wall_ns);
    arcp__put_cstr(&writer, "hook", hook->name);
    arcp__put_raw(&writer, "job", job);
    arcp_json_end_object(&writer);
}

/* `row` has the job, or is empty. */
static void notify(arcp__hooks *hooks, arcp__hook *hook, arcp__job *job, arcp__hook_event event,
                   arcp_buf *row)
{
    char id[ARCP__ID_SIZE];
    if (row->size == 0) {
        hooks->write_job(hooks->user, job, row);
    }
    arcp_buf body = arcp__context_take_buf(hooks->context);
    arcp__context_make_id(hooks->context, "ntf_", id);
    write_body(hooks, hook, id, event, arcp_buf_span(row), &body);
    arcp__context_check_text(hooks->context, &body);
    arcp__notification *notification =
        hooks->context->failed ? NULL
                               : arcp__notification_add(hooks, hook, id, arcp_buf_span(&body));
    arcp__context_give_buf(hooks->context, &body);
    if (notification == NULL) {
        arcp__context_no_memory(hooks->context);
        return;
    }
    notification->event = event;
    memcpy(notification->job_id, job->id, sizeof notification->job_id);
    notification->at_wall_ns = notification->since_wall_ns = hooks->context->now.wall_ns;
    arcp__notification_enter(hooks, notification, ARCP__NOTIFICATION_DUE);
    arcp__notification_store(hooks, notification);
    hooks->metrics.made++;
}

/* Notifies the hooks that match and whose threshold is above `from` and at most `to`, in the unit
 * of `threshold` (NULL: all that match). */
static void notify_all(arcp__hooks *hooks, arcp__job *job, arcp__hook_event event,
                       uint64_t (*threshold)(const arcp__hook *hook), uint64_t from, uint64_t to)
{
    arcp_buf row = arcp__context_take_buf(hooks->context);
    for (arcp__hook *hook = hooks->all; hook != NULL && !hooks->context->failed;
         hook = hook->hh.next) {
        const uint64_t at = threshold == NULL ? to : threshold(hook);
        if (matches(hook, job, event) && (threshold == NULL || (at > from && at <= to))) {
            notify(hooks, hook, job, event, &row);
        }
    }
    arcp__context_give_buf(hooks->context, &row);
}

/* ---- events ---- */

static void on_ended(void *user, arcp__job *job)
{
    notify_all(user, job, ARCP__HOOK_END, NULL, 0, 0);
}

static void on_denied(void *user, arcp__job *job)
{
    arcp__hooks *hooks = user;
    int64_t *next_ns = &job->live->hooked.next_denial_ns;
    if (hooks->context->now.mono_ns >= *next_ns) {
        *next_ns = hooks->context->now.mono_ns + ARCP__HOOK_DENIAL_SEC * ARCP_NS_PER_SEC;
        notify_all(hooks, job, ARCP__HOOK_DENIAL, NULL, 0, 0);
    }
}

/* How many whole percent of a budget are spent, of that of which most is. */
static uint64_t spent_percent(const arcp_budget *budget)
{
    const arcp__units scaled = (arcp__units)1 << 120; /* a hundred times as much is no number */
    uint64_t most = 0;
    for (size_t i = 0; i < arcp_budget_count(budget); i++) {
        arcp__units cap = arcp__decimal_units(arcp_budget_initial(budget, i));
        arcp__units spent = arcp__decimal_units(arcp_budget_spent(budget, i));
        if (cap >= scaled || spent >= scaled) {
            cap >>= 8;
            spent >>= 8;
        }
        const uint64_t percent = cap <= 0 ? 0 : spent >= cap ? 100 : (uint64_t)(spent * 100 / cap);
        most = percent > most ? percent : most;
    }
    return most;
}

static uint64_t budget_threshold(const arcp__hook *hook)
{
    return 100 - hook->budget_left_percent;
}

static void on_spent(void *user, arcp__job *job)
{
    uint64_t *before = &job->live->hooked.spent_percent;
    const uint64_t now = spent_percent(job->budget);
    if (now > *before) {
        const uint64_t from = *before;
        *before = now;
        notify_all(user, job, ARCP__HOOK_BUDGET, budget_threshold, from, now);
    }
}

/* ---- stuck agents ---- */

static uint64_t stuck_threshold(const arcp__hook *hook)
{
    return hook->stuck_after_sec;
}

/* Often enough that no silence is noticed much too late: a quarter of the shortest. 0: no hook
 * wants it. */
static uint64_t look_every_sec(const arcp__hooks *hooks)
{
    uint64_t least = 0;
    for (const arcp__hook *hook = hooks->all; hook != NULL; hook = hook->hh.next) {
        if (hook->agent != NULL && (hook->events & (1u << ARCP__HOOK_STUCK)) != 0 &&
            (least == 0 || hook->stuck_after_sec < least)) {
            least = hook->stuck_after_sec;
        }
    }
    const uint64_t quarter = least / 4 < 60 ? least / 4 : 60;
    return least == 0 ? 0 : quarter == 0 ? 1 : quarter;
}

static void look_for_stuck(arcp__hooks *hooks)
{
    const uint64_t every_sec = look_every_sec(hooks);
    const int64_t now_ns = hooks->context->now.mono_ns;
    for (arcp__job *job = hooks->jobs->all; job != NULL && !hooks->context->failed;
         job = job->hh.next) {
        if (arcp__job_has_ended(job) || job->agent_state != ARCP__AGENT_RUNNING) {
            continue;
        }
        arcp__job_hooked *hooked = &job->live->hooked;
        const uint64_t silent_sec =
            (uint64_t)((now_ns - job->live->last_input_ns) / ARCP_NS_PER_SEC);
        const uint64_t from =
            hooked->silent_since_ns == job->live->last_input_ns ? hooked->silent_sec : 0;
        hooked->silent_since_ns = job->live->last_input_ns;
        hooked->silent_sec = silent_sec;
        if (silent_sec > from) {
            notify_all(hooks, job, ARCP__HOOK_STUCK, stuck_threshold, from, silent_sec);
        }
    }
    if (every_sec == 0) {
        arcp__context_disarm(hooks->context, &hooks->stuck_timer);
    } else {
        arcp__context_arm(hooks->context, &hooks->stuck_timer, hooks->timer_kind, hooks,
                          arcp__context_after_sec(hooks->context, every_sec));
    }
}

void arcp__hook_due(arcp__hooks *hooks, arcp__timer *timer)
{
    if (timer == &hooks->stuck_timer) {
        look_for_stuck(hooks);
    } else {
        arcp__notification_enter(hooks, timer->owner, ARCP__NOTIFICATION_DUE);
    }
}

/* ---- configuration ---- */

static char *copy_or(arcp_span text, const char *otherwise)
{
    return text.size == 0 ? arcp__copy_cstr(otherwise, strlen(otherwise))
                          : arcp__copy_cstr(text.data, text.size);
}

static void configure(arcp__hooks *hooks, const arcp__hook_options *options)
{
    arcp__hook *hook = arcp__hook_get(hooks, options->name);
    if (hook == NULL) {
        arcp__context_no_memory(hooks->context);
        return;
    }
    free_configuration(hook);
    hook->principal = copy_or(options->principal, "*");
    hook->target = copy_or(options->target, "");
    hook->agent = copy_or(options->agent, "*");
    hook->events = options->events;
    hook->budget_left_percent = (unsigned)options->budget_left_percent;
    hook->stuck_after_sec = options->stuck_after_sec;
    if (hook->principal == NULL || hook->target == NULL || hook->agent == NULL) {
        arcp__context_no_memory(hooks->context);
    }
}

void arcp__hooks_set(arcp__hooks *hooks, const arcp__hook_options *options, size_t count)
{
    for (arcp__hook *hook = hooks->all; hook != NULL; hook = hook->hh.next) {
        free_configuration(hook);
    }
    for (size_t i = 0; i < count && !hooks->context->failed; i++) {
        configure(hooks, &options[i]);
    }
    for (arcp__hook *hook = hooks->all, *next = NULL; hook != NULL; hook = next) {
        next = hook->hh.next;
        arcp__hook_maybe_free(hooks, hook);
    }
    hooks->watch = (arcp__job_watch){on_ended, on_denied, on_spent, hooks};
    hooks->jobs->watch = count == 0 ? NULL : &hooks->watch;
    look_for_stuck(hooks);
}
