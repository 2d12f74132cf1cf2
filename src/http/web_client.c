#include "http/web_client.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "http/web_call.h"

struct arcp__web_client {
    arcp__curl_loop curl;
    uv_timer_t soon;       /* works through `todo` outside of curl */
    arcp__web_call *calls; /* until they are freed */
    arcp__web_call *todo;
    arcp__web_client_options options;
    char *ca_file;
    char *user_agent;
    bool is_turning; /* in `turn` */
    bool must_free;
};

/* ---- the end of a call ---- */

static void on_call_closed(uv_handle_t *handle)
{
    arcp__web_call *call = handle->data;
    arcp__curl_loop *curl = &call->client->curl;
    arcp__free(call);
    arcp__curl_loop_release(curl);
}

static void detach(arcp__web_call *call)
{
    if (call->easy != NULL) {
        (void)curl_multi_remove_handle(call->client->curl.multi, call->easy);
    }
    arcp__web_call_tear_down(call);
}

/* Not inside curl. */
static void destroy(arcp__web_call *call)
{
    detach(call);
    DL_DELETE2(call->client->calls, call, previous, next);
    uv_close((uv_handle_t *)&call->timer, on_call_closed);
}

static void add_todo(arcp__web_call *call)
{
    if (!call->is_todo) {
        call->is_todo = true;
        call->next_todo = call->client->todo;
        call->client->todo = call;
    }
}

/* Ends a call with its event. Not inside curl. */
static void finish(arcp__web_call *call, CURLcode code)
{
    const arcp__web_client_end end = arcp__web_call_end(call, code);
    call->state = ARCP__WEB_CALL_ENDED;
    (void)uv_timer_stop(&call->timer);
    detach(call);
    call->request.events->done(call->request.user, &end);
    if (!call->is_todo) {
        destroy(call);
    }
}

static void cancel(arcp__web_call *call)
{
    if (call->state == ARCP__WEB_CALL_ENDED) {
        return;
    }
    call->state = ARCP__WEB_CALL_ENDED;
    (void)uv_timer_stop(&call->timer);
    if (call->client->curl.is_inside) {
        add_todo(call);
    } else if (!call->is_todo) {
        destroy(call);
    }
}

static void on_limit(uv_timer_t *timer)
{
    arcp__web_call *call = timer->data;
    call->problem = arcp__web_call_overdue(call);
    if (call->problem == NULL) {
        arcp__web_call_arm(call);
    } else {
        finish(call, CURLE_OPERATION_TIMEDOUT);
    }
}

/* ---- the turn of the loop ---- */

static void add_to_curl(arcp__web_call *call)
{
    call->state = ARCP__WEB_CALL_ADDED;
    if (curl_multi_add_handle(call->client->curl.multi, call->easy) != CURLM_OK) {
        finish(call, CURLE_OUT_OF_MEMORY);
    }
}

static void resume_in_curl(arcp__web_call *call)
{
    arcp__curl_loop *curl = &call->client->curl;
    call->is_curl_paused = false;
    curl->is_inside = true; /* it passes on the pieces that it has */
    const CURLcode code = curl_easy_pause(call->easy, CURLPAUSE_CONT);
    curl->is_inside = false;
    if (code != CURLE_OK && call->state == ARCP__WEB_CALL_ADDED) {
        finish(call, code);
    }
}

static void take_todo(arcp__web_client *client)
{
    while (client->todo != NULL) {
        arcp__web_call *call = client->todo;
        client->todo = call->next_todo;
        call->is_todo = false;
        if (call->state == ARCP__WEB_CALL_ENDED) {
            destroy(call);
        } else if (call->state == ARCP__WEB_CALL_WAITING) {
            add_to_curl(call);
        } else if (call->is_curl_paused && !call->is_paused) {
            resume_in_curl(call);
        }
    }
}

static void on_soon_closed(uv_handle_t *handle)
{
    arcp__web_client *client = handle->data;
    arcp__curl_loop_release(&client->curl);
}

static void close_client(arcp__web_client *client)
{
    client->must_free = false;
    uv_close((uv_handle_t *)&client->soon, on_soon_closed);
    arcp__curl_loop_close(&client->curl);
}

