/* HTTP requests on a libuv loop, by libcurl. Only for modules that are loaded when they are
 * configured. */
#ifndef ARCP_HTTP_HTTP_CLIENT_H
#define ARCP_HTTP_HTTP_CLIENT_H

#include <arcp/buf.h>
#include <arcp/error.h>

struct uv_loop_s;
typedef struct arcp__http_client arcp__http_client;

/* What is sent. The buffers are taken over; texts in them end with a NUL. */
typedef struct arcp__http_message {
    uint64_t id; /* the caller's, and so is `kind`: the answer has them */
    unsigned kind;
    const char *method;
    arcp_buf url;
    arcp_buf headers; /* each with its NUL, one after the other */
    arcp_buf body;    /* without a NUL; empty: none */
} arcp__http_message;

static inline arcp__http_message arcp__http_message_init(void)
{
    return (arcp__http_message){.url = arcp_buf_secret_init(),
                                .headers = arcp_buf_secret_init(),
                                .body = arcp_buf_secret_init()};
}

typedef enum arcp__http_result {
    ARCP__HTTP_ANSWERED, /* with a status and a body */
    ARCP__HTTP_NOT_SENT, /* certainly nothing reached the upstream */
    ARCP__HTTP_LOST      /* who knows */
} arcp__http_result;

typedef struct arcp__http_answer {
    uint64_t id;
    unsigned kind;
    arcp__http_result result;
    int status;
    arcp_span body;           /* borrowed during the call; wiped afterwards */
    const char *problem;      /* not ANSWERED: one line for people */
    uint64_t retry_after_sec; /* as the answer asks; 0: it does not */
} arcp__http_answer;

typedef void (*arcp__http_done_fn)(void *user, const arcp__http_answer *answer);

/* Texts are borrowed for the client's life. */
typedef struct arcp__http_client_options {
    struct uv_loop_s *loop; /* `done` is called on its thread */
    const char *peer;       /* who is asked, for people: "the upstream" */
    uint64_t timeout_ms;    /* for one request, everything included */
    uint64_t connections;   /* at once */
    const char *ca_file;    /* NULL: the system's */
    /* Without, each request has a connection of its own: on a kept one libcurl may send a
     * request a second time, and the second half of a double answer would pass for the answer
     * to the next request. */
    bool keeps_connections;
    arcp__http_done_fn done;
    void *user;
} arcp__http_client_options;

ARCP_MUST_CHECK arcp_status arcp__http_client_new(const arcp__http_client_options *options,
                                                  arcp__http_client **out, arcp_error *err);
/* Gives requests under way up, without an answer; memory goes when the loop ran. */
void arcp__http_client_free(arcp__http_client *self);
/* The message is taken over, also on failure (ARCP_E_NO_MEMORY: nothing was sent). */
ARCP_MUST_CHECK arcp_status arcp__http_client_send(arcp__http_client *self,
                                                   arcp__http_message *message, arcp_error *err);
void arcp__http_message_fini(arcp__http_message *message);

#endif
