/* The program's requests in both forms: a call with a callback starts a request; a blocking call
 * starts it and waits. Also the retry loop of the errors guide,
 * arcp_client_submit_with_retry. */
#include <arcp/watch.h>

#include "base/clock.h"
#include "base/options.h"
#include "client/client_driver.h"
#include "client/client_job.h"

/* ---- waiting ---- */

void arcp__client_begin_wait(arcp_client *client, int64_t timeout_ms, arcp__client_wait *wait)
{
    uv_mutex_lock(&client->mutex);
    const int64_t ms =
        timeout_ms == ARCP_WAIT_DEFAULT ? client->given->request_timeout_ms : timeout_ms;
    wait->until_ns = arcp__client_after(arcp__clock_now().mono_ns, arcp__client_ms(ms));
    /* An interruption while no call was waiting, or at the moment a reply arrived, applies to this
     * call. */
    const bool is_late =
        client->waiting == 0 && client->interruptions != client->interruptions_handled;
    wait->interruptions = is_late ? client->interruptions_handled : client->interruptions;
    client->waiting++;
    if (client->is_paused) {
        (void)uv_async_send(&client->wake); /* reading continues while a call waits */
    }
}

void arcp__client_end_wait(arcp_client *client)
{
    client->waiting--;
    uv_mutex_unlock(&client->mutex);
}

arcp_status arcp__client_wait_more(arcp_client *client, const arcp__client_wait *wait,
                                   arcp_error *err)
{
    if (client->interruptions != wait->interruptions) {
        client->interruptions_handled = client->interruptions;
        return arcp_error_set(err, ARCP_E_INTERRUPTED, "the wait was interrupted");
    }
    if (wait->until_ns == ARCP_TIME_NEVER) {
        uv_cond_wait(&client->changed, &client->mutex);
        return ARCP_OK;
    }
    const int64_t left_ns = wait->until_ns - arcp__clock_now().mono_ns;
    if (left_ns <= 0) {
        return arcp_error_set(err, ARCP_E_DEADLINE, "the wait timed out");
    }
    (void)uv_cond_timedwait(&client->changed, &client->mutex, (uint64_t)left_ns);
    return ARCP_OK;
}

bool arcp__client_is_over(const arcp_client *client)
{
    return client->session->state == ARCP__SESSION_CLOSED;
}

/* ---- requests ---- */

static arcp_status start(arcp_client *client, arcp__client_request_args args,
                         arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    args.on_reply = on_reply;
    args.user = user;
    arcp__client_lock(client);
    const arcp_status status =
        arcp__client_session_request(client->session, arcp__clock_now(), &args, NULL, err);
    arcp__client_settle(client);
    arcp__client_unlock(client);
    return status;
}

/* Where the reply to a request is stored; on the stack of the waiting call. NULL members are not
 * wanted. */
typedef struct reply_slot {
    arcp_error *err;
    arcp_job **job;       /* the caller gets the handle */
    arcp_job_page **page; /* the caller frees it */
    int64_t *round_trip_ns;
    arcp_buf *payload;
    bool done;
    arcp_status status;
} reply_slot;

static void fill_slot(void *user, arcp_client *client, const arcp_reply *reply)
{
    reply_slot *slot = user;
    slot->done = true;
    slot->status = reply->status;
    if (reply->error != NULL) {
        (void)arcp_error_copy(slot->err, reply->error);
    } else if (slot->job != NULL) {
        *slot->job = reply->job;
    } else if (slot->page != NULL) {
        *slot->page = reply->page;
    } else if (slot->payload != NULL) {
        arcp_buf_append(slot->payload, reply->payload);
    } else if (slot->round_trip_ns != NULL) {
        *slot->round_trip_ns = reply->round_trip_ns;
    }
    uv_cond_broadcast(&client->changed);
}

/* Starts the request and waits for its reply. */
static arcp_status request_and_wait(arcp_client *client, arcp__client_request_args args,
                                    int64_t timeout_ms, reply_slot slot)
{
    arcp__client_request *request = NULL;
    arcp__client_wait wait;
    args.on_reply = fill_slot;
    args.user = &slot;
    arcp__client_begin_wait(client, timeout_ms, &wait);
    arcp_status status =
        arcp__client_session_request(client->session, arcp__clock_now(), &args, &request, slot.err);
    if (status != ARCP_OK) {
        arcp__client_end_wait(client);
        return status;
    }
    arcp__client_settle(client);
    while (!slot.done && status == ARCP_OK) {
        status = arcp__client_wait_more(client, &wait, slot.err);
    }
    if (!slot.done) {
        arcp__client_request_abandon(client->session, request);
    }
    arcp__client_end_wait(client);
    return slot.done ? slot.status : status;
}

