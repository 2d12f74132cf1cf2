#include "http/http_client.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "http/web_client.h"

#define ANSWER_BYTES_MAX 1048576u

typedef struct exchange {
    struct exchange *previous, *next;
    arcp__http_client *client;
    arcp__web_call *call;
    arcp__http_message message;
    arcp_buf answer;
    int status;
    uint64_t retry_after_sec;
} exchange;

struct arcp__http_client {
    arcp__web_client *web;
    exchange *exchanges;
    arcp__http_client_options options;
};

void arcp__http_message_fini(arcp__http_message *message)
{
    arcp_buf_fini(&message->url);
    arcp_buf_fini(&message->headers);
    arcp_buf_fini(&message->body);
}

static void exchange_free(exchange *freed)
{
    arcp__http_message_fini(&freed->message);
    arcp_buf_fini(&freed->answer);
    arcp__free(freed);
}

/* Reports the result, which may free the client. The call has ended. */
static void finish(exchange *done, arcp__http_result result, const char *predicate)
{
    arcp__http_client *client = done->client;
    char problem[160] = "";
    if (predicate != NULL) {
        (void)snprintf(problem, sizeof problem, "%s %s", client->options.peer, predicate);
    }
    const arcp__http_answer answer = {
        .id = done->message.id,
        .kind = done->message.kind,
        .result = result,
        .status = done->status,
        .body = arcp_buf_span(&done->answer),
        .problem = predicate == NULL ? NULL : problem,
        .retry_after_sec = done->retry_after_sec,
    };
    DL_DELETE2(client->exchanges, done, previous, next);
    client->options.done(client->options.user, &answer);
    exchange_free(done);
}

/* ---- events ---- */

static void on_head(void *user, const arcp__web_client_head *head)
{
    exchange *current = user;
    current->status = (int)head->status;
    current->retry_after_sec = head->retry_after_sec;
}

static bool on_piece(void *user, arcp_span piece)
{
    exchange *current = user;
    const bool fits = current->answer.size + piece.size <= ANSWER_BYTES_MAX;
    if (fits) {
        arcp_buf_append(&current->answer, piece);
    }
    if (!fits || current->answer.failed) {
        arcp__web_client_by_libcurl.cancel(current->call);
        finish(current, ARCP__HTTP_LOST,
               fits ? "sent a response for which there is no memory"
                    : "sent a response that is too long");
    }
    return true;
}

static void on_done(void *user, const arcp__web_client_end *end)
{
    static const arcp__http_result results[] = {
        [ARCP__WEB_DONE] = ARCP__HTTP_ANSWERED,
        [ARCP__WEB_NOT_SENT] = ARCP__HTTP_NOT_SENT,
        [ARCP__WEB_LOST] = ARCP__HTTP_LOST,
    };
    finish(user, results[end->outcome], end->problem);
}

static const arcp__web_call_events events = {.head = on_head, .body = on_piece, .done = on_done};

/* ---- requests ---- */

arcp_status arcp__http_client_send(arcp__http_client *client, arcp__http_message *message,
                                   arcp_error *err)
{
    exchange *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        arcp__http_message_fini(message);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    added->client = client;
    added->answer.secret = true;
    added->message = *message;
    *message = arcp__http_message_init();
    const arcp__web_client_request request = {
        .method = added->message.method,
        .url = added->message.url.data,
        .headers = arcp_buf_span(&added->message.headers),
        .body = arcp_buf_span(&added->message.body),
        .total_ms = client->options.timeout_ms,
        .events = &events,
        .user = added,
    };
    const arcp_status status =
        arcp__web_client_by_libcurl.send(client->web, &request, &added->call, err);
    if (status != ARCP_OK) {
        exchange_free(added);
        return status;
    }
    DL_APPEND2(client->exchanges, added, previous, next);
    return ARCP_OK;
}

void arcp__http_client_free(arcp__http_client *client)
{
    if (client == NULL) {
        return;
    }
    arcp__web_client_by_libcurl.free(client->web);
    while (client->exchanges != NULL) {
        exchange *first = client->exchanges;
        DL_DELETE2(client->exchanges, first, previous, next);
        exchange_free(first);
    }
    arcp__free(client);
}

arcp_status arcp__http_client_new(const arcp__http_client_options *options, arcp__http_client **out,
                                  arcp_error *err)
{
    arcp__http_client *client = arcp__alloc(sizeof *client);
    if (client == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    client->options = *options;
    const arcp__web_client_options web = {
        .loop = options->loop,
        .ca_file = options->ca_file,
        .user_agent = "arcpd",
        .connect_ms = options->timeout_ms,
        .connections = options->connections,
        .keeps_connections = options->keeps_connections,
    };
    const arcp_status status = arcp__web_client_by_libcurl.create(&web, &client->web, err);
    if (status != ARCP_OK) {
        arcp__free(client);
        return status;
    }
    *out = client;
    return ARCP_OK;
}
