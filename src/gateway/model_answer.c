/* The heads of requests and responses, and the body of the answer as the agent gets it. */
#include "gateway/model_parts.h"

#include "base/blank.h"
#include "json/json.h"

#define CONTEXT_MAX 200000 /* flags context-... would lift it */
#define SPAN_ID_AT  36     /* in a traceparent */

/* ---- the request ---- */

static void add_header(arcp_buf *out, const char *name, arcp_span value)
{
    arcp_buf_append_format(out, "%s: ", name);
    arcp_buf_append(out, value);
    arcp_buf_append_byte(out, '\0');
}

/* The flags of anthropic-beta without those that would lift the context on which the bound stands.
 */
static void add_flags(const model_call *m, arcp_span list, arcp_buf *out)
{
    const bool is_bounded = m->row != NULL && m->row->context <= CONTEXT_MAX;
    arcp_buf kept = arcp_buf_init();
    while (list.size != 0) {
        size_t size = 0;
        while (size < list.size && list.data[size] != ',') {
            size++;
        }
        const arcp_span flag = arcp__skip_blanks(arcp_span_first(list, size));
        if (flag.size != 0 &&
            !(is_bounded && arcp_span_starts_with(flag, ARCP_SPAN_LITERAL("context-")))) {
            arcp_buf_append_cstr(&kept, kept.size == 0 ? "" : ",");
            arcp_buf_append(&kept, flag);
        }
        list = arcp_span_from(list, size + 1);
    }
    if (kept.size != 0) {
        add_header(out, "anthropic-beta", arcp_buf_span(&kept));
    }
    out->failed = out->failed || kept.failed;
    arcp_buf_fini(&kept);
}

/* The provider's part is a child of the call's span, or of whatever the job was given. */
static void add_traceparent(const model_call *m, arcp_buf *out)
{
    const arcp_span job = arcp_span_cstr(m->call->job->traceparent);
    char text[ARCP__TRACEPARENT_SIZE];
    if (m->span_id[0] == '\0' || job.size != sizeof text) {
        if (job.size != 0) {
            add_header(out, "traceparent", job);
        }
        return;
    }
    memcpy(text, job.data, sizeof text);
    memcpy(text + SPAN_ID_AT, m->span_id, ARCP__SPAN_ID_SIZE);
    add_header(out, "traceparent", arcp_span_make(text, sizeof text));
}

void arcp__model_request_headers(const model_call *m, arcp_buf *out)
{
    static const char *const passed[] = {"accept", "user-agent", "anthropic-version",
                                         "openai-beta"};
    const arcp__web_head *head =
        m->call->exchange == NULL ? NULL : arcp__web_exchange_head(m->call->exchange);
    const arcp_buf *key = &m->found[m->at].provider->key_line;
    add_header(out, "Content-Type", ARCP_SPAN_LITERAL("application/json"));
    for (size_t i = 0; i < sizeof passed / sizeof passed[0] && head != NULL; i++) {
        arcp_span value;
        if (arcp__web_head_find(head, passed[i], &value) != 0) {
            add_header(out, passed[i], value);
        }
    }
    for (size_t i = 0; head != NULL && i < head->header_count; i++) {
        arcp_span name;
        arcp_span value;
        arcp__web_head_header(head, i, &name, &value);
        if (arcp__web_equal(name, ARCP_SPAN_LITERAL("anthropic-beta"))) {
            add_flags(m, value, out);
        }
    }
    if (key->size != 0) {
        arcp_buf_append(out, arcp_buf_span(key));
        arcp_buf_append_byte(out, '\0');
    }
    add_traceparent(m, out);
}

/* ---- the response ---- */

