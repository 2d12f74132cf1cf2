/* The outbox: the states of notifications, their attempts, and how many are kept. */
#include "base/timestamp.h"
#include "base/utf8.h"
#include "hook/hook_state.h"

static uint64_t bytes_of(const arcp__notification *notification)
{
    return sizeof *notification + notification->body_size;
}

/* ---- states ---- */

/* The list of those that are in the state; NULL: it has none. */
static arcp__notification **list_of(arcp__hooks *hooks, const arcp__notification *notification)
{
    switch (notification->state) {
    case ARCP__NOTIFICATION_DUE:
        return &notification->hook->due;
    case ARCP__NOTIFICATION_SENT:
        return &hooks->sent;
    case ARCP__NOTIFICATION_FAILED:
        return &hooks->failed;
    case ARCP__NOTIFICATION_NEW:
    case ARCP__NOTIFICATION_WAITING:
        break;
    }
    return NULL;
}

static void count(arcp__hooks *hooks, const arcp__notification *notification, bool is_more)
{
    size_t *const counts[] = {[ARCP__NOTIFICATION_NEW] = NULL,
                              [ARCP__NOTIFICATION_DUE] = &hooks->due_count,
                              [ARCP__NOTIFICATION_SENT] = &notification->hook->sent_count,
                              [ARCP__NOTIFICATION_WAITING] = NULL,
                              [ARCP__NOTIFICATION_FAILED] = &hooks->failed_count};
    size_t *of_state = counts[notification->state];
    if (of_state != NULL) {
        *of_state = is_more ? *of_state + 1 : *of_state - 1;
    }
}

void arcp__notification_enter(arcp__hooks *hooks, arcp__notification *notification,
                              arcp__notification_state state)
{
    arcp__notification **list = list_of(hooks, notification);
    if (list != NULL) {
        DL_DELETE2(*list, notification, previous_there, next_there);
    }
    count(hooks, notification, false);
    arcp__context_disarm(hooks->context, &notification->timer);
    notification->state = state;
    count(hooks, notification, true);
    list = list_of(hooks, notification);
    if (list != NULL) {
        DL_APPEND2(*list, notification, previous_there, next_there);
    }
}

arcp__notification *arcp__notification_add(arcp__hooks *hooks, arcp__hook *hook, const char *id,
                                           arcp_span body)
{
    arcp__notification *notification = arcp__alloc(sizeof *notification + body.size + 1);
    if (notification == NULL) {
        return NULL;
    }
    memcpy(notification->id, id, strlen(id) + 1);
    notification->hook = hook;
    notification->body_size = body.size;
    memcpy(notification->body, body.data, body.size);
    HASH_ADD_STR(hooks->by_id, id, notification);
    if (!ARCP__HASH_ADDED(notification)) {
        arcp__free(notification);
        return NULL;
    }
    DL_APPEND2(hooks->oldest, notification, previous, next);
    hook->count++;
    hook->bytes += bytes_of(notification);
    hooks->bytes += bytes_of(notification);
    return notification;
}

void arcp__notification_free(arcp__hooks *hooks, arcp__notification *notification)
{
    arcp__hook *hook = notification->hook;
    arcp__notification_enter(hooks, notification, ARCP__NOTIFICATION_NEW);
    hook->count--;
    hook->bytes -= bytes_of(notification);
    hooks->bytes -= bytes_of(notification);
    HASH_DEL(hooks->by_id, notification);
    DL_DELETE2(hooks->oldest, notification, previous, next);
    arcp__free(notification);
}

static void remove_notification(arcp__hooks *hooks, arcp__notification *notification)
{
    arcp__hook *hook = notification->hook;
    arcp__batch_delete(hooks->log, ARCP_STORE_OUTBOX, arcp_span_cstr(notification->id));
    arcp__notification_free(hooks, notification);
    arcp__hook_maybe_free(hooks, hook);
}

/* ---- how many are kept ---- */

/* The oldest one of the hook whose notifications take most. */
static arcp__notification *first_of_largest(const arcp__hooks *hooks)
{
    const arcp__hook *largest = hooks->all;
    for (const arcp__hook *hook = hooks->all; hook != NULL; hook = hook->hh.next) {
        largest = hook->bytes > largest->bytes ? hook : largest;
    }
    arcp__notification *first = hooks->oldest;
    while (first->hook != largest) {
        first = first->next;
    }
    return first;
}

