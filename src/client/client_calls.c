/* What a program asks the runtime for, in both forms: a call that answers by a callback starts a
 * request, one that blocks starts it and waits. */
#include "base/clock.h"
#include "client/client_driver.h"
#include "client/client_job.h"

/* ---- waiting ---- */

void arcp__client_begin_wait(arcp_client *client, int64_t timeout_ms, arcp__client_wait *wait)
{
    uv_mutex_lock(&client->mutex);
    int64_t ms = timeout_ms == ARCP_WAIT_DEFAULT ? client->given->request_timeout_ms : timeout_ms;
    wait->until_ns = arcp__client_after(arcp__clock_now().mono_ns, arcp__client_ms(ms));
    /* One that came while nobody waited, or as the reply to what was waited for came, is for
     * this call. */
    bool is_late = client->waiting == 0 && client->interruptions != client->interruptions_told;
    wait->interruptions = is_late ? client->interruptions_told : client->interruptions;
    client->waiting++;
    if (client->is_paused) {
        (void)uv_async_send(&client->wake); /* reading goes on while somebody waits */
    }
}

void arcp__client_end_wait(arcp_client *client)
{
    client->waiting--;
    uv_mutex_unlock(&client->mutex);
}

arcp_status arcp__client_wait_more(arcp_client *client, const arcp__client_wait *wait,
                                   arcp_failure *failure)
{
    if (client->interruptions != wait->interruptions) {
        client->interruptions_told = client->interruptions;
        return arcp__client_failure_set(failure, ARCP_E_INTERRUPTED, "the wait was interrupted");
    }
    if (wait->until_ns == ARCP_TIME_NEVER) {
        uv_cond_wait(&client->changed, &client->mutex);
        return ARCP_OK;
    }
    int64_t left_ns = wait->until_ns - arcp__clock_now().mono_ns;
    if (left_ns <= 0) {
        return arcp__client_failure_set(failure, ARCP_E_DEADLINE, "the time to wait is up");
    }
    (void)uv_cond_timedwait(&client->changed, &client->mutex, (uint64_t)left_ns);
    return ARCP_OK;
}

bool arcp__client_is_over(const arcp_client *client)
{
    return client->session->state == ARCP__SESSION_CLOSED;
}

/* ---- requests ---- */

static arcp_status start(arcp_client *client, arcp__client_ask ask, arcp_reply_fn on_reply,
                         void *user, arcp_error *err)
{
    ask.on_reply = on_reply;
    ask.user = user;
    arcp__client_lock(client);
    arcp_status status =
        arcp__client_session_ask(client->session, arcp__clock_now(), &ask, NULL, err);
    arcp__client_settle(client);
    arcp__client_unlock(client);
    return status;
}

/* Where a request's reply goes; on the stack of the call that waits. NULL: it is not wanted. */
typedef struct reply_slot {
    arcp_failure *failure;
    arcp_job **job;       /* the caller's then */
    arcp_job_page **page; /* likewise */
    int64_t *round_trip_ns;
    bool done;
    arcp_status status;
} reply_slot;

static void fill_slot(void *user, arcp_client *client, const arcp_reply *reply)
{
    reply_slot *slot = user;
    slot->done = true;
    slot->status = reply->status;
    if (reply->failure != NULL) {
        (void)arcp__client_failure_copy(slot->failure, reply->failure);
    } else if (slot->job != NULL) {
        *slot->job = reply->job;
    } else if (slot->page != NULL) {
        *slot->page = reply->page;
    } else if (slot->round_trip_ns != NULL) {
        *slot->round_trip_ns = reply->round_trip_ns;
    }
    uv_cond_broadcast(&client->changed);
}

