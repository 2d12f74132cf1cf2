/* The provisioner `http`, for an upstream with an HTTP API that templates describe. It is a module
 * (arcp-provisioner-http.so), because it needs libcurl. docs/credentials.md describes templates and
 * pointers. */
#ifndef ARCP_PROVISIONER_HTTP_PROVISIONER_H
#define ARCP_PROVISIONER_HTTP_PROVISIONER_H

#include "provisioner/upstream.h"

struct uv_loop_s;

typedef enum arcp__http_request_kind {
    ARCP__HTTP_ISSUE,
    ARCP__HTTP_REVOKE,
    ARCP__HTTP_ROTATE,
    ARCP__HTTP_USAGE,
    ARCP__HTTP_REQUEST_COUNT
} arcp__http_request_kind;

/* The values that JSON pointers select from a response. */
typedef enum arcp__http_pointer {
    ARCP__HTTP_VALUE,
    ARCP__HTTP_ID,
    ARCP__HTTP_ENDPOINT,
    ARCP__HTTP_SCHEME,
    ARCP__HTTP_PROFILE,
    ARCP__HTTP_LIFETIME,
    ARCP__HTTP_SPENT,
    ARCP__HTTP_POINTER_COUNT
} arcp__http_pointer;

typedef struct arcp__http_request {
    const char *method; /* NULL: POST, or GET without a body */
    const char *url;    /* template; NULL: the upstream has no such request */
    const char *body;   /* JSON template, or NULL */
    const char *const *headers;
    size_t header_count;
    const char *pointers[ARCP__HTTP_POINTER_COUNT];
} arcp__http_request;

/* Everything is borrowed until the provisioner is freed. */
typedef struct arcp__http_provisioner_options {
    struct uv_loop_s *loop;
    arcp__upstream upstream; /* its endpoint, scheme and profile are defaults for responses */
    arcp__http_request requests[ARCP__HTTP_REQUEST_COUNT]; /* issue and revoke are required */
    uint64_t timeout_ms;                                   /* for one request as a whole */
    uint64_t connections;                                  /* at the same time */
    const char *ca_file;                                   /* NULL: the system's */
    const int *gone; /* statuses of revoke that mean that the credential is not known */
    size_t gone_count;
} arcp__http_provisioner_options;

/* Creates the provisioner. ARCP_E_USAGE: a template or pointer is invalid, which the message names;
 * ARCP_E_NO_MEMORY. */
typedef arcp_status (*arcp__http_provisioner_new_fn)(const arcp__http_provisioner_options *options,
                                                     arcp_provisioner **out, arcp_error *err);
/* The name of the module's only exported function, which has the type above. */
#define ARCP__HTTP_PROVISIONER_SYMBOL "arcp__http_provisioner_new"

#endif
