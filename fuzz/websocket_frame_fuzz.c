/* The bytes of a WebSocket peer after the upgrade. The first byte of the input selects the role,
 * the size limit and how the rest is cut into pieces. The events do not depend on the cuts;
 * messages keep the limit; no event follows the end; and messages that are echoed with the encoder
 * are decoded unchanged. */
#include "transport/websocket_frame.h"

typedef struct log {
    arcp_buf text;
    arcp_buf echo; /* each message, encoded by the other side's role */
    arcp__websocket_pool *other;
    size_t messages;
} log;

static bool is_over(const arcp__websocket_event *event)
{
    return event->type == ARCP__WEBSOCKET_CLOSED || event->type == ARCP__WEBSOCKET_WRONG;
}

static void note(log *out, const arcp__websocket_event *event, size_t cap)
{
    arcp_buf_append_format(&out->text, "%d:%u:", (int)event->type, (unsigned)event->code);
    arcp_buf_append(&out->text, event->data);
    arcp_buf_append_byte(&out->text, '\n');
    if (event->type == ARCP__WEBSOCKET_MESSAGE) {
        require(event->data.size <= cap);
        out->messages++;
        const bool done =
            arcp__websocket_frame_append(out->other, ARCP__WEBSOCKET_TEXT, event->data, &out->echo);
        require(done);
    } else {
        require(event->data.size <= ARCP__WEBSOCKET_CONTROL_MAX);
    }
    if (event->type == ARCP__WEBSOCKET_CLOSED) {
        require(event->code == ARCP__WEBSOCKET_NO_CODE ||
                arcp__websocket_close_code_is_valid(event->code));
    }
    if (event->type == ARCP__WEBSOCKET_WRONG) {
        require(arcp__websocket_close_code_is_valid(event->code) && event->why != NULL);
    }
}

static void read_all(arcp__websocket_pool *pool, arcp_span bytes, size_t piece, size_t cap,
                     log *out)
{
    arcp__websocket_reader reader;
    bool over = false;
    arcp__websocket_reader_init(&reader, pool, cap, 0);
    while (bytes.size > 0) {
        arcp_span input = arcp_span_first(bytes, piece);
        bytes = arcp_span_from(bytes, input.size);
        arcp__websocket_event event;
        do {
            event = arcp__websocket_reader_next(&reader, &input);
            if (event.type != ARCP__WEBSOCKET_NOTHING) {
                require(!over);
                over = is_over(&event);
                note(out, &event, cap);
            }
        } while (event.type != ARCP__WEBSOCKET_NOTHING);
        require(input.size == 0);
    }
    arcp__websocket_reader_fini(&reader);
}

static void log_fini(log *out)
{
    arcp_buf_fini(&out->text);
    arcp_buf_fini(&out->echo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t caps[] = {0, 10, 125, 4096};
    if (size == 0) {
        return 0;
    }
    const bool server = (data[0] & 1) != 0;
    const size_t cap = caps[(data[0] >> 1) & 3];
    const size_t piece = 1 + (data[0] >> 3);
    const arcp_span bytes = arcp_span_make((const char *)data + 1, size - 1);
    arcp__websocket_pool *pool =
        arcp__websocket_pool_new(server ? ARCP__WEBSOCKET_SERVER : ARCP__WEBSOCKET_CLIENT);
    arcp__websocket_pool *other =
        arcp__websocket_pool_new(server ? ARCP__WEBSOCKET_CLIENT : ARCP__WEBSOCKET_SERVER);
    require(pool != NULL && other != NULL);
    log whole = {.other = other};
    log cut = {.other = other};
    log again = {.other = other};
    read_all(pool, bytes, SIZE_MAX, cap, &whole);
    read_all(pool, bytes, piece, cap, &cut);
    require(arcp_span_equal(arcp_buf_span(&whole.text), arcp_buf_span(&cut.text)));
    read_all(pool, arcp_buf_span(&whole.echo), piece, cap, &again);
    require(again.messages == whole.messages);
    log_fini(&whole);
    log_fini(&cut);
    log_fini(&again);
    arcp__websocket_pool_unref(pool);
    arcp__websocket_pool_unref(other);
    return 0;
}
