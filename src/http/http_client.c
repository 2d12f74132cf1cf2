/* libcurl's multi interface on libuv: curl requests events of sockets and a timer, and libuv
 * delivers them. Everything runs on the loop's thread. */
#include "http/http_client.h"

#include <arcp/secret.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/hash.h"

#define ANSWER_BYTES_MAX 1048576u

typedef struct transfer {
    struct transfer *previous, *next;
    arcp__http_client *client;
    CURL *easy;
    struct curl_slist *headers;
    arcp__http_message message;
    arcp_buf answer;
} transfer;

typedef struct watch {
    uv_poll_t poll;
    arcp__http_client *client;
    curl_socket_t socket;
} watch;

struct arcp__http_client {
    uv_timer_t timer;
    CURLM *multi;
    transfer *transfers;
    arcp__http_client_options options;
    size_t open_handles;
    bool is_freeing;
};

/* ---- messages ---- */

void arcp__http_message_fini(arcp__http_message *message)
{
    arcp_buf_fini(&message->url);
    arcp_buf_fini(&message->headers);
    arcp_buf_fini(&message->body);
}

static void transfer_free(transfer *t)
{
    if (t->easy != NULL) {
        (void)curl_multi_remove_handle(t->client->multi, t->easy);
        curl_easy_cleanup(t->easy);
    }
    for (struct curl_slist *header = t->headers; header != NULL; header = header->next) {
        arcp_wipe(header->data, strlen(header->data));
    }
    curl_slist_free_all(t->headers);
    arcp__http_message_fini(&t->message);
    arcp_buf_fini(&t->answer);
    arcp__free(t);
}

/* ---- the end of a request ---- */

/* The predicate of a message that begins with the peer's name. */
static const char *describe(CURLcode code, arcp__http_result *result)
{
    *result = ARCP__HTTP_NOT_SENT;
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return "has a host name that cannot be resolved";
    case CURLE_COULDNT_CONNECT:
        return "cannot be reached";
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        return "could not be connected to by TLS: a certificate was refused";
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return "has a malformed URL";
    default:
        break;
    }
    *result = ARCP__HTTP_LOST;
    if (code == CURLE_OPERATION_TIMEDOUT) {
        return "did not respond in time";
    }
    return code == CURLE_WRITE_ERROR ? "sent a response that is too long" : "lost the connection";
}

static void take_finished(arcp__http_client *client)
{
    int left = 0;
    for (CURLMsg *message = curl_multi_info_read(client->multi, &left); message != NULL;
         message = curl_multi_info_read(client->multi, &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        const CURLcode code = message->data.result; /* the message is freed with the handle */
        transfer *done = NULL;
        long status = 0;
        curl_off_t retry_after_sec = 0;
        char problem[160];
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&done);
        (void)curl_easy_getinfo(done->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(done->easy, CURLINFO_RETRY_AFTER, &retry_after_sec);
        arcp__http_answer answer = {
            .id = done->message.id,
            .kind = done->message.kind,
            .result = ARCP__HTTP_ANSWERED,
            .status = (int)status,
            .body = arcp_buf_span(&done->answer),
            .retry_after_sec = retry_after_sec > 0 ? (uint64_t)retry_after_sec : 0,
        };
        if (code != CURLE_OK || status == 0) {
            (void)snprintf(problem, sizeof problem, "%s %s", client->options.peer,
                           describe(code, &answer.result));
            answer.problem = problem;
        }
        DL_DELETE2(client->transfers, done, previous, next);
        client->options.done(client->options.user, &answer);
        transfer_free(done);
    }
}

/* ---- sockets and time ---- */

static void release_handle(arcp__http_client *client)
{
    if (--client->open_handles == 0 && client->is_freeing) {
        arcp__free(client);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    const watch *watched = poll->data;
    arcp__http_client *client = watched->client;
    const int flags = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                      (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0) |
                      (status < 0 ? CURL_CSELECT_ERR : 0);
    int running = 0;
    (void)curl_multi_socket_action(client->multi, watched->socket, flags, &running);
    take_finished(client);
}

static void on_poll_closed(uv_handle_t *handle)
{
    watch *watched = handle->data;
    arcp__http_client *client = watched->client;
    arcp__free(watched);
    release_handle(client);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *socket_user)
{
    arcp__http_client *client = user;
    watch *watched = socket_user;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched != NULL) {
            (void)uv_poll_stop(&watched->poll);
            uv_close((uv_handle_t *)&watched->poll, on_poll_closed);
            (void)curl_multi_assign(client->multi, socket, NULL);
        }
        return 0;
    }
    if (watched == NULL) {
        watched = arcp__alloc(sizeof *watched);
        if (watched == NULL ||
            uv_poll_init_socket(client->options.loop, &watched->poll, socket) != 0) {
            arcp__free(watched);
            return -1;
        }
        watched->client = client;
        watched->socket = socket;
        watched->poll.data = watched;
        client->open_handles++;
        (void)curl_multi_assign(client->multi, socket, watched);
    }
    const int events =
        (what != CURL_POLL_OUT ? UV_READABLE : 0) | (what != CURL_POLL_IN ? UV_WRITABLE : 0);
    return uv_poll_start(&watched->poll, events, on_poll) == 0 ? 0 : -1;
}

