/* HTTP requests whose whole response is wanted, with the client of web_client.h. Only for modules,
 * which are loaded if they are configured: arcpd itself does not link libcurl. */
#ifndef ARCP_HTTP_HTTP_CLIENT_H
#define ARCP_HTTP_HTTP_CLIENT_H

#include <arcp/buf.h>
#include <arcp/error.h>

struct uv_loop_s;
typedef struct arcp__http_client arcp__http_client;

/* A request. The client takes ownership of the buffers. */
typedef struct arcp__http_message {
    uint64_t id; /* `id` and `kind` are the caller's, and returned with the response */
    unsigned kind;
    const char *method;
    arcp_buf url;     /* NUL-terminated */
    arcp_buf headers; /* one after the other, each NUL-terminated */
    arcp_buf body;    /* without a NUL; empty: none */
} arcp__http_message;

static inline arcp__http_message arcp__http_message_init(void)
{
    return (arcp__http_message){.url = arcp_buf_secret_init(),
                                .headers = arcp_buf_secret_init(),
                                .body = arcp_buf_secret_init()};
}

typedef enum arcp__http_result {
    ARCP__HTTP_ANSWERED, /* there is a status and a body */
    ARCP__HTTP_NOT_SENT, /* the request certainly did not reach the peer */
    ARCP__HTTP_LOST      /* the request may have reached the peer */
} arcp__http_result;

typedef struct arcp__http_answer {
    uint64_t id;
    unsigned kind;
    arcp__http_result result;
    int status;
    arcp_span body;           /* borrowed during the call; wiped afterwards */
    const char *problem;      /* if not ANSWERED: a message for people */
    uint64_t retry_after_sec; /* from Retry-After; 0: none */
} arcp__http_answer;

typedef void (*arcp__http_done_fn)(void *user, const arcp__http_answer *answer);

/* Strings are borrowed until the client is freed. */
typedef struct arcp__http_client_options {
    struct uv_loop_s *loop; /* `done` is called on its thread */
    const char *peer;       /* name of the peer in messages: "the upstream" */
    uint64_t timeout_ms;    /* for one request as a whole */
    uint64_t connections;   /* at the same time */
    const char *ca_file;    /* NULL: the system's */
    /* Reuse connections. On a reused connection a GET may be sent a second time, and extra bytes
     * after one response could be taken for the response to the next request; where that is not
     * acceptable, each request gets a new connection. */
    bool keeps_connections;
    arcp__http_done_fn done;
    void *user;
} arcp__http_client_options;

ARCP_MUST_CHECK arcp_status arcp__http_client_new(const arcp__http_client_options *options,
                                                  arcp__http_client **out, arcp_error *err);
/* Abandons requests in progress without calling `done`. Memory is released when the loop has run.
 */
void arcp__http_client_free(arcp__http_client *client);
/* Takes ownership of the message, even on failure (ARCP_E_NO_MEMORY; ARCP_E_USAGE: a header
 * contains a control character): nothing was sent. */
ARCP_MUST_CHECK arcp_status arcp__http_client_send(arcp__http_client *client,
                                                   arcp__http_message *message, arcp_error *err);
void arcp__http_message_fini(arcp__http_message *message);

#endif