/* Removes the oldest notifications while there are too many. */
static void make_room(arcp__hooks *hooks)
{
    while (hooks->failed_count > ARCP__OUTBOX_FAILED_MAX || hooks->bytes > hooks->bytes_max) {
        if (!hooks->is_short) {
            hooks->is_short = true;
            arcp__effect_log(hooks->log, ARCP__LOG_ERROR,
                             "notifications that were not delivered are removed, the oldest first, "
                             "because more than %u have failed or all take more than %llu bytes",
                             ARCP__OUTBOX_FAILED_MAX, (unsigned long long)hooks->bytes_max);
        }
        hooks->metrics.dropped++;
        remove_notification(hooks, hooks->failed != NULL ? hooks->failed : first_of_largest(hooks));
    }
}

/* ---- attempts ---- */

static void give_up(arcp__hooks *hooks, arcp__notification *notification)
{
    hooks->metrics.failed++;
    arcp__notification_enter(hooks, notification, ARCP__NOTIFICATION_FAILED);
    arcp__notification_store(hooks, notification);
    arcp__effect_log(hooks->log, ARCP__LOG_ERROR,
                     "hook \"%s\": the notification %s of %s was not delivered within 24 h and is "
                     "attempted no more (arcp hooks retry %s): %s",
                     notification->hook->name, notification->id, notification->job_id,
                     notification->id, notification->error);
}

/* From 1 s on the pause doubles, up to ARCP__HOOK_PAUSE_SEC_MAX; between half of it and all of it
 * passes. */
static int64_t pause_ns(arcp__hooks *hooks, uint64_t tries)
{
    uint16_t part = 0;
    const uint64_t doubled = UINT64_C(1) << (tries - 1 < 20 ? tries - 1 : 20);
    const int64_t whole_ns =
        (int64_t)(doubled < ARCP__HOOK_PAUSE_SEC_MAX ? doubled : ARCP__HOOK_PAUSE_SEC_MAX) *
        ARCP_NS_PER_SEC;
    arcp__context_random(hooks->context, &part, sizeof part);
    return whole_ns / 2 + whole_ns / 2 * part / UINT16_MAX;
}

static void attempt_failed(arcp__hooks *hooks, arcp__notification *notification, arcp_span why)
{
    arcp__hook *hook = notification->hook;
    const arcp_time now = hooks->context->now;
    const size_t size = arcp__utf8_cut(why, ARCP__HOOK_ERROR_MAX);
    memcpy(notification->error, why.data == NULL ? "" : why.data, size);
    notification->error[size] = '\0';
    notification->tries++;
    hooks->metrics.retried++;
    if (!hook->is_failing) {
        hook->is_failing = true;
        arcp__effect_log(hooks->log, ARCP__LOG_WARN,
                         "hook \"%s\": a notification was not delivered, and is attempted again "
                         "for 24 h: %s",
                         hook->name, notification->error);
    }
    if (now.wall_ns - notification->since_wall_ns >= ARCP__HOOK_RETRY_SEC * ARCP_NS_PER_SEC) {
        give_up(hooks, notification);
        return;
    }
    arcp__notification_enter(hooks, notification, ARCP__NOTIFICATION_WAITING);
    arcp__context_arm(hooks->context, &notification->timer, hooks->timer_kind, notification,
                      now.mono_ns + pause_ns(hooks, notification->tries));
}

static void send(arcp__hooks *hooks, arcp__notification *notification)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, notification->hook->name);
    arcp_buf_append_byte(&text, '\n');
    arcp_buf_append(&text, arcp_span_make(notification->body, notification->body_size));
    notification->number = ++hooks->last_number;
    arcp__notification_enter(hooks, notification, ARCP__NOTIFICATION_SENT);
    arcp__effect_push(hooks->log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_NOTIFY, .id = notification->number},
                      &text, true);
}

