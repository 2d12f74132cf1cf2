/* Calls that wait: for a reply, and how waiting itself is done. */
#include "base/clock.h"
#include "client/client_driver.h"
#include "client/client_failure.h"

/* ---- waiting ---- */

void arcp__client_begin_wait(arcp_client *client, int64_t timeout_ms, arcp__client_wait *wait)
{
    int64_t now_ns = arcp__clock_now().mono_ns;
    int64_t ms = timeout_ms == ARCP_WAIT_DEFAULT ? client->request_timeout_ms : timeout_ms;
    wait->until_ns = ms > (ARCP_TIME_NEVER - now_ns) / ARCP_NS_PER_MS
                         ? ARCP_TIME_NEVER
                         : now_ns + ms * ARCP_NS_PER_MS;
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

arcp_status arcp__client_tell_end(arcp_client *client, arcp_failure *failure)
{
    const arcp_failure *why = arcp__client_session_failure(client->session);
    if (why->error.status == ARCP_OK) {
        return arcp__client_failure_set(failure, ARCP_E_CLOSED, "the client is closed");
    }
    if (why->error.status == ARCP_E_DEADLINE) { /* would read as if only this wait was over */
        return arcp__client_failure_set(failure, ARCP_E_CLOSED, "%s", why->error.message);
    }
    return arcp__client_failure_copy(failure, why);
}

bool arcp__client_is_over(const arcp_client *client)
{
    return arcp__client_session_state_of(client->session) == ARCP__SESSION_CLOSED;
}

/* ---- requests ---- */

/* Where a request's reply goes; on the stack of the call that waits. */
typedef struct reply_slot {
    arcp_failure *failure; /* the caller's, may be NULL */
    arcp__client_request *request;
    arcp_error err; /* why there is no request */
    bool done;
    arcp_status status;
    arcp_job *job;
    arcp_job_page *page;
    int64_t round_trip_ns;
} reply_slot;

static void fill_slot(void *user, arcp_client *client, const arcp_reply *reply)
{
    reply_slot *slot = user;
    slot->done = true;
    slot->status = reply->status;
    slot->job = reply->job;
    slot->page = reply->page;
    slot->round_trip_ns = reply->round_trip_ns;
    if (reply->failure != NULL) {
        (void)arcp__client_failure_copy(slot->failure, reply->failure);
    }
    uv_cond_broadcast(&client->changed);
}

/* Waits for the reply to a request that was just made, unless it was refused (`asked`); takes the
 * lock off. */
static arcp_status await_reply(arcp_client *client, arcp_status asked, reply_slot *slot,
                               int64_t timeout_ms)
{
    if (asked != ARCP_OK) {
        uv_mutex_unlock(&client->mutex);
        return arcp__client_failure_from_error(slot->failure, &slot->err);
    }
    arcp__client_wait wait;
    arcp_status status = ARCP_OK;
    arcp__client_begin_wait(client, timeout_ms, &wait);
    arcp__client_settle(client);
    while (!slot->done && status == ARCP_OK) {
        status = arcp__client_wait_more(client, &wait, slot->failure);
    }
    arcp__client_end_wait(client);
    if (slot->done) {
        status = slot->status;
    } else {
        arcp__client_request_abandon(client->session, slot->request);
    }
    uv_mutex_unlock(&client->mutex);
    return status;
}

arcp_status arcp_client_submit(arcp_client *client, const arcp_submit_options *options,
                               int64_t timeout_ms, arcp_job **out, arcp_failure *failure)
{
    reply_slot slot = {.failure = failure};
    uv_mutex_lock(&client->mutex);
    arcp_status status = arcp__client_session_submit(client->session, arcp__clock_now(), options,
                                                     fill_slot, &slot, &slot.request, &slot.err);
    status = await_reply(client, status, &slot, timeout_ms);
    if (status == ARCP_OK) {
        *out = slot.job;
    }
    return status;
}

arcp_status arcp_client_subscribe(arcp_client *client, const arcp_subscribe_options *options,
                                  int64_t timeout_ms, arcp_job **out, arcp_failure *failure)
{
    reply_slot slot = {.failure = failure};
    uv_mutex_lock(&client->mutex);
    arcp_status status = arcp__client_session_subscribe(client->session, arcp__clock_now(), options,
                                                        fill_slot, &slot, &slot.request, &slot.err);
    status = await_reply(client, status, &slot, timeout_ms);
    if (status == ARCP_OK) {
        *out = slot.job;
    }
    return status;
}

arcp_status arcp_client_cancel(arcp_client *client, arcp_span job_id, arcp_span reason,
                               int64_t timeout_ms, arcp_failure *failure)
{
    reply_slot slot = {.failure = failure};
    uv_mutex_lock(&client->mutex);
    arcp_status status =
        arcp__client_session_cancel(client->session, arcp__clock_now(), job_id, reason, fill_slot,
                                    &slot, &slot.request, &slot.err);
    return await_reply(client, status, &slot, timeout_ms);
}

arcp_status arcp_client_list(arcp_client *client, const arcp_list_options *options,
                             int64_t timeout_ms, arcp_job_page **out, arcp_failure *failure)
{
    reply_slot slot = {.failure = failure};
    uv_mutex_lock(&client->mutex);
    arcp_status status = arcp__client_session_list(client->session, arcp__clock_now(), options,
                                                   fill_slot, &slot, &slot.request, &slot.err);
    status = await_reply(client, status, &slot, timeout_ms);
    if (status == ARCP_OK) {
        *out = slot.page;
    }
    return status;
}

arcp_status arcp_client_ping(arcp_client *client, int64_t timeout_ms, int64_t *round_trip_ns,
                             arcp_failure *failure)
{
    reply_slot slot = {.failure = failure};
    uv_mutex_lock(&client->mutex);
    arcp_status status = arcp__client_session_ping(client->session, arcp__clock_now(), fill_slot,
                                                   &slot, &slot.request, &slot.err);
    status = await_reply(client, status, &slot, timeout_ms);
    if (status == ARCP_OK && round_trip_ns != NULL) {
        *round_trip_ns = slot.round_trip_ns;
    }
    return status;
}