static void on_time(uv_timer_t *timer)
{
    arcp__http_client *client = timer->data;
    int running = 0;
    (void)curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    take_finished(client);
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    arcp__http_client *client = user;
    (void)multi;
    if (timeout_ms < 0) {
        return uv_timer_stop(&client->timer);
    }
    /* Even a timeout of 0 fires in the next turn of the loop, not during this call. */
    return uv_timer_start(&client->timer, on_time, (uint64_t)timeout_ms, 0);
}

static size_t on_answer(char *bytes, size_t size, size_t count, void *user)
{
    transfer *t = user;
    const size_t all = size * count;
    if (t->answer.size + all > ANSWER_BYTES_MAX) {
        return 0;
    }
    arcp_buf_append(&t->answer, arcp_span_make(bytes, all));
    return t->answer.failed ? 0 : all;
}

/* ---- a request ---- */

static bool set_up(transfer *t)
{
    const arcp__http_client_options *options = &t->client->options;
    const arcp__http_message *message = &t->message;
    CURL *easy = t->easy;
    const arcp_span headers = arcp_buf_span(&message->headers);
    const long own_connection = options->keeps_connections ? 0 : 1;
    for (size_t offset = 0; offset < headers.size; offset += strlen(headers.data + offset) + 1) {
        struct curl_slist *longer = curl_slist_append(t->headers, headers.data + offset);
        if (longer == NULL) {
            return false;
        }
        t->headers = longer;
    }
    bool good = curl_easy_setopt(easy, CURLOPT_URL, message->url.data) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_PRIVATE, t) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_WRITEDATA, t) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_USERAGENT, "arcpd") == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)options->timeout_ms) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, own_connection) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, own_connection) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, message->method) == CURLE_OK;
    if (good && message->body.size != 0) {
        good = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                (curl_off_t)message->body.size) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_POSTFIELDS, message->body.data) == CURLE_OK;
    }
    if (good && options->ca_file != NULL) {
        good = curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file) == CURLE_OK;
    }
    return good;
}

arcp_status arcp__http_client_send(arcp__http_client *client, arcp__http_message *message,
                                   arcp_error *err)
{
    transfer *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        arcp__http_message_fini(message);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    added->client = client;
    added->answer.secret = true;
    added->message = *message;
    *message = arcp__http_message_init();
    added->easy = curl_easy_init();
    if (added->easy == NULL || !set_up(added) ||
        curl_multi_add_handle(client->multi, added->easy) != CURLM_OK) {
        transfer_free(added);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    DL_APPEND2(client->transfers, added, previous, next);
    return ARCP_OK;
}

/* ---- creation ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    release_handle(handle->data);
}

void arcp__http_client_free(arcp__http_client *client)
{
    if (client == NULL) {
        return;
    }
    client->is_freeing = true;
    while (client->transfers != NULL) {
        transfer *first = client->transfers;
        DL_DELETE2(client->transfers, first, previous, next);
        transfer_free(first);
    }
    if (client->multi != NULL) {
        (void)curl_multi_cleanup(client->multi);
    }
    curl_global_cleanup();
    uv_close((uv_handle_t *)&client->timer, on_timer_closed);
}

arcp_status arcp__http_client_new(const arcp__http_client_options *options, arcp__http_client **out,
                                  arcp_error *err)
{
    arcp__http_client *client = arcp__alloc(sizeof *client);
    if (client == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        arcp__free(client);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    client->options = *options;
    (void)uv_timer_init(options->loop, &client->timer);
    client->timer.data = client;
    client->open_handles = 1;
    client->multi = curl_multi_init();
    const bool good =
        client->multi != NULL &&
        curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
        curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client) == CURLM_OK &&
        curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
        curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client) == CURLM_OK &&
        curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                          (long)options->connections) == CURLM_OK;
    if (!good) {
        arcp__http_client_free(client);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = client;
    return ARCP_OK;
}
