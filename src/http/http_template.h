/* Templates for requests to an upstream, and pointers into its answers.
 *
 * `{name}` stands for something of the request: alias, id, value, credential_id, job_id,
 * principal, agent, trace_id, traceparent, budget, models, expires_at, ttl_sec. `{env:NAME}`
 * and `{file:PATH}` are replaced when the template is made. In a JSON body a string that is
 * nothing but `{budget}`, `{ttl_sec}` or `{models}` becomes a number or a list, and a member
 * or element whose string names something that the request does not have is left out. */
#ifndef ARCP_HTTP_HTTP_TEMPLATE_H
#define ARCP_HTTP_HTTP_TEMPLATE_H

#include <arcp/buf.h>
#include <arcp/sys/provisioner.h>

#include "json/json.h"

typedef enum arcp__template_use {
    ARCP__TEMPLATE_URL,    /* what is put in is percent-encoded */
    ARCP__TEMPLATE_HEADER, /* what is put in must not have control characters */
    ARCP__TEMPLATE_BODY    /* JSON */
} arcp__template_use;

typedef struct arcp__template {
    arcp__template_use use;
    bool names_key;   /* it has {alias}, {id} or {value}: what says which value is meant */
    bool is_constant; /* it comes to the same for every request: it names nothing of one */
    arcp_buf text;    /* with {env:} and {file:} replaced, and so secret; a body is JSON */
} arcp__template;

/* ARCP_E_USAGE: an unknown name, an environment variable or file that is not there, or a
 * body that is no JSON; the message says which. The template is good for fini in any case. */
ARCP_MUST_CHECK arcp_status arcp__template_init(arcp__template *self, const char *text,
                                                arcp__template_use use, arcp_error *err);
/* Wipes it: it may hold a key from the environment. Zeroes are accepted. */
void arcp__template_fini(arcp__template *self);
/* Appends what the template comes to; the caller wipes it. False: it has something that must
 * not stand there (a control character in a header, "." or ".." in a URL), a URL or header names
 * an alias, id or value that the request does not have, or memory is short. Anything else that
 * the request does not have leaves a URL or header empty in its place. *names_key is set, never
 * cleared, when what it came to says which value is meant. */
bool arcp__template_expand(const arcp__template *self, const arcp_provision_request *request,
                           bool *names_key, arcp_buf *out);

/* What a JSON pointer (RFC 6901) points at; ARCP_JSON_ABSENT for nothing. */
arcp_json_ref arcp__json_pointer(const arcp_json *json, const char *pointer);

#endif
