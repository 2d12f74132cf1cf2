/* The provisioner `http`.
 *
 * Outcomes are chosen so that no credential that may have been issued is forgotten. 2xx is DONE, or
 * UNKNOWN if the response cannot be parsed. 408 and 409 are UNKNOWN (the alias may already exist),
 * all other 4xx are REFUSED. Everything else is UNKNOWN. A request that was not sent is REFUSED. */
#include "provisioner/http_provisioner.h"

#include <stdio.h>

#include "base/alloc.h"
#include "http/http_client.h"
#include "http/http_template.h"

#define HEADERS_MAX 16u

typedef struct prepared {
    const char *method;
    arcp__template url, body; /* an empty body: none */
    arcp__template headers[HEADERS_MAX];
    size_t header_count;
    bool names_key; /* it has a variable that identifies the credential */
} prepared;

typedef struct http_provisioner {
    arcp__upstream_provisioner common;
    arcp_provisioner_ops ops; /* requests that are not configured are NULL */
    arcp__http_provisioner_options options;
    arcp__http_client *client;
    prepared requests[ARCP__HTTP_REQUEST_COUNT];
} http_provisioner;

static const char *const kind_names[] = {"issue", "revoke", "rotate", "usage"};

/* ---- requests ---- */

/* [arcp:11-2] */
static arcp_status ask(arcp_provisioner *base, arcp__http_request_kind kind,
                       const arcp_provision_request *request, arcp_error *err)
{
    const http_provisioner *provisioner = (const http_provisioner *)base;
    const prepared *how = &provisioner->requests[kind];
    arcp__http_message message = arcp__http_message_init();
    bool names_key = false;
    message.id = request->call_id;
    message.kind = kind;
    message.method = how->method;
    bool good = arcp__template_expand(&how->url, request, &names_key, &message.url);
    arcp_buf_append_byte(&message.url, '\0');
    for (size_t i = 0; i < how->header_count; i++) {
        good =
            arcp__template_expand(&how->headers[i], request, &names_key, &message.headers) && good;
        arcp_buf_append_byte(&message.headers, '\0');
    }
    if (request->traceparent.size != 0) {
        arcp_buf_append_cstr(&message.headers, "traceparent: ");
        arcp_buf_append(&message.headers, request->traceparent);
        arcp_buf_append_byte(&message.headers, '\0');
    }
    if (how->body.text.size != 0) {
        arcp_buf_append_cstr(&message.headers, "Content-Type: application/json");
        arcp_buf_append_byte(&message.headers, '\0');
        good = arcp__template_expand(&how->body, request, &names_key, &message.body) && good;
    }
    /* A body omits variables that the job does not have. If it then identifies no credential, the
     * upstream might do nothing and report success, and a valid credential would count as revoked.
     */
    good = good && (names_key || !how->names_key);
    if (!good || message.url.failed || message.headers.failed || message.body.failed) {
        arcp__http_message_fini(&message);
        return arcp_error_set(err, ARCP_E_IO,
                              "cannot build the %s request: a template variable is empty or has a "
                              "character that is not allowed there",
                              kind_names[kind]);
    }
    return arcp__http_client_send(provisioner->client, &message, err);
}

static arcp_status ask_issue(arcp_provisioner *base, const arcp_provision_request *request,
                             arcp_error *err)
{
    return ask(base, ARCP__HTTP_ISSUE, request, err);
}

static arcp_status ask_revoke(arcp_provisioner *base, const arcp_provision_request *request,
                              arcp_error *err)
{
    return ask(base, ARCP__HTTP_REVOKE, request, err);
}

static arcp_status ask_rotate(arcp_provisioner *base, const arcp_provision_request *request,
                              arcp_error *err)
{
    return ask(base, ARCP__HTTP_ROTATE, request, err);
}

static arcp_status ask_usage(arcp_provisioner *base, const arcp_provision_request *request,
                             arcp_error *err)
{
    return ask(base, ARCP__HTTP_USAGE, request, err);
}

/* ---- responses ---- */

/* A string, or the text of a number. */
static arcp_span text_at(const arcp_json *json, const arcp__http_request *request,
                         arcp__http_pointer which, arcp_buf *scratch, const char *otherwise)
{
    const char *pointer = request->pointers[which];
    const arcp_json_ref ref =
        pointer == NULL ? ARCP_JSON_ABSENT : arcp__json_pointer(json, pointer);
    if (arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        return arcp_json_string(json, ref, scratch);
    }
    return arcp_json_is(json, ref, ARCP_JSON_NUMBER) ? arcp_json_raw(json, ref)
                                                     : arcp_span_cstr(otherwise);
}