/* Carries out what events have requested inside curl, and takes the transfers that have ended. */
static void turn(void *user)
{
    arcp__web_client *client = user;
    client->is_turning = true;
    for (CURLMsg *message = NULL;;) {
        int left = 0;
        take_todo(client);
        message = curl_multi_info_read(client->curl.multi, &left);
        if (message == NULL) {
            break;
        }
        if (message->msg == CURLMSG_DONE) {
            const CURLcode code = message->data.result; /* freed with the handle */
            arcp__web_call *call = NULL;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
            finish(call, code);
        }
    }
    client->is_turning = false;
    if (client->must_free) {
        close_client(client);
    }
}

static void on_soon(uv_timer_t *timer)
{
    turn(timer->data);
}

/* ---- the table ---- */

static arcp_status send_request(arcp__web_client *client, const arcp__web_client_request *request,
                                arcp__web_call **out, arcp_error *err)
{
    arcp__web_call *call = arcp__alloc(sizeof *call);
    if (call == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    call->client = client;
    call->curl = &client->curl;
    call->on_limit = on_limit;
    const arcp_status status = arcp__web_call_set_up(call, &client->options, request, err);
    if (status != ARCP_OK) {
        arcp__web_call_tear_down(call);
        arcp__free(call);
        return status;
    }
    (void)uv_timer_init(client->options.loop, &call->timer);
    call->timer.data = call;
    client->curl.open_handles++;
    DL_APPEND2(client->calls, call, previous, next);
    call->started_ms = uv_now(client->options.loop);
    arcp__web_call_arm(call);
    if (client->curl.is_inside) {
        add_todo(call);
    } else if (curl_multi_add_handle(client->curl.multi, call->easy) == CURLM_OK) {
        call->state = ARCP__WEB_CALL_ADDED;
    } else {
        destroy(call);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = call;
    return ARCP_OK;
}

static void pause_call(arcp__web_call *call)
{
    call->is_paused = true;
}

static void resume_call(arcp__web_call *call)
{
    arcp__web_client *client = call->client;
    if (!call->is_paused || call->state == ARCP__WEB_CALL_ENDED) {
        return;
    }
    call->is_paused = false;
    call->received_ms = uv_now(client->options.loop);
    arcp__web_call_arm(call);
    if (call->is_curl_paused) {
        add_todo(call);
        (void)uv_timer_start(&client->soon, on_soon, 0, 0);
    }
}

static void on_closed(void *user)
{
    arcp__web_client *client = user;
    arcp__free(client->ca_file);
    arcp__free(client->user_agent);
    arcp__free(client);
}

static void client_free(arcp__web_client *client)
{
    if (client == NULL) {
        return;
    }
    arcp__web_call *next = NULL;
    for (arcp__web_call *call = client->calls; call != NULL; call = next) {
        next = call->next;
        cancel(call);
    }
    client->must_free = true;
    if (!client->curl.is_inside && !client->is_turning) {
        turn(client);
    }
}

static arcp_status create(const arcp__web_client_options *options, arcp__web_client **out,
                          arcp_error *err)
{
    arcp__web_client *client = arcp__alloc(sizeof *client);
    if (client == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (options->ca_file != NULL) {
        client->ca_file = arcp__copy_cstr(options->ca_file, strlen(options->ca_file));
    }
    if (options->user_agent != NULL) {
        client->user_agent = arcp__copy_cstr(options->user_agent, strlen(options->user_agent));
    }
    client->options = *options;
    client->options.ca_file = client->ca_file;
    client->options.user_agent = client->user_agent;
    client->curl.loop = options->loop;
    client->curl.turned = turn;
    client->curl.closed = on_closed;
    client->curl.user = client;
    const bool has_copies = (options->ca_file == NULL) == (client->ca_file == NULL) &&
                            (options->user_agent == NULL) == (client->user_agent == NULL);
    (void)uv_timer_init(options->loop, &client->soon);
    client->soon.data = client;
    arcp_status status = arcp__curl_loop_init(&client->curl, err);
    client->curl.open_handles++; /* `soon` */
    if (status == ARCP_OK &&
        (!has_copies || curl_multi_setopt(client->curl.multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                                          (long)options->connections) != CURLM_OK)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status != ARCP_OK) {
        close_client(client);
        return status;
    }
    *out = client;
    return ARCP_OK;
}

const arcp__web_client_ops arcp__web_client_by_libcurl = {
    .create = create,
    .free = client_free,
    .send = send_request,
    .pause = pause_call,
    .resume = resume_call,
    .cancel = cancel,
};
