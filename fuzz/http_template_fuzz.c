/* Templates of requests to an upstream, and pointers into its responses. The first byte selects the
 * use of the template and the members of the request; then come, one per line, the template, the
 * request's text, a pointer, and a response.
 *
 * For every input: a header stays one line, a URL gets only unreserved characters, a body is JSON
 * in which no text of the request becomes structure, and a template without names has the same
 * result for every request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/http_template.h"
#include "lines.h"

#define FILES "{file:"

static char *to_cstr(arcp_span text)
{
    char *copy = malloc(text.size + 1);
    require(copy != NULL);
    if (text.size != 0) {
        memcpy(copy, text.data, text.size);
    }
    copy[text.size] = '\0';
    return copy;
}

/* As the engine makes it: ids are its own, texts are chosen by a client or an upstream. */
static arcp_provision_request make_request(uint8_t has, arcp_span text, const arcp_span *models)
{
    return (arcp_provision_request){
        .struct_size = sizeof(arcp_provision_request),
        .alias = ARCP_SPAN_LITERAL("cred_1"),
        .credential_id = ARCP_SPAN_LITERAL("cred_1"),
        .upstream_id = (has & 4) != 0 ? text : arcp_span_make(NULL, 0),
        .value = (has & 8) != 0 ? text : arcp_span_make(NULL, 0),
        .principal = text,
        .agent = text,
        .budget = (has & 16) != 0 ? ARCP_SPAN_LITERAL("1.25") : arcp_span_make(NULL, 0),
        .models = models,
        .model_count = 2,
        .has_models = (has & 32) != 0,
        .ttl_sec = (has & 64) != 0 ? 60 : 0,
    };
}

static size_t count_nodes(arcp_span text, bool *is_json)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 100000, SIZE_MAX};
    *is_json = arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK;
    const size_t count = json.count;
    arcp__json_fini(&json);
    return count;
}

static void check_header(arcp_span out, const char *text)
{
    /* The operator's own text may have line ends; inserted text must not. */
    for (size_t i = 0; i < out.size && strpbrk(text, "\r\n") == NULL; i++) {
        require(out.data[i] != '\r' && out.data[i] != '\n');
    }
}

/* The same template with longer texts has as many values: none of them is structure. */
static void check_body(const arcp__template *template, const arcp_provision_request *request,
                       arcp_span out)
{
    bool is_json = false;
    const size_t count = count_nodes(out, &is_json);
    require(is_json);
    arcp_provision_request other = *request;
    const arcp_span plain = ARCP_SPAN_LITERAL("x");
    other.principal = request->principal.size == 0 ? request->principal : plain;
    other.agent = request->agent.size == 0 ? request->agent : plain;
    other.upstream_id = request->upstream_id.size == 0 ? request->upstream_id : plain;
    other.value = request->value.size == 0 ? request->value : plain;
    arcp_buf again = arcp_buf_init();
    bool names_key = false;
    require(arcp__template_expand(template, &other, &names_key, &again));
    require(count_nodes(arcp_buf_span(&again), &is_json) == count && is_json);
    arcp_buf_fini(&again);
}

static void check_constant(const arcp__template *template, arcp_span out)
{
    const arcp_provision_request none = {.struct_size = sizeof none};
    arcp_buf again = arcp_buf_init();
    bool names_key = false;
    require(arcp__template_expand(template, &none, &names_key, &again));
    require(!names_key && arcp_span_equal(out, arcp_buf_span(&again)));
    arcp_buf_fini(&again);
}

static void try_template(arcp__template_use use, const char *text,
                         const arcp_provision_request *request)
{
    arcp__template made;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    bool names_key = false;
    const arcp_status status = arcp__template_init(&made, text, use, &error);
    require(status == ARCP_OK || (status == ARCP_E_USAGE && error.message[0] != '\0'));
    if (status != ARCP_OK) {
        arcp__template_fini(&made);
        return;
    }
    if (arcp__template_expand(&made, request, &names_key, &out)) {
        const arcp_span came = arcp_buf_span(&out);
        if (use == ARCP__TEMPLATE_HEADER) {
            check_header(came, text);
        } else if (use == ARCP__TEMPLATE_BODY) {
            check_body(&made, request, came);
        }
        if (made.is_constant && use != ARCP__TEMPLATE_BODY) {
            check_constant(&made, came);
        }
    }
    arcp_buf_fini(&out);
    arcp__template_fini(&made);
}

/* {principal} alone, as a URL: the text is inserted percent-encoded and decodes to itself. */
static void try_url(arcp_span text, const arcp_provision_request *request)
{
    arcp__template made;
    arcp_buf out = arcp_buf_init();
    bool names_key = false;
    require(arcp__template_init(&made, "{principal}", ARCP__TEMPLATE_URL, NULL) == ARCP_OK);
    if (arcp__template_expand(&made, request, &names_key, &out)) {
        size_t from = 0;
        for (size_t i = 0; i < text.size; i++) {
            const unsigned char byte = (unsigned char)out.data[from];
            if (byte == '%') {
                char hex[3] = {out.data[from + 1], out.data[from + 2], '\0'};
                require(strtoul(hex, NULL, 16) == (unsigned char)text.data[i]);
                from += 3;
            } else {
                require(byte == (unsigned char)text.data[i] &&
                        strchr(" /?#&=%:@\r\n", byte) == NULL);
                from++;
            }
        }
        require(from == out.size);
    }
    arcp_buf_fini(&out);
    arcp__template_fini(&made);
}

static void try_pointer(const char *pointer, arcp_span answer)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {32, 10000, SIZE_MAX};
    if (arcp_json_scan(&json, answer, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref found = arcp__json_pointer(&json, pointer);
        require(found == ARCP_JSON_ABSENT || found < json.count);
        require(arcp__json_pointer(&json, "") == ARCP_JSON_ROOT);
    }
    arcp__json_fini(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    arcp_span rest = arcp_span_make((const char *)data + 1, size - 1);
    char *text = to_cstr(take_line(&rest));
    const arcp_span value = take_line(&rest);
    char *pointer = to_cstr(take_line(&rest));
    const arcp_span models[] = {ARCP_SPAN_LITERAL("a"), value};
    arcp_provision_request request = make_request(data[0], value, models);
    (void)setenv("ARCP_FUZZ", "hush", 1);
    /* The content of files depends on the machine. */
    if (strstr(text, FILES) == NULL) {
        try_template((arcp__template_use)(data[0] % 3), text, &request);
    }
    try_url(value, &request);
    try_pointer(pointer, rest);
    free(text);
    free(pointer);
    return 0;
}
