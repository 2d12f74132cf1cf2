#include "arcpd/config_credentials.h"

#include <stddef.h>
#include <stdio.h>

#include <arcp/secret.h>

#include "arcpd/config_headers.h"
#include "arcpd/yaml_printer.h"
#include "arcpd/yaml_reader.h"
#include "base/alloc.h"

static const char *const kinds[] = {"none", "static", "http"};

static const struct {
    const char *name;
    unsigned bit;
} enforceable[] = {{"budget", ARCP_ENFORCES_BUDGET},
                   {"models", ARCP_ENFORCES_MODELS},
                   {"expiry", ARCP_ENFORCES_EXPIRY}};

static const char *const request_names[] = {"issue", "revoke", "rotate", "usage"};
static const char *const pointer_names[] = {"value",   "id",           "endpoint", "scheme",
                                            "profile", "lifetime_sec", "spent"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *arcp__config_credentials_request(size_t index)
{
    return request_names[index];
}

/* ---- life ---- */

static void request_fini(arcp__config_request *request)
{
    arcp__free(request->method);
    arcp__free(request->url);
    if (request->body != NULL) {
        arcp_wipe(request->body, strlen(request->body));
    }
    arcp__free(request->body);
    arcp__config_wipe_list(&request->headers);
    for (size_t at = 0; at < ARCP__HTTP_POINTER_COUNT; at++) {
        arcp__free(request->pointers[at]);
    }
}

void arcp__config_credentials_fini(arcp__config_credentials *credentials)
{
    char *const texts[] = {credentials->key_file,   credentials->endpoint, credentials->scheme,
                           credentials->profile,    credentials->currency, credentials->ca_file,
                           credentials->values_file};
    for (size_t at = 0; at < COUNT(texts); at++) {
        arcp__free(texts[at]);
    }
    arcp__text_list_clear(&credentials->agents);
    arcp__text_list_clear(&credentials->models);
    arcp__config_wipe_list(&credentials->values);
    for (size_t at = 0; at < credentials->error_count; at++) {
        arcp__free((char *)credentials->errors[at].contains);
    }
    arcp__free(credentials->errors);
    for (size_t at = 0; at < ARCP__HTTP_REQUEST_COUNT; at++) {
        request_fini(&credentials->requests[at]);
    }
    *credentials = (arcp__config_credentials){.kind = ARCP__PROVISIONER_NONE};
}

/* ---- what is used ---- */

const int *arcp__config_credentials_gone(const arcp__config_credentials *credentials, size_t *count)
{
    static const int usual[] = {404, 410};
    *count = credentials->gone_count != 0 ? credentials->gone_count : COUNT(usual);
    return credentials->gone_count != 0 ? credentials->gone : usual;
}

uint64_t arcp__config_credentials_timeout_ms(const arcp__config_credentials *credentials)
{
    return credentials->timeout_ms != 0 ? credentials->timeout_ms : ARCP__HTTP_TIMEOUT_MS_DEFAULT;
}

uint64_t arcp__config_credentials_connections(const arcp__config_credentials *credentials)
{
    return credentials->connections != 0 ? credentials->connections
                                         : ARCP__HTTP_CONNECTIONS_DEFAULT;
}

/* ---- small values ---- */

static arcp_status read_kind(arcp__yaml_reader *r, const yaml_node_t *value, const char *path,
                             arcp__config_credentials *into)
{
    for (size_t at = 0; value->type == YAML_SCALAR_NODE && at < COUNT(kinds); at++) {
        if (arcp_span_equal_cstr(arcp__yaml_scalar(value), kinds[at])) {
            into->kind = (arcp__provisioner_kind)at;
            return ARCP_OK;
        }
    }
    return arcp__yaml_refuse(r, value, path, "must be none, static or http");
}

static arcp_status read_enforces(arcp__yaml_reader *r, const yaml_node_t *value, const char *path,
                                 arcp__config_credentials *into)
{
    arcp__text_list words = {NULL, 0};
    arcp_status status = arcp__yaml_texts(r, value, path, &words);
    into->enforces = 0;
    for (size_t at = 0; status == ARCP_OK && at < words.count; at++) {
        unsigned bit = 0;
        for (size_t row = 0; row < COUNT(enforceable); row++) {
            bit |= strcmp(words.items[at], enforceable[row].name) == 0 ? enforceable[row].bit : 0;
        }
        if (bit == 0) {
            status =
                arcp__yaml_refuse(r, value, path, "must be a list of budget, models and expiry");
        }
        into->enforces |= bit;
    }
    arcp__text_list_clear(&words);
    return status;
}

static arcp_status read_http_status(arcp__yaml_reader *r, const yaml_node_t *value,
                                    const char *path, int *out)
{
    uint64_t number = 0;
    arcp_status status = arcp__yaml_count(r, value, path, &number);
    if (status == ARCP_OK && (number < 100 || number > 599)) {
        return arcp__yaml_refuse(r, value, path, "must be an HTTP status, 100 to 599");
    }
    *out = (int)number;
    return status;
}

static arcp_status error_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__upstream_rule *rule = into;
    if (arcp_span_equal_cstr(key, "contains")) {
        char *text = (char *)rule->contains;
        arcp_status status = arcp__yaml_text(r, value, path, &text);
        rule->contains = text;
        return status;
    }
    if (arcp_span_equal_cstr(key, "status")) {
        return read_http_status(r, value, path, &rule->http_status);
    }
    if (arcp_span_equal_cstr(key, "code")) {
        arcp_span word =
            value->type == YAML_SCALAR_NODE ? arcp__yaml_scalar(value) : arcp_span_make(NULL, 0);
        rule->code = arcp_status_from_wire(word);
        return arcp_status_is_wire_code(word)
                   ? ARCP_OK
                   : arcp__yaml_refuse(r, value, path,
                                       "must be an error code such as BUDGET_EXHAUSTED");
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status error_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config_credentials *into = &r->config->credentials;
    arcp__upstream_rule *rules =
        arcp__realloc_array(into->errors, into->error_count + 1, sizeof(*rules));
    if (rules == NULL) {
        return arcp__yaml_no_memory(r);
    }
    into->errors = rules;
    arcp__upstream_rule *rule = &rules[into->error_count++];
    *rule = (arcp__upstream_rule){.code = ARCP_OK};
    arcp_status status = arcp__yaml_members(r, node, path, error_member, rule);
    if (status == ARCP_OK && rule->code == ARCP_OK) {
        status = arcp__yaml_refuse(r, node, path, "needs a code");
    }
    if (status == ARCP_OK && rule->http_status == 0 && rule->contains == NULL) {
        status = arcp__yaml_refuse(r, node, path, "needs a status, or contains");
    }
    return status;
}

/* ---- http ---- */

static bool is_json_literal(const yaml_node_t *node)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {4, 4, 4096};
    arcp_span text = arcp__yaml_scalar(node);
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text.size != 0 &&
                 text.data[0] != '"' && text.data[0] != '{' && text.data[0] != '[';
    bool literal = plain && arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK;
    arcp_json_fini(&json);
    return literal;
}

