/* Reads an answer's body: one JSON text, or a stream of events (text/event-stream). Lines of a
 * stream end with CR, LF or both; the data of an event are its lines `data:`, and an empty line
 * ends it. What is too long or no JSON is not read, and noted. */
#include "llm/llm_usage.h"

#define DONE "[DONE]"

void arcp__llm_tap_init(arcp__llm_tap *tap, arcp__llm_route route, bool is_stream)
{
    *tap = (arcp__llm_tap){.route = route,
                           .is_stream = is_stream,
                           .other_tokens_per_byte =
                               arcp__llm_policy_init(route).other_tokens_per_byte};
}

void arcp__llm_tap_fini(arcp__llm_tap *tap)
{
    arcp_buf_fini(&tap->line);
    arcp_buf_fini(&tap->data);
    arcp_buf_fini(&tap->scratch);
    arcp__json_fini(&tap->json);
}

static void read_json(arcp__llm_tap *tap, arcp_span text)
{
    const arcp_json_limits limits = {ARCP__LLM_BODY_DEPTH_MAX, 10000, ARCP__LLM_WHOLE_BYTES_MAX};
    if (arcp_json_scan(&tap->json, text, &limits, NULL) != ARCP_OK) {
        tap->has_unread = true;
        return;
    }
    arcp__llm_usage_read(tap);
    arcp_buf_clear(&tap->scratch);
}

/* ---- streams ---- */

static void end_event(arcp__llm_tap *tap)
{
    const arcp_span data = arcp_buf_span(&tap->data);
    if (tap->data.failed) {
        tap->has_unread = true;
    } else if (data.size != 0 && !arcp_span_equal_cstr(data, DONE)) {
        read_json(tap, data);
    }
    arcp_buf_clear(&tap->data);
}

/* Adds the data of a line to its event. */
static void add_data(arcp__llm_tap *tap, arcp_span value)
{
    if (value.size > ARCP__LLM_EVENT_BYTES_MAX - tap->data.size) {
        tap->has_unread = true;
        arcp_buf_clear(&tap->data);
        return;
    }
    if (tap->data.size != 0) {
        arcp_buf_append_byte(&tap->data, '\n');
    }
    arcp_buf_append(&tap->data, value);
}

static void end_line(arcp__llm_tap *tap)
{
    const arcp_span field = ARCP_SPAN_LITERAL("data:");
    const arcp_span line = arcp_buf_span(&tap->line);
    if (tap->skips || tap->line.failed) {
        tap->has_unread = true;
        tap->skips = false;
    } else if (line.size == 0) {
        end_event(tap);
    } else if (arcp_span_starts_with(line, field)) {
        const arcp_span value = arcp_span_from(line, field.size);
        add_data(tap, arcp_span_from(value, value.size != 0 && value.data[0] == ' ' ? 1 : 0));
    }
    arcp_buf_clear(&tap->line);
}

/* Bytes without a line end. */
static void add_piece(arcp__llm_tap *tap, arcp_span piece)
{
    if (tap->skips || piece.size > ARCP__LLM_EVENT_BYTES_MAX - tap->line.size) {
        tap->skips = true;
        arcp_buf_clear(&tap->line);
    } else {
        arcp_buf_append(&tap->line, piece);
    }
}

static void feed_stream(arcp__llm_tap *tap, arcp_span bytes)
{
    while (bytes.size != 0) {
        size_t size = 0;
        if (tap->after_cr && bytes.data[0] == '\n') {
            bytes = arcp_span_from(bytes, 1);
            tap->after_cr = false;
            continue;
        }
        while (size < bytes.size && bytes.data[size] != '\n' && bytes.data[size] != '\r') {
            size++;
        }
        add_piece(tap, arcp_span_first(bytes, size));
        tap->after_cr = size < bytes.size && bytes.data[size] == '\r';
        if (size < bytes.size) {
            end_line(tap);
            size++;
        }
        bytes = arcp_span_from(bytes, size);
    }
}

/* ---- all answers ---- */

void arcp__llm_tap_feed(arcp__llm_tap *tap, arcp_span bytes)
{
    if (tap->is_stream) {
        feed_stream(tap, bytes);
    } else if (tap->skips || bytes.size > ARCP__LLM_WHOLE_BYTES_MAX - tap->line.size) {
        tap->skips = true;
        arcp_buf_clear(&tap->line);
    } else {
        arcp_buf_append(&tap->line, bytes);
    }
}

void arcp__llm_tap_end(arcp__llm_tap *tap)
{
    if (tap->is_stream) {
        /* An event without its empty line did not arrive as a whole, but its usage is as real. */
        if (tap->line.size != 0 || tap->skips) {
            end_line(tap);
        }
        end_event(tap);
    } else if (tap->skips || tap->line.failed) {
        tap->has_unread = true;
    } else {
        read_json(tap, arcp_buf_span(&tap->line));
    }
}
