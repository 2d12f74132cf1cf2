#include "arcpd/config_tracing.h"

#include <stddef.h>

#include "arcpd/yaml_printer.h"
#include "arcpd/yaml_reader.h"
#include "base/alloc.h"

#define NUMBER(key, minimum, maximum)                                                              \
    {                                                                                              \
#key, ARCP__YAML_COUNT, offsetof(arcp__config_tracing, key), minimum, maximum              \
    }
static const arcp__yaml_field fields[] = {
    {"ca_file", ARCP__YAML_TEXT, offsetof(arcp__config_tracing, ca_file), 0, 0},
    {"service_name", ARCP__YAML_TEXT, offsetof(arcp__config_tracing, service_name), 0, 0},
    NUMBER(timeout_ms, 100, 600000),
    NUMBER(delay_ms, 0, 60000),
    NUMBER(flush_ms, 0, 60000),
    NUMBER(queue_bytes, 65536, 1073741824),
};

void arcp__config_tracing_init(arcp__config_tracing *tracing)
{
    *tracing = (arcp__config_tracing){
        .timeout_ms = 10000, .delay_ms = 1000, .flush_ms = 3000, .queue_bytes = 4194304};
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
    if (arcp_span_equal_cstr(key, "endpoint")) {
        return read_endpoint(r, value, path, into);
    }
    if (arcp_span_equal_cstr(key, "headers")) {
        arcp__config_wipe_list(&into->headers);
        return arcp__yaml_members(r, value, path, arcp__config_headers_member, &into->headers);
    }
    return arcp__yaml_field_read(r, fields, ARCP__YAML_FIELD_COUNT(fields), into, key, path, value);
}

arcp_status arcp__config_tracing_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                        const char *path, const yaml_node_t *value)
{
    return arcp_span_equal_cstr(key, "otlp") ? arcp__yaml_members(r, value, path, otlp_member, into)
                                             : ARCP_E_NOT_FOUND;
}

/* ---- printing ---- */

void arcp__config_tracing_print(const arcp__config_tracing *tracing, arcp__print_secrets secrets,
                                arcp_buf *out)
{
    arcp_buf_append_cstr(out, "tracing:\n  otlp:\n");
    arcp__yaml_print_text(out, "    endpoint", tracing->endpoint);
    arcp_buf_append_cstr(out, "    headers: ");
    arcp__config_headers_print(&tracing->headers, secrets, out);
    arcp_buf_append_byte(out, '\n');
    arcp__yaml_print_text(out, "    ca_file", tracing->ca_file);
    arcp__yaml_print_text(out, "    service_name",
                          tracing->service_name == NULL ? "arcpd" : tracing->service_name);
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"timeout_ms", tracing->timeout_ms},
                   {"delay_ms", tracing->delay_ms},
                   {"flush_ms", tracing->flush_ms},
                   {"queue_bytes", tracing->queue_bytes}};
    for (size_t at = 0; at < sizeof(numbers) / sizeof(numbers[0]); at++) {
        arcp_buf_append_format(out, "    %s: %llu\n", numbers[at].key,
                               (unsigned long long)numbers[at].value);
    }
}