/* A body's own levels; an alias can make a list an element of itself. */
#define BODY_DEPTH_MAX 32u
/* Aliases can make a short file a long text. */
#define BODY_BYTES_MAX ((size_t)1 << 20)

typedef struct body_draft {
    arcp_json_writer writer;
    unsigned depth;
} body_draft;

static arcp_status write_json(arcp__yaml_reader *r, body_draft *draft, const char *path,
                              const yaml_node_t *node);

/* Plain numbers, true, false and null are what they look like. */
static void write_scalar(body_draft *draft, const yaml_node_t *node)
{
    if (arcp__yaml_is_null(node)) {
        arcp_json_write_null(&draft->writer);
    } else if (is_json_literal(node)) {
        arcp_json_write_raw(&draft->writer, arcp__yaml_scalar(node));
    } else {
        arcp_json_write_string(&draft->writer, arcp__yaml_scalar(node));
    }
}

static arcp_status write_list(arcp__yaml_reader *r, body_draft *draft, const char *path,
                              const yaml_node_t *node)
{
    arcp_status status = ARCP_OK;
    arcp_json_begin_array(&draft->writer);
    for (yaml_node_item_t *at = node->data.sequence.items.start;
         status == ARCP_OK && at < node->data.sequence.items.top; at++) {
        status = write_json(r, draft, path, arcp__yaml_node(r, *at));
    }
    if (status == ARCP_OK) {
        arcp_json_end_array(&draft->writer);
    }
    return status;
}