/* Reads a 2xx response; the result borrows from json and scratch. */
static void read_answer(const http_provisioner *provisioner, unsigned kind, const arcp_json *json,
                        arcp_buf *scratch, arcp_provision_result *result)
{
    const arcp__http_request *how = &provisioner->options.requests[kind];
    const arcp__upstream *upstream = &provisioner->common.upstream;
    if (kind == ARCP__HTTP_USAGE) {
        result->spent = text_at(json, how, ARCP__HTTP_SPENT, scratch, NULL);
        return;
    }
    result->value = text_at(json, how, ARCP__HTTP_VALUE, scratch, NULL);
    result->upstream_id = text_at(json, how, ARCP__HTTP_ID, scratch, NULL);
    result->endpoint = text_at(json, how, ARCP__HTTP_ENDPOINT, scratch, upstream->endpoint);
    result->scheme = text_at(json, how, ARCP__HTTP_SCHEME, scratch, upstream->scheme);
    result->profile = text_at(json, how, ARCP__HTTP_PROFILE, scratch, upstream->profile);
    const arcp_span lifetime = text_at(json, how, ARCP__HTTP_LIFETIME, scratch, NULL);
    for (size_t i = 0; i < lifetime.size && lifetime.data[i] >= '0' && lifetime.data[i] <= '9' &&
                       result->lifetime_sec < UINT32_MAX;
         i++) {
        result->lifetime_sec = result->lifetime_sec * 10 + (uint64_t)(lifetime.data[i] - '0');
    }
}

static arcp_provision_outcome outcome_of(const http_provisioner *provisioner,
                                         const arcp__http_answer *answer)
{
    const bool is_new = answer->kind == ARCP__HTTP_ISSUE || answer->kind == ARCP__HTTP_ROTATE;
    const int status = answer->status;
    if (answer->result != ARCP__HTTP_ANSWERED) {
        return is_new && answer->result == ARCP__HTTP_NOT_SENT ? ARCP_PROVISION_REFUSED
                                                               : ARCP_PROVISION_UNKNOWN;
    }
    if (status >= 200 && status < 300) {
        return ARCP_PROVISION_DONE;
    }
    if (is_new) {
        return status >= 400 && status < 500 && status != 408 && status != 409
                   ? ARCP_PROVISION_REFUSED
                   : ARCP_PROVISION_UNKNOWN;
    }
    for (size_t i = 0; i < provisioner->options.gone_count; i++) {
        if (provisioner->options.gone[i] == status) {
            return ARCP_PROVISION_ABSENT;
        }
    }
    return ARCP_PROVISION_UNKNOWN;
}