static bool is_plain(arcp_span value)
{
    for (size_t i = 0; i < value.size; i++) {
        if ((unsigned char)value.data[i] < ' ' || value.data[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

void arcp__model_begin_response(model_call *m, const arcp__web_client_head *head)
{
    static const char *const passed[] = {"retry-after", "retry-after-ms", "x-should-retry",
                                         "request-id", "x-request-id"};
    arcp_buf headers = arcp_buf_init();
    arcp_buf type = arcp_buf_init();
    for (size_t i = 0; i < head->field_count; i++) {
        const arcp__web_field *field = &head->fields[i];
        if (arcp__web_equal(field->name, ARCP_SPAN_LITERAL("content-type")) &&
            is_plain(field->value)) {
            arcp_buf_clear(&type);
            arcp_buf_append(&type, field->value);
        }
        for (size_t j = 0; j < sizeof passed / sizeof passed[0]; j++) {
            if (arcp__web_equal(field->name, arcp_span_cstr(passed[j])) && is_plain(field->value)) {
                arcp_buf_append_format(&headers, "%s: ", passed[j]);
                arcp_buf_append(&headers, field->value);
                arcp_buf_append_cstr(&headers, "\r\n");
            }
        }
    }
    arcp_buf_append_format(&headers, "x-arcp-call-id: %s\r\n", m->call->id);
    if (m->is_alias) {
        arcp_buf_append_cstr(&headers, "x-arcp-model: ");
        arcp_buf_append(&headers, m->found[m->at].model);
        arcp_buf_append_cstr(&headers, "\r\n");
    }
    const arcp__web_response response = {.status = (int)head->status,
                                         .type = arcp_buf_cstr(&type),
                                         .headers = arcp_buf_cstr(&headers),
                                         .is_streamed = true};
    arcp__gateway_call_respond(m->call, &response);
    arcp_buf_fini(&headers);
    arcp_buf_fini(&type);
}

/* Whether an event of a chat's stream has the usage and nothing else. */
static bool is_usage_alone(arcp_span event)
{
    const arcp_span field = ARCP_SPAN_LITERAL("data:");
    arcp_json json = {0};
    bool is_alone = false;
    if (arcp_span_starts_with(event, field) &&
        arcp_json_scan(&json, arcp_span_from(event, field.size), NULL, NULL) == ARCP_OK) {
        const arcp_json_ref choices =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("choices"));
        const arcp_json_ref usage =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("usage"));
        is_alone = arcp_json_is(&json, choices, ARCP_JSON_ARRAY) &&
                   arcp_json_count(&json, choices) == 0 &&
                   arcp_json_is(&json, usage, ARCP_JSON_OBJECT);
    }
    arcp__json_fini(&json);
    return is_alone;
}

static void write_held_back(model_call *m)
{
    const arcp_span event = arcp_buf_span(&m->held_back);
    if (event.size != 0 && (m->is_raw || !is_usage_alone(event))) {
        arcp__gateway_call_write(m->call, event);
    }
    arcp_buf_clear(&m->held_back);
    m->is_raw = false;
}

/* Whether what is held back ends with an empty line, which ends the event. */
static bool is_event_end(arcp_span held)
{
    return arcp_span_ends_with(held, ARCP_SPAN_LITERAL("\n\n")) ||
           arcp_span_ends_with(held, ARCP_SPAN_LITERAL("\n\r\n")) ||
           arcp_span_ends_with(held, ARCP_SPAN_LITERAL("\r\r"));
}

void arcp__model_pass(model_call *m, arcp_span piece)
{
    if (!m->filters) {
        arcp__gateway_call_write(m->call, piece);
        return;
    }
    /* Each line end may end an event. */
    while (piece.size != 0) {
        size_t size = 0;
        while (size < piece.size && piece.data[size] != '\n' && piece.data[size] != '\r') {
            size++;
        }
        size += size < piece.size;
        arcp_buf_append(&m->held_back, arcp_span_first(piece, size));
        piece = arcp_span_from(piece, size);
        if (m->held_back.failed || m->held_back.size > ARCP__LLM_EVENT_BYTES_MAX) {
            m->is_raw = true;
            write_held_back(m);
            m->filters = false;
            arcp__gateway_call_write(m->call, piece);
            return;
        }
        if (is_event_end(arcp_buf_span(&m->held_back))) {
            write_held_back(m);
        }
    }
}

void arcp__model_pass_rest(model_call *m)
{
    write_held_back(m);
}