arcp_status arcp_client_submit_start(arcp_client *client, const arcp_submit_options *options,
                                     arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_SUBMIT, .submit = options};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_submit(arcp_client *client, const arcp_submit_options *options,
                               int64_t timeout_ms, arcp_job **out, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_SUBMIT, .submit = options};
    return request_and_wait(client, args, timeout_ms, (reply_slot){.job = out, .err = err});
}

arcp_status arcp_client_subscribe_start(arcp_client *client, const arcp_subscribe_options *options,
                                        arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_SUBSCRIBE,
                                            .subscribe = options};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_subscribe(arcp_client *client, const arcp_subscribe_options *options,
                                  int64_t timeout_ms, arcp_job **out, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_SUBSCRIBE,
                                            .subscribe = options};
    return request_and_wait(client, args, timeout_ms, (reply_slot){.job = out, .err = err});
}

arcp_status arcp_client_cancel_start(arcp_client *client, arcp_span job_id, arcp_span reason,
                                     arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_request_args args = {
        .kind = ARCP__CLIENT_REQUEST_CANCEL, .job_id = job_id, .reason = reason};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_cancel(arcp_client *client, arcp_span job_id, arcp_span reason,
                               int64_t timeout_ms, arcp_error *err)
{
    const arcp__client_request_args args = {
        .kind = ARCP__CLIENT_REQUEST_CANCEL, .job_id = job_id, .reason = reason};
    return request_and_wait(client, args, timeout_ms, (reply_slot){.err = err});
}

arcp_status arcp_client_list_start(arcp_client *client, const arcp_list_options *options,
                                   arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_LIST, .list = options};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_list(arcp_client *client, const arcp_list_options *options,
                             int64_t timeout_ms, arcp_job_page **out, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_LIST, .list = options};
    return request_and_wait(client, args, timeout_ms, (reply_slot){.page = out, .err = err});
}

arcp_status arcp_client_view_start(arcp_client *client, const char *name, arcp_span payload,
                                   arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_request_args args = {
        .kind = ARCP__CLIENT_REQUEST_VIEW, .view = name, .payload = payload};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_view(arcp_client *client, const char *name, arcp_span payload,
                             int64_t timeout_ms, arcp_buf *out, arcp_error *err)
{
    const arcp__client_request_args args = {
        .kind = ARCP__CLIENT_REQUEST_VIEW, .view = name, .payload = payload};
    const arcp_status status =
        request_and_wait(client, args, timeout_ms, (reply_slot){.payload = out, .err = err});
    return status == ARCP_OK ? arcp_buf_status(out) : status;
}

arcp_status arcp_client_watch_start(arcp_client *client, const arcp_watch_options *options,
                                    arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_WATCH, .watch = options};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_watch(arcp_client *client, const arcp_watch_options *options,
                              int64_t timeout_ms, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_WATCH, .watch = options};
    return request_and_wait(client, args, timeout_ms, (reply_slot){.err = err});
}

arcp_status arcp_client_unwatch_start(arcp_client *client, arcp_reply_fn on_reply, void *user,
                                      arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_UNWATCH};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_unwatch(arcp_client *client, int64_t timeout_ms, arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_UNWATCH};
    return request_and_wait(client, args, timeout_ms, (reply_slot){.err = err});
}

arcp_status arcp_client_ping_start(arcp_client *client, arcp_reply_fn on_reply, void *user,
                                   arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_PING};
    return start(client, args, on_reply, user, err);
}

arcp_status arcp_client_ping(arcp_client *client, int64_t timeout_ms, int64_t *round_trip_ns,
                             arcp_error *err)
{
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_PING};
    return request_and_wait(client, args, timeout_ms,
                            (reply_slot){.round_trip_ns = round_trip_ns, .err = err});
}

/* ---- messages without a response ---- */