static void on_answer(void *user, const arcp__http_answer *answer)
{
    const http_provisioner *provisioner = user;
    char message[96] = "";
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_secret_init();
    arcp_json_limits limits = {32, 10000, UINT32_MAX - 1};
    arcp_provision_result result = {.struct_size = sizeof result,
                                    .call_id = answer->id,
                                    .outcome = outcome_of(provisioner, answer),
                                    .status = ARCP_E_INTERNAL_ERROR,
                                    .message = answer->problem};
    if (result.outcome == ARCP_PROVISION_DONE && answer->kind != ARCP__HTTP_REVOKE) {
        if (arcp_buf_reserve(&scratch, answer->body.size + 1) &&
            arcp_json_scan(&json, answer->body, &limits, NULL) == ARCP_OK) {
            read_answer(provisioner, answer->kind, &json, &scratch, &result);
        } else {
            result.outcome = ARCP_PROVISION_UNKNOWN;
            result.message = "the response of the upstream is not JSON";
        }
    } else if (answer->result == ARCP__HTTP_ANSWERED) {
        const arcp_upstream_error error = {sizeof error, answer->status, answer->body};
        const arcp_status translated = arcp__upstream_translate(&provisioner->common.base, &error);
        result.status = translated == ARCP_OK ? ARCP_E_INTERNAL_ERROR : translated;
        (void)snprintf(message, sizeof message, "the upstream answered %s with %d",
                       kind_names[answer->kind], answer->status);
        result.message = message;
    }
    provisioner->common.callbacks.done(provisioner->common.callbacks.user, &result);
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

/* ---- creation ---- */

static void provisioner_free(arcp_provisioner *base)
{
    http_provisioner *provisioner = (http_provisioner *)base;
    arcp__http_client_free(provisioner->client);
    for (size_t kind = 0; kind < ARCP__HTTP_REQUEST_COUNT; kind++) {
        prepared *how = &provisioner->requests[kind];
        arcp__template_fini(&how->url);
        arcp__template_fini(&how->body);
        for (size_t i = 0; i < HEADERS_MAX; i++) {
            arcp__template_fini(&how->headers[i]);
        }
    }
    arcp__free(provisioner);
}

/* Puts the configuration key before the message of an error. */
static arcp_status add_key(arcp_status status, size_t kind, const char *part, arcp_error *err)
{
    char why[sizeof err->message];
    if (status == ARCP_OK) {
        return ARCP_OK;
    }
    (void)snprintf(why, sizeof why, "%s", err->message);
    return arcp_error_set(err, status, "credentials.http.%s.%s: %s", kind_names[kind], part, why);
}

static arcp_status prepare(http_provisioner *provisioner, size_t kind, arcp_error *err)
{
    const arcp__http_request *from = &provisioner->options.requests[kind];
    prepared *to = &provisioner->requests[kind];
    if (from->url == NULL) {
        return ARCP_OK;
    }
    to->method = from->method;
    if (to->method == NULL) {
        to->method = from->body == NULL && kind == ARCP__HTTP_USAGE ? "GET" : "POST";
    }
    arcp_status status = add_key(arcp__template_init(&to->url, from->url, ARCP__TEMPLATE_URL, err),
                                 kind, "url", err);
    if (status == ARCP_OK && from->body != NULL) {
        status = add_key(arcp__template_init(&to->body, from->body, ARCP__TEMPLATE_BODY, err), kind,
                         "body", err);
    }
    if (status == ARCP_OK && from->header_count > HEADERS_MAX) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "credentials.http.%s.headers: must have at most %u headers",
                                kind_names[kind], HEADERS_MAX);
    }
    if (status == ARCP_OK) {
        to->names_key = to->url.names_key || to->body.names_key;
    }
    for (size_t i = 0; status == ARCP_OK && i < from->header_count; i++) {
        status = add_key(
            arcp__template_init(&to->headers[i], from->headers[i], ARCP__TEMPLATE_HEADER, err),
            kind, "headers", err);
        if (status == ARCP_OK) {
            to->header_count++;
            to->names_key = to->names_key || to->headers[i].names_key;
        }
    }
    return status;
}

ARCP_API arcp_status arcp__http_provisioner_new(const arcp__http_provisioner_options *options,
                                                arcp_provisioner **out, arcp_error *err);

arcp_status arcp__http_provisioner_new(const arcp__http_provisioner_options *options,
                                       arcp_provisioner **out, arcp_error *err)
{
    http_provisioner *provisioner = arcp__alloc(sizeof *provisioner);
    if (provisioner == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    provisioner->options = *options;
    provisioner->ops = (arcp_provisioner_ops){
        .struct_size = sizeof(arcp_provisioner_ops),
        .name = "http",
        .set_callbacks = arcp__upstream_set_callbacks,
        .issue = ask_issue,
        .revoke = ask_revoke,
        .rotate = options->requests[ARCP__HTTP_ROTATE].url == NULL ? NULL : ask_rotate,
        .usage = options->requests[ARCP__HTTP_USAGE].url == NULL ? NULL : ask_usage,
        .translate_error = arcp__upstream_translate,
        .free = provisioner_free,
    };
    provisioner->common.upstream = options->upstream;
    provisioner->common.base =
        (arcp_provisioner){&provisioner->ops, &provisioner->common.upstream.terms};
    arcp_status status = ARCP_OK;
    for (size_t kind = 0; status == ARCP_OK && kind < ARCP__HTTP_REQUEST_COUNT; kind++) {
        status = prepare(provisioner, kind, err);
    }
    if (status == ARCP_OK) {
        const arcp__http_client_options client = {.loop = options->loop,
                                                  .peer = "the upstream",
                                                  .timeout_ms = options->timeout_ms,
                                                  .connections = options->connections,
                                                  .ca_file = options->ca_file,
                                                  .done = on_answer,
                                                  .user = provisioner};
        status = arcp__http_client_new(&client, &provisioner->client, err);
    }
    if (status != ARCP_OK) {
        provisioner_free(&provisioner->common.base);
        return status;
    }
    *out = &provisioner->common.base;
    return ARCP_OK;
}
