/* Templates for requests to an upstream, and pointers into its responses.
 *
 * `{name}` is a variable of the request: alias, id, value, credential_id, job_id, principal, agent,
 * trace_id, traceparent, budget, models, expires_at, ttl_sec. `{env:NAME}` and `{file:PATH}` are
 * replaced when the template is created. In a JSON body a string that consists only of `{budget}`,
 * `{ttl_sec}` or `{models}` becomes a number or a list, and a member or element whose string
 * contains a variable that the request does not have is omitted. */
#ifndef ARCP_HTTP_HTTP_TEMPLATE_H
#define ARCP_HTTP_HTTP_TEMPLATE_H

#include <arcp/buf.h>
#include <arcp/sys/provisioner.h>

#include "json/json.h"

typedef enum arcp__template_use {
    ARCP__TEMPLATE_URL,    /* values are percent-encoded */
    ARCP__TEMPLATE_HEADER, /* values must not contain control characters */
    ARCP__TEMPLATE_BODY    /* JSON */
} arcp__template_use;

typedef struct arcp__template {
    arcp__template_use use;
    bool names_key;   /* it has {alias}, {id} or {value}, which identify a credential */
    bool is_constant; /* it has no variable of the request */
    arcp_buf text;    /* with {env:} and {file:} replaced, and therefore secret; a body is JSON */
} arcp__template;

/* ARCP_E_USAGE: an unknown variable, a missing environment variable or file, or a body that is not
 * JSON; the message says which. fini can be called even after a failure. */
ARCP_MUST_CHECK arcp_status arcp__template_init(arcp__template *template, const char *text,
                                                arcp__template_use use, arcp_error *err);
/* Wipes the text, which may contain a secret. A zeroed template is accepted. */
void arcp__template_fini(arcp__template *template);
/* Appends the expanded template; the caller wipes it. False: a value is not allowed in its place (a
 * control character in a header, "." or ".." in a URL), a URL or header has an alias, id or value
 * that the request does not have, or memory ran out. Other variables that the request does not have
 * expand to nothing in a URL or header. *names_key is set, but never cleared, if the result
 * identifies a credential. */
bool arcp__template_expand(const arcp__template *template, const arcp_provision_request *request,
                           bool *names_key, arcp_buf *out);

/* The value that a JSON pointer (RFC 6901) selects; ARCP_JSON_ABSENT: none. */
arcp_json_ref arcp__json_pointer(const arcp_json *json, const char *pointer);

#endif