arcp_status arcp_client_unsubscribe(arcp_client *client, arcp_span job_id, arcp_error *err)
{
    arcp__client_lock(client);
    const arcp_status status =
        arcp__client_session_unsubscribe(client->session, arcp__clock_now(), job_id, err);
    arcp__client_settle(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_ack(arcp_client *client, uint64_t event_seq, arcp_error *err)
{
    arcp__client_lock(client);
    const arcp_status status =
        arcp__client_session_ack(client->session, arcp__clock_now(), event_seq, err);
    arcp__client_settle(client);
    arcp__client_unlock(client);
    return status;
}

/* ---- the retry loop of the errors guide ---- */

/* The longest retry_after_ms of a runtime that is honoured: one day. */
#define RETRY_AFTER_MAX_MS UINT64_C(86400000)

static void random_bytes(void *user, void *out, size_t size)
{
    (void)user;
    arcp__random(out, size);
}

/* The remaining time. */
static int64_t left_ms(int64_t until_ns)
{
    if (until_ns == ARCP_TIME_NEVER) {
        return ARCP_WAIT_FOREVER;
    }
    const int64_t left_ns = until_ns - arcp__clock_now().mono_ns;
    return left_ns <= 0 ? 0 : (left_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS;
}

/* Sleeps before the attempt: the backoff, half of it random, or retry_after_ms if that is longer.
 * ARCP_E_DEADLINE when the remaining time is too short, ARCP_E_INTERRUPTED. */
static arcp_status pause_before(arcp_client *client, const arcp_retry_options *retry,
                                const arcp_error *why, uint32_t attempt, int64_t until_ns,
                                arcp_error *err)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 1000, 65536};
    uint64_t requested_ms = 0;
    if (arcp_json_scan(&json, arcp_span_cstr(arcp_error_details(why)), &limits, NULL) == ARCP_OK) {
        const arcp_json_ref least =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("retry_after_ms"));
        (void)arcp_json_u64(&json, least, &requested_ms);
    }
    arcp__json_fini(&json);
    requested_ms = requested_ms < RETRY_AFTER_MAX_MS ? requested_ms : RETRY_AFTER_MAX_MS;

    int64_t pause = retry->first_ms;
    for (uint32_t step = 1; step < attempt && pause < 60000; step++) {
        pause *= 2;
    }
    uint64_t random = 0;
    arcp__random(&random, sizeof random);
    pause -= (int64_t)(random % (uint64_t)(pause / 2 + 1));
    pause = pause < (int64_t)requested_ms ? (int64_t)requested_ms : pause;
    if (pause >= left_ms(until_ns)) {
        return ARCP_E_DEADLINE;
    }
    arcp__client_wait wait;
    arcp_status status = ARCP_OK;
    arcp__client_begin_wait(client, pause, &wait);
    while (status == ARCP_OK && !arcp__client_is_over(client)) {
        status = arcp__client_wait_more(client, &wait, NULL);
    }
    arcp__client_end_wait(client);
    if (status == ARCP_E_INTERRUPTED) {
        return arcp_error_set(err, ARCP_E_INTERRUPTED, "the wait was interrupted");
    }
    return ARCP_OK;
}

/* [arcp:EG-11] */
arcp_status arcp_client_submit_with_retry(arcp_client *client, const arcp_submit_options *submit,
                                          const arcp_retry_options *given, arcp_job **out,
                                          arcp_error *err)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_retry_options retry = arcp_retry_options_init();
    arcp_buf details = arcp_buf_init();
    arcp_error local = {.details = &details};
    char key[4 + ARCP__ULID_SIZE] = "run_";
    arcp_status status =
        arcp__options_take(&options, submit, sizeof options, "arcp_submit_options", err);
    if (status == ARCP_OK) {
        status = arcp__options_take(&retry, given, sizeof retry, "arcp_retry_options", err);
    }
    if (status == ARCP_OK && (retry.attempts == 0 || retry.first_ms < 0)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "attempts must be at least 1, and first_ms at least 0");
    }
    if (status != ARCP_OK) {
        return status;
    }
    const bool has_key = options.idempotency_key.size != 0;
    bool needs_key = !has_key;
    const int64_t now_ns = arcp__clock_now().mono_ns;
    const int64_t until_ns = arcp__client_after(now_ns, arcp__client_ms(retry.timeout_ms));
    for (uint32_t attempt = 1;; attempt++) {
        arcp_job *job = NULL;
        const arcp_outcome *outcome = NULL;
        if (needs_key) {
            arcp__ulid_source source = {.random = random_bytes};
            arcp__ulid_next(&source, arcp__clock_now().wall_ns / ARCP_NS_PER_MS, key + 4);
            options.idempotency_key = arcp_span_make(key, sizeof key);
        }
        int64_t submit_ms = left_ms(until_ns);
        submit_ms = submit_ms > client->given->request_timeout_ms ? ARCP_WAIT_DEFAULT : submit_ms;
        status = arcp_client_submit(client, &options, submit_ms, &job, &local);
        if (status == ARCP_OK) {
            status = arcp_job_wait(job, left_ms(until_ns), &outcome, &local);
        }
        const bool has_ended = status == ARCP_OK;
        const arcp_error *why = has_ended ? job->outcome.error : &local;
        /* A key always denotes the same job, even after it has ended, so a new job needs a new key.
         * A key that the program chose is never replaced. */
        const bool again = why != NULL && why->retryable && attempt < retry.attempts &&
                           !(has_ended && has_key) &&
                           pause_before(client, &retry, why, attempt, until_ns, &local) == ARCP_OK;
        if (!again && has_ended) {
            *out = job;
            break;
        }
        arcp_job_unref(job);
        needs_key = has_ended;
        if (!again) {
            (void)arcp_error_copy(err, &local);
            status = local.status == ARCP_OK ? status : local.status;
            break;
        }
    }
    arcp_buf_fini(&details);
    return status;
}