static arcp_status body_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                               const yaml_node_t *value)
{
    body_draft *draft = into;
    arcp_json_name_span(&draft->writer, key);
    return write_json(r, draft, path, value);
}

static arcp_status write_mapping(arcp__yaml_reader *r, body_draft *draft, const char *path,
                                 const yaml_node_t *node)
{
    arcp_json_begin_object(&draft->writer);
    arcp_status status = arcp__yaml_members(r, node, path, body_member, draft);
    if (status == ARCP_OK) {
        arcp_json_end_object(&draft->writer);
    }
    return status;
}

/* YAML as JSON; after a refusal what was written is nothing. */
static arcp_status write_json(arcp__yaml_reader *r, body_draft *draft, const char *path,
                              const yaml_node_t *node)
{
    if (node->type == YAML_SCALAR_NODE) {
        write_scalar(draft, node);
        return ARCP_OK;
    }
    if (draft->depth == BODY_DEPTH_MAX) {
        return arcp__yaml_refuse(r, node, path, "stands deeper than 32 levels");
    }
    if (draft->writer.out->size > BODY_BYTES_MAX) {
        return arcp__yaml_refuse(r, node, path, "makes the body longer than 1048576 bytes");
    }
    draft->depth++;
    arcp_status status = node->type == YAML_SEQUENCE_NODE ? write_list(r, draft, path, node)
                                                          : write_mapping(r, draft, path, node);
    draft->depth--;
    return status;
}

static arcp_status read_body(arcp__yaml_reader *r, const yaml_node_t *value, const char *path,
                             char **out)
{
    if (value->type != YAML_MAPPING_NODE && value->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, value, path, "must be a mapping or a list: it is sent as JSON");
    }
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    body_draft draft = {.depth = 0};
    arcp_json_writer_init(&draft.writer, &text);
    arcp_status status = write_json(r, &draft, path, value);
    if (status == ARCP_OK) {
        *out = arcp_buf_take_cstr(&text);
        status = *out == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status response_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                   const char *path, const yaml_node_t *value)
{
    arcp__config_request *request = into;
    for (size_t at = 0; at < COUNT(pointer_names); at++) {
        if (arcp_span_equal_cstr(key, pointer_names[at])) {
            arcp_status status = arcp__yaml_text(r, value, path, &request->pointers[at]);
            const char *text = request->pointers[at];
            return status == ARCP_OK && text != NULL && text[0] != '/'
                       ? arcp__yaml_refuse(r, value, path, "must be a JSON pointer such as /key")
                       : status;
        }
    }
    return ARCP_E_NOT_FOUND;
}

static arcp_status request_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    arcp__config_request *request = into;
    if (arcp_span_equal_cstr(key, "url")) {
        arcp_status status = arcp__yaml_text(r, value, path, &request->url);
        bool good = request->url != NULL && (strncmp(request->url, "https://", 8) == 0 ||
                                             strncmp(request->url, "http://", 7) == 0);
        return status == ARCP_OK && !good
                   ? arcp__yaml_refuse(r, value, path, "must begin with https:// or http://")
                   : status;
    }
    if (arcp_span_equal_cstr(key, "headers")) {
        return arcp__yaml_members(r, value, path, arcp__config_headers_member, &request->headers);
    }
    if (arcp_span_equal_cstr(key, "body")) {
        return read_body(r, value, path, &request->body);
    }
    if (arcp_span_equal_cstr(key, "response")) {
        return arcp__yaml_members(r, value, path, response_member, request);
    }
    return arcp_span_equal_cstr(key, "method") ? arcp__yaml_text(r, value, path, &request->method)
                                               : ARCP_E_NOT_FOUND;
}

static const arcp__yaml_field http_fields[] = {
    {"timeout_ms", ARCP__YAML_COUNT, offsetof(arcp__config_credentials, timeout_ms), 0, 3600000},
    {"connections", ARCP__YAML_COUNT, offsetof(arcp__config_credentials, connections), 0, 1000},
    {"ca_file", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, ca_file), 0, 0},
};

static arcp_status gone_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config_credentials *into = &r->config->credentials;
    if (into->gone_count == ARCP__GONE_MAX) {
        char what[64];
        (void)snprintf(what, sizeof(what), "there are at most %u statuses", ARCP__GONE_MAX);
        return arcp__yaml_refuse(r, node, path, what);
    }
    return read_http_status(r, node, path, &into->gone[into->gone_count++]);
}