/* Starts the request and waits for its reply. */
static arcp_status ask_and_wait(arcp_client *client, arcp__client_ask ask, int64_t timeout_ms,
                                reply_slot slot)
{
    arcp__client_request *request = NULL;
    arcp__client_wait wait;
    arcp_error err = {0};
    ask.on_reply = fill_slot;
    ask.user = &slot;
    arcp__client_begin_wait(client, timeout_ms, &wait);
    arcp_status status =
        arcp__client_session_ask(client->session, arcp__clock_now(), &ask, &request, &err);
    if (status != ARCP_OK) {
        arcp__client_end_wait(client);
        return arcp__client_failure_from_error(slot.failure, &err);
    }
    arcp__client_settle(client);
    while (!slot.done && status == ARCP_OK) {
        status = arcp__client_wait_more(client, &wait, slot.failure);
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
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_SUBMIT, .submit = options};
    return start(client, ask, on_reply, user, err);
}

arcp_status arcp_client_submit(arcp_client *client, const arcp_submit_options *options,
                               int64_t timeout_ms, arcp_job **out, arcp_failure *failure)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_SUBMIT, .submit = options};
    return ask_and_wait(client, ask, timeout_ms, (reply_slot){.job = out, .failure = failure});
}

arcp_status arcp_client_subscribe_start(arcp_client *client, const arcp_subscribe_options *options,
                                        arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_SUBSCRIBE, .subscribe = options};
    return start(client, ask, on_reply, user, err);
}

arcp_status arcp_client_subscribe(arcp_client *client, const arcp_subscribe_options *options,
                                  int64_t timeout_ms, arcp_job **out, arcp_failure *failure)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_SUBSCRIBE, .subscribe = options};
    return ask_and_wait(client, ask, timeout_ms, (reply_slot){.job = out, .failure = failure});
}

arcp_status arcp_client_cancel_start(arcp_client *client, arcp_span job_id, arcp_span reason,
                                     arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_ask ask = {
        .kind = ARCP__CLIENT_ASK_CANCEL, .job_id = job_id, .reason = reason};
    return start(client, ask, on_reply, user, err);
}

arcp_status arcp_client_cancel(arcp_client *client, arcp_span job_id, arcp_span reason,
                               int64_t timeout_ms, arcp_failure *failure)
{
    const arcp__client_ask ask = {
        .kind = ARCP__CLIENT_ASK_CANCEL, .job_id = job_id, .reason = reason};
    return ask_and_wait(client, ask, timeout_ms, (reply_slot){.failure = failure});
}

arcp_status arcp_client_list_start(arcp_client *client, const arcp_list_options *options,
                                   arcp_reply_fn on_reply, void *user, arcp_error *err)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_LIST, .list = options};
    return start(client, ask, on_reply, user, err);
}

arcp_status arcp_client_list(arcp_client *client, const arcp_list_options *options,
                             int64_t timeout_ms, arcp_job_page **out, arcp_failure *failure)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_LIST, .list = options};
    return ask_and_wait(client, ask, timeout_ms, (reply_slot){.page = out, .failure = failure});
}

arcp_status arcp_client_ping_start(arcp_client *client, arcp_reply_fn on_reply, void *user,
                                   arcp_error *err)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_PING};
    return start(client, ask, on_reply, user, err);
}

arcp_status arcp_client_ping(arcp_client *client, int64_t timeout_ms, int64_t *round_trip_ns,
                             arcp_failure *failure)
{
    const arcp__client_ask ask = {.kind = ARCP__CLIENT_ASK_PING};
    return ask_and_wait(client, ask, timeout_ms,
                        (reply_slot){.round_trip_ns = round_trip_ns, .failure = failure});
}

/* ---- what is not answered ---- */

arcp_status arcp_client_unsubscribe(arcp_client *client, arcp_span job_id, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status =
        arcp__client_session_unsubscribe(client->session, arcp__clock_now(), job_id, err);
    arcp__client_settle(client);
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_ack(arcp_client *client, uint64_t event_seq, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_status status =
        arcp__client_session_ack(client->session, arcp__clock_now(), event_seq, err);
    arcp__client_settle(client);
    arcp__client_unlock(client);
    return status;
}
