#include "arcpd/config_tracing.h"

#include <stddef.h>
#include <stdio.h>

#include "arcpd/yaml_reader.h"
#include "base/alloc.h"

static const struct number {
    const char *key;
    size_t offset;
    uint64_t otherwise, minimum, maximum;
} numbers[] = {
    {"timeout_ms", offsetof(arcp__config_tracing, timeout_ms), 10000, 100, 600000},
    {"delay_ms", offsetof(arcp__config_tracing, delay_ms), 1000, 0, 60000},
    {"flush_ms", offsetof(arcp__config_tracing, flush_ms), 3000, 0, 60000},
    {"queue_bytes", offsetof(arcp__config_tracing, queue_bytes), 4194304, 65536, 1073741824},
};
#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t *place_of(arcp__config_tracing *tracing, const struct number *number)
{
    return (uint64_t *)((char *)tracing + number->offset);
}

void arcp__config_tracing_init(arcp__config_tracing *tracing)
{
    *tracing = (arcp__config_tracing){.endpoint = NULL};
    for (size_t at = 0; at < NUMBER_COUNT; at++) {
        *place_of(tracing, &numbers[at]) = numbers[at].otherwise;
    }
}

void arcp__config_tracing_fini(arcp__config_tracing *tracing)
{
    arcp__free(tracing->endpoint);
    arcp__free(tracing->ca_file);
    arcp__free(tracing->service_name);
    arcp__config_wipe_list(&tracing->headers);
    arcp__config_tracing_init(tracing);
}

/* ---- reading ---- */

static arcp_status read_number(arcp__yaml_reader *r, const yaml_node_t *value, const char *path,
                               const struct number *number, arcp__config_tracing *into)
{
    char what[96];
    uint64_t read = 0;
    arcp_status status = arcp__yaml_count(r, value, path, &read);
    if (status != ARCP_OK) {
        return status;
    }
    if (read < number->minimum || read > number->maximum) {
        (void)snprintf(what, sizeof(what), "must be a whole number from %llu to %llu",
                       (unsigned long long)number->minimum, (unsigned long long)number->maximum);
        return arcp__yaml_refuse(r, value, path, what);
    }
    *place_of(into, number) = read;
    return ARCP_OK;
}

/* As it stands, but for a collector's bare address: its usual path is added then. */
static arcp_status read_endpoint(arcp__yaml_reader *r, const yaml_node_t *value, const char *path,
                                 arcp__config_tracing *into)
{
    char *text = NULL;
    arcp_status status = arcp__yaml_text(r, value, path, &text);
    if (status != ARCP_OK || text == NULL) {
        return status;
    }
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : NULL;
    if (host == NULL || host[0] == '\0' || host[0] == '/') {
        arcp__free(text);
        return arcp__yaml_refuse(r, value, path,
                                 "must be a URL such as http://127.0.0.1:4318/v1/traces");
    }
    /* The endpoint is printed and logged: what is secret has its place in a header. */
    if (memchr(host, '@', strcspn(host, "/?#")) != NULL) {
        arcp__free(text);
        return arcp__yaml_refuse(r, value, path,
                                 "must not have a name or password: put them into a header");
    }
    const char *slash = strchr(host, '/');
    arcp_buf url = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&url, text);
    if (slash == NULL || slash[1] == '\0') {
        arcp_buf_append_cstr(&url, slash == NULL ? "/v1/traces" : "v1/traces");
    }
    arcp__free(text);
    arcp__free(into->endpoint);
    into->endpoint = arcp_buf_take_cstr(&url);
    arcp_buf_fini(&url);
    return into->endpoint == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
}

static arcp_status otlp_member(arcp__yaml_reader *r, void *user, arcp_span key, const char *path,
                               const yaml_node_t *value)
{
    arcp__config_tracing *into = user;
    for (size_t at = 0; at < NUMBER_COUNT; at++) {
        if (arcp_span_equal_cstr(key, numbers[at].key)) {
            return read_number(r, value, path, &numbers[at], into);
        }
    }
    if (arcp_span_equal_cstr(key, "endpoint")) {
        return read_endpoint(r, value, path, into);
    }
    if (arcp_span_equal_cstr(key, "headers")) {
        arcp__config_wipe_list(&into->headers);
        return arcp__yaml_members(r, value, path, arcp__config_headers_member, &into->headers);
    }
    if (arcp_span_equal_cstr(key, "ca_file")) {
        return arcp__yaml_text(r, value, path, &into->ca_file);
    }
    return arcp_span_equal_cstr(key, "service_name")
               ? arcp__yaml_text(r, value, path, &into->service_name)
               : ARCP_E_NOT_FOUND;
}

arcp_status arcp__config_tracing_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                        const char *path, const yaml_node_t *value)
{
    return arcp_span_equal_cstr(key, "otlp") ? arcp__yaml_members(r, value, path, otlp_member, into)
                                             : ARCP_E_NOT_FOUND;
}

/* ---- printing ---- */

static void print_text(arcp_buf *out, const char *key, const char *text)
{
    arcp_buf_append_format(out, "    %s: ", key);
    if (text == NULL) {
        arcp_buf_append_cstr(out, "null");
    } else {
        arcp_json_quote(arcp_span_cstr(text), out);
    }
    arcp_buf_append_byte(out, '\n');
}

void arcp__config_tracing_print(const arcp__config_tracing *tracing, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "tracing:\n  otlp:\n");
    print_text(out, "endpoint", tracing->endpoint);
    arcp_buf_append_cstr(out, "    headers: ");
    arcp__config_headers_print(&tracing->headers, out);
    arcp_buf_append_byte(out, '\n');
    print_text(out, "ca_file", tracing->ca_file);
    print_text(out, "service_name",
               tracing->service_name == NULL ? "arcpd" : tracing->service_name);
    for (size_t at = 0; at < NUMBER_COUNT; at++) {
        arcp__config_tracing copy = *tracing;
        arcp_buf_append_format(out, "    %s: %llu\n", numbers[at].key,
                               (unsigned long long)*place_of(&copy, &numbers[at]));
    }
}