static arcp_status http_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                               const yaml_node_t *value)
{
    arcp__config_credentials *credentials = into;
    for (size_t at = 0; at < COUNT(request_names); at++) {
        if (arcp_span_equal_cstr(key, request_names[at])) {
            return arcp__yaml_members(r, value, path, request_member, &credentials->requests[at]);
        }
    }
    if (arcp_span_equal_cstr(key, "gone")) {
        return arcp__yaml_items(r, value, path, gone_item);
    }
    return arcp__yaml_field_read(r, http_fields, COUNT(http_fields), credentials, key, path, value);
}

/* ---- the group ---- */

static const arcp__yaml_field group_fields[] = {
    {"key_file", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, key_file), 0, 0},
    {"endpoint", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, endpoint), 0, 0},
    {"scheme", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, scheme), 0, 0},
    {"profile", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, profile), 0, 0},
    {"currency", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, currency), 0, 0},
    {"values_file", ARCP__YAML_TEXT, offsetof(arcp__config_credentials, values_file), 0, 0},
    {"agents", ARCP__YAML_TEXTS, offsetof(arcp__config_credentials, agents), 0, 0},
    {"models", ARCP__YAML_TEXTS, offsetof(arcp__config_credentials, models), 0, 0},
    {"values", ARCP__YAML_TEXTS, offsetof(arcp__config_credentials, values), 0, 0},
};

arcp_status arcp__config_credentials_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                            const char *path, const yaml_node_t *value)
{
    arcp__config_credentials *credentials = into;
    if (arcp_span_equal_cstr(key, "provisioner")) {
        return read_kind(r, value, path, credentials);
    }
    if (arcp_span_equal_cstr(key, "enforces")) {
        return read_enforces(r, value, path, credentials);
    }
    if (arcp_span_equal_cstr(key, "errors")) {
        return arcp__yaml_items(r, value, path, error_item);
    }
    if (arcp_span_equal_cstr(key, "http")) {
        return arcp__yaml_members(r, value, path, http_member, credentials);
    }
    return arcp__yaml_field_read(r, group_fields, COUNT(group_fields), credentials, key, path,
                                 value);
}

arcp_status arcp__config_credentials_check(arcp__yaml_reader *r,
                                           const arcp__config_credentials *credentials,
                                           const yaml_node_t *node)
{
    const arcp__config_request *issue = &credentials->requests[ARCP__HTTP_ISSUE];
    const arcp__config_request *usage = &credentials->requests[ARCP__HTTP_USAGE];
    const char *what = NULL;
    if (credentials->kind == ARCP__PROVISIONER_STATIC) {
        if (credentials->values.count == 0 && credentials->values_file == NULL) {
            what = "provisioner: static needs values or values_file";
        } else if (credentials->endpoint == NULL) {
            what = "provisioner: static needs an endpoint";
        }
    } else if (credentials->kind == ARCP__PROVISIONER_HTTP) {
        if (issue->url == NULL || credentials->requests[ARCP__HTTP_REVOKE].url == NULL) {
            what = "provisioner: http needs http.issue.url and http.revoke.url";
        } else if (issue->pointers[ARCP__HTTP_VALUE] == NULL) {
            what = "provisioner: http needs http.issue.response.value";
        } else if (credentials->endpoint == NULL && issue->pointers[ARCP__HTTP_ENDPOINT] == NULL) {
            what = "provisioner: http needs an endpoint, or http.issue.response.endpoint";
        } else if (usage->url != NULL && usage->pointers[ARCP__HTTP_SPENT] == NULL) {
            what = "http.usage needs response.spent";
        }
    }
    if (what == NULL && (credentials->enforces & ARCP_ENFORCES_BUDGET) != 0 &&
        credentials->currency == NULL) {
        what = "enforces: budget needs a currency";
    } else if (what == NULL && (credentials->enforces & ARCP_ENFORCES_MODELS) != 0 &&
               credentials->models.count == 0) {
        what = "enforces: models needs models";
    }
    return what == NULL ? ARCP_OK : arcp__yaml_refuse(r, node, "credentials", what);
}

/* ---- printing ---- */

