/* A request or a response with its body. The first byte of the input selects which, and how the
 * rest is cut into pieces. The result and the bytes of the body do not depend on the cuts; an
 * accepted chunked body ends with CRLF CRLF, and one with a length has that length. */
#include "web/feed.h"

#define HEAD_BYTES 2048
#define BODY_BYTES 512

typedef struct outcome {
    arcp__web_result head;
    arcp__web_result result;
    arcp__web_framing framing;
    uint64_t length;
    size_t rest;
    bool ends;
    arcp_buf data;
} outcome;

static void read_body(const arcp__web_head *head, arcp_span bytes, size_t size, outcome *out)
{
    arcp__web_body body;
    arcp_span rest;
    arcp__web_body_init(&body, head, false, BODY_BYTES);
    out->framing = head->framing;
    out->length = head->body_length;
    out->result = web_feed_body(&body, bytes, size, &out->data, &rest);
    out->rest = rest.size;
    out->ends = arcp__web_body_ends(&body);
    require(!out->data.failed && out->data.size <= BODY_BYTES);
}

static outcome read_message(arcp__web_side side, arcp_span bytes, size_t size)
{
    arcp__web_head head;
    arcp_span rest;
    outcome out = {.data = arcp_buf_init()};
    arcp__web_head_init(&head, side, HEAD_BYTES);
    out.head = web_feed_head(&head, bytes, size, &rest);
    if (out.head == ARCP__WEB_COMPLETE) {
        read_body(&head, rest, size, &out);
    }
    arcp__web_head_fini(&head);
    return out;
}

static void check_taken(const outcome *out, arcp_span bytes)
{
    const arcp_span taken = arcp_span_first(bytes, bytes.size - out->rest);
    require(out->ends);
    if (out->framing == ARCP__WEB_CHUNKED) {
        require(taken.size >= 5 && memcmp(taken.data + taken.size - 2, "\r\n", 2) == 0);
    } else {
        require(out->framing == ARCP__WEB_NO_BODY || out->framing == ARCP__WEB_BY_LENGTH);
        require(out->data.size == out->length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const arcp_span bytes = arcp_span_make((const char *)data + 1, size - 1);
    const arcp__web_side side = (data[0] & 1) != 0 ? ARCP__WEB_RESPONSE : ARCP__WEB_REQUEST;
    outcome whole = read_message(side, bytes, SIZE_MAX);
    outcome cut = read_message(side, bytes, 1 + (data[0] >> 2));
    require(whole.head == cut.head && whole.result == cut.result && whole.ends == cut.ends);
    if (whole.head == ARCP__WEB_COMPLETE && whole.result == ARCP__WEB_COMPLETE) {
        require(whole.rest == cut.rest && whole.framing == cut.framing);
        require(arcp_span_equal(arcp_buf_span(&whole.data), arcp_buf_span(&cut.data)));
        check_taken(&whole, bytes);
    }
    arcp_buf_fini(&whole.data);
    arcp_buf_fini(&cut.data);
    return 0;
}