void arcp__hooks_run(arcp__hooks *hooks)
{
    if (hooks->oldest == NULL || hooks->context->closing) {
        return;
    }
    make_room(hooks);
    for (arcp__hook *hook = hooks->all; hook != NULL && hooks->due_count != 0;
         hook = hook->hh.next) {
        while (hook->due != NULL && hook->agent == NULL && !hooks->context->failed) {
            attempt_failed(hooks, hook->due, ARCP_SPAN_LITERAL("the hook is not configured"));
        }
        while (hook->due != NULL && hook->sent_count < ARCP__HOOK_SENT_MAX &&
               !hooks->context->failed) {
            send(hooks, hook->due);
        }
    }
}

void arcp__hooks_notified(arcp__hooks *hooks, uint64_t number, arcp_status status,
                          arcp_span message)
{
    arcp__notification *notification = hooks->sent;
    while (notification != NULL && notification->number != number) {
        notification = notification->next_there;
    }
    if (notification == NULL) {
        return;
    }
    if (status != ARCP_OK) {
        attempt_failed(hooks, notification, message);
        return;
    }
    hooks->metrics.delivered++;
    hooks->is_short = false;
    if (notification->hook->is_failing) {
        notification->hook->is_failing = false;
        arcp__effect_log(hooks->log, ARCP__LOG_INFO,
                         "hook \"%s\": notifications are delivered again",
                         notification->hook->name);
    }
    remove_notification(hooks, notification);
}

/* ---- operators ---- */

static arcp__notification *find(const arcp__hooks *hooks, arcp_span id)
{
    arcp__notification *notification = NULL;
    HASH_FIND(hh, hooks->by_id, id.data, id.size, notification);
    return notification;
}

bool arcp__notification_retry(arcp__hooks *hooks, arcp_span id)
{
    arcp__notification *notification = find(hooks, id);
    if (notification != NULL && (notification->state == ARCP__NOTIFICATION_FAILED ||
                                 notification->state == ARCP__NOTIFICATION_WAITING)) {
        notification->since_wall_ns = hooks->context->now.wall_ns;
        notification->tries = 0;
        arcp__notification_enter(hooks, notification, ARCP__NOTIFICATION_DUE);
        arcp__notification_store(hooks, notification);
    }
    return notification != NULL;
}

bool arcp__notification_drop(arcp__hooks *hooks, arcp_span id)
{
    arcp__notification *notification = find(hooks, id);
    if (notification != NULL) {
        hooks->metrics.dropped++;
        remove_notification(hooks, notification);
    }
    return notification != NULL;
}

size_t arcp__notification_count(const arcp__hooks *hooks)
{
    return HASH_COUNT(hooks->by_id);
}

/* The time of the wall clock at which the timer is due. */
static int64_t next_wall_ns(const arcp__hooks *hooks, const arcp__notification *notification)
{
    const arcp_time now = hooks->context->now;
    return notification->state == ARCP__NOTIFICATION_WAITING
               ? now.wall_ns + (notification->timer.at_ns - now.mono_ns)
               : 0;
}

bool arcp__notification_next(const arcp__hooks *hooks, const char *id, arcp__notification_view *out)
{
    static const char *const states[] = {[ARCP__NOTIFICATION_NEW] = "",
                                         [ARCP__NOTIFICATION_DUE] = "due",
                                         [ARCP__NOTIFICATION_SENT] = "sent",
                                         [ARCP__NOTIFICATION_WAITING] = "waiting",
                                         [ARCP__NOTIFICATION_FAILED] = "failed"};
    const arcp__notification *at = find(hooks, arcp_span_cstr(id));
    if (at != NULL) {
        at = at->next;
    } else {
        for (at = hooks->oldest; at != NULL && strcmp(at->id, id) <= 0;) {
            at = at->next;
        }
    }
    if (at == NULL) {
        return false;
    }
    *out = (arcp__notification_view){.id = at->id,
                                     .hook = at->hook->name,
                                     .event = arcp__hook_event_name(at->event),
                                     .job_id = at->job_id,
                                     .target = at->hook->target == NULL ? "" : at->hook->target,
                                     .state = states[at->state],
                                     .at_wall_ns = at->at_wall_ns,
                                     .next_wall_ns = next_wall_ns(hooks, at),
                                     .tries = at->tries,
                                     .error = at->error};
    return true;
}