static void print_request(arcp_buf *out, const char *name, const arcp__config_request *request,
                          arcp__print_secrets secrets)
{
    if (request->url == NULL) {
        return;
    }
    arcp_buf_append_format(out, "    %s:\n", name);
    arcp__yaml_print_text(out, "      method", request->method);
    arcp__yaml_print_text(out, "      url", request->url);
    /* Values of headers and what is written into a body may be secrets. */
    arcp_buf_append_cstr(out, "      headers: ");
    arcp__config_headers_print(&request->headers, secrets, out);
    arcp_buf_append_cstr(out, "\n      body: ");
    arcp__yaml_print_secret(out, request->body, secrets);
    arcp_buf_append_cstr(out, "\n      response: {");
    const char *separator = "";
    for (size_t at = 0; at < COUNT(pointer_names); at++) {
        if (request->pointers[at] != NULL) {
            arcp_buf_append_format(out, "%s%s: ", separator, pointer_names[at]);
            arcp_json_quote(arcp_span_cstr(request->pointers[at]), out);
            separator = ", ";
        }
    }
    arcp_buf_append_cstr(out, "}\n");
}

static void print_errors(const arcp__config_credentials *credentials, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "  errors:\n");
    for (size_t at = 0; at < credentials->error_count; at++) {
        const arcp__upstream_rule *rule = &credentials->errors[at];
        arcp_buf_append_format(out, "    - {code: %s", arcp_status_wire_code(rule->code));
        if (rule->http_status != 0) {
            arcp_buf_append_format(out, ", status: %d", rule->http_status);
        }
        if (rule->contains != NULL) {
            arcp_buf_append_cstr(out, ", contains: ");
            arcp_json_quote(arcp_span_cstr(rule->contains), out);
        }
        arcp_buf_append_cstr(out, "}\n");
    }
}

static void print_gone(arcp_buf *out, const arcp__config_credentials *credentials)
{
    size_t count = 0;
    const int *gone = arcp__config_credentials_gone(credentials, &count);
    arcp_buf_append_cstr(out, "    gone: [");
    for (size_t at = 0; at < count; at++) {
        arcp_buf_append_format(out, "%s%d", at == 0 ? "" : ", ", gone[at]);
    }
    arcp_buf_append_cstr(out, "]\n");
}

void arcp__config_credentials_print(const arcp__config_credentials *credentials,
                                    arcp__print_secrets secrets, arcp_buf *out)
{
    arcp_buf_append_format(out, "  provisioner: %s\n", kinds[credentials->kind]);
    if (credentials->kind == ARCP__PROVISIONER_NONE) {
        return;
    }
    arcp__yaml_print_text(out, "  key_file", credentials->key_file);
    arcp__yaml_print_text(out, "  endpoint", credentials->endpoint);
    arcp__yaml_print_text(out, "  scheme", credentials->scheme);
    arcp__yaml_print_text(out, "  profile", credentials->profile);
    arcp__yaml_print_text(out, "  currency", credentials->currency);
    arcp__yaml_print_list(out, "  agents", &credentials->agents);
    arcp__yaml_print_list(out, "  models", &credentials->models);
    arcp_buf_append_cstr(out, "  enforces: [");
    const char *separator = "";
    for (size_t at = 0; at < COUNT(enforceable); at++) {
        if ((credentials->enforces & enforceable[at].bit) != 0) {
            arcp_buf_append_format(out, "%s%s", separator, enforceable[at].name);
            separator = ", ";
        }
    }
    arcp_buf_append_cstr(out, "]\n");
    print_errors(credentials, out);
    if (credentials->kind == ARCP__PROVISIONER_STATIC) {
        arcp__yaml_print_secret_list(out, "  values", &credentials->values, secrets);
        arcp__yaml_print_text(out, "  values_file", credentials->values_file);
        return;
    }
    arcp_buf_append_cstr(out, "  http:\n");
    for (size_t at = 0; at < COUNT(request_names); at++) {
        print_request(out, request_names[at], &credentials->requests[at], secrets);
    }
    arcp_buf_append_format(out, "    timeout_ms: %llu\n    connections: %llu\n",
                           (unsigned long long)arcp__config_credentials_timeout_ms(credentials),
                           (unsigned long long)arcp__config_credentials_connections(credentials));
    arcp__yaml_print_text(out, "    ca_file", credentials->ca_file);
    print_gone(out, credentials);
}
