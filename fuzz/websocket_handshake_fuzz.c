/* The bytes before the upgrade: the head of a request or of a response, with hosts and origins. The
 * first byte of the input selects which, and how the rest is cut into pieces. The result does not
 * depend on the cuts; the lines of an accepted request end with CRLF and none is continued in the
 * next; only a request for the configured path at one of the configured names is upgraded; hosts
 * are unchanged when written and read again. */
#include "transport/websocket_handshake.h"
#include "web/feed.h"
#include "web/server.h"

#define HEAD_BYTES 2048

static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==";

typedef struct outcome {
    arcp__web_result result;
    size_t rest;
    bool keeps_alive;
    arcp__web_framing framing;
    arcp__web_response refusal; /* status 0: it is an upgrade */
    arcp_status status;
} outcome;

static void check_authority(arcp_span text)
{
    arcp__authority first;
    arcp__authority second;
    if (!arcp__authority_parse(text, false, &first)) {
        return;
    }
    char written[ARCP__HOST_MAX + 16];
    arcp__authority_format(&first, written, sizeof written);
    const bool again = arcp__authority_parse(arcp_span_cstr(written), false, &second);
    require(again && second.kind == first.kind && strcmp(second.host, first.host) == 0 &&
            second.has_port == first.has_port && second.port == first.port);
}

static void check_upgraded(const arcp__web_head *head)
{
    arcp_span value = {NULL, 0};
    arcp__authority host;
    require(head->method == ARCP__WEB_GET);
    require(arcp__web_head_find(head, "Host", &value) == 1);
    const bool valid = arcp__authority_parse(value, false, &host);
    require(valid && arcp__authority_is_loopback(&host));
    require(arcp_span_starts_with(arcp__web_head_line(head), ARCP_SPAN_LITERAL("/arcp")));
    if (arcp__web_head_find(head, "Origin", &value) > 0) {
        require(!arcp_span_equal_cstr(value, "null"));
    }
}

static arcp__web_response check(const arcp__web_head *head, const arcp__web_names *names)
{
    static const arcp__web_route route = {.path = "/arcp", .methods = "GET"};
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__web_response refusal;
    return arcp__web_route_of(&route, 1, names, head, &refusal) == NULL
               ? refusal
               : arcp__upgrade_check(head, accept);
}

static outcome read_head(arcp__web_side type, arcp_span bytes, size_t piece,
                         const arcp__web_names *names)
{
    arcp__web_head head;
    arcp_span rest;
    outcome out = {0};
    arcp__web_head_init(&head, type, HEAD_BYTES);
    out.result = web_feed_head(&head, bytes, piece, &rest);
    if (out.result == ARCP__WEB_COMPLETE) {
        require(head.bytes <= HEAD_BYTES);
        out.rest = rest.size;
        out.keeps_alive = head.keeps_alive;
        out.framing = head.framing;
        arcp_error err = {0};
        if (type == ARCP__WEB_REQUEST) {
            out.refusal = check(&head, names);
        } else {
            out.status = arcp__upgrade_check_response(&head, key, NULL, &err);
        }
        if (type == ARCP__WEB_REQUEST && out.refusal.status == 0) {
            check_upgraded(&head);
        }
        arcp_span value = {NULL, 0};
        if (arcp__web_head_find(&head, "Host", &value) > 0) {
            check_authority(value);
        }
    }
    arcp__web_head_fini(&head);
    return out;
}

/* A request that another server in front of this one could have read differently is refused. */
static void check_lines(arcp_span head)
{
    for (size_t i = 0; i < head.size; i++) {
        if (head.data[i] == '\n') {
            require(i > 0 && head.data[i - 1] == '\r');
            require(i + 1 == head.size || (head.data[i + 1] != ' ' && head.data[i + 1] != '\t'));
        }
    }
}

static void check_response(const outcome *out)
{
    arcp_buf text = arcp_buf_init();
    const arcp__web_head request = {.side = ARCP__WEB_REQUEST};
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__websocket_accept(key, accept);
    if (out->refusal.status == 0) {
        arcp__upgrade_accept(accept, NULL, &text);
    } else {
        require(out->refusal.status >= 400 && out->refusal.ends);
        arcp__web_respond(&out->refusal, &request, false, &text);
    }
    const outcome again = read_head(ARCP__WEB_RESPONSE, arcp_buf_span(&text), SIZE_MAX, NULL);
    require(again.result == ARCP__WEB_COMPLETE);
    arcp_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const arcp_span bytes = arcp_span_make((const char *)data + 1, size - 1);
    const size_t piece = 1 + (data[0] >> 2);
    arcp__web_names names;
    arcp__authority self;
    const arcp_status status = arcp__web_names_init(&names, NULL, 0, NULL, 0, NULL);
    const bool parsed = arcp__authority_parse(ARCP_SPAN_LITERAL("127.0.0.1:7777"), false, &self);
    require(status == ARCP_OK && parsed);
    arcp__web_names_bind(&names, &self, true, false);
    check_authority(bytes);
    const arcp__web_side type = (data[0] & 1) != 0 ? ARCP__WEB_RESPONSE : ARCP__WEB_REQUEST;
    outcome whole = read_head(type, bytes, SIZE_MAX, &names);
    const outcome cut = read_head(type, bytes, piece, &names);
    require(whole.result == cut.result && whole.rest == cut.rest);
    require(whole.keeps_alive == cut.keeps_alive && whole.framing == cut.framing);
    require(whole.status == cut.status && whole.refusal.status == cut.refusal.status);
    if (type == ARCP__WEB_REQUEST && whole.result == ARCP__WEB_COMPLETE) {
        check_lines(arcp_span_first(bytes, bytes.size - whole.rest));
        check_response(&whole);
    }
    arcp__web_names_fini(&names);
    return 0;
}
