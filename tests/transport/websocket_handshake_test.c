/* The upgrade, without a socket: which requests are accepted, and how others are refused. */
#include "support/check.h"

#include "transport/websocket_handshake.h"
#include "web/feed.h"
#include "web/server.h"

/* ---- allowed peers: Host and Origin ---- */

typedef struct names_row {
    const char *bound; /* HOST:PORT of the listener */
    bool loopback;
    bool secure;
    const char *hosts[3];
    const char *origins[3];
    const char *value;
    bool allowed;
} names_row;

static size_t count_of(const char *const list[3])
{
    size_t count = 0;
    while (count < 3 && list[count] != NULL) {
        count++;
    }
    return count;
}

static void make_names(arcp__web_names *names, const names_row *row)
{
    arcp_error err = {0};
    arcp__authority self;
    check_ok(arcp__web_names_init(names, row->hosts, count_of(row->hosts), row->origins,
                                  count_of(row->origins), &err),
             &err);
    assert_true(arcp__authority_parse(arcp_span_cstr(row->bound), false, &self));
    arcp__web_names_bind(names, &self, row->loopback, row->secure);
}

#define LOCAL  "127.0.0.1:7777", true, false
#define PUBLIC "0.0.0.0:7777", false, false
#define SECURE "arcp.example.org:8443", false, true
#define NONE                                                                                       \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }

static const names_row host_rows[] = {
    {LOCAL, NONE, NONE, "localhost:7777", true},
    {LOCAL, NONE, NONE, "127.0.0.1:7777", true},
    {LOCAL, NONE, NONE, "[::1]:7777", true},
    {LOCAL, NONE, NONE, "[::1]", true},
    {LOCAL, NONE, NONE, "LOCALHOST.", true},
    {LOCAL, NONE, NONE, "localhost:9000", true}, /* a forwarded port */
    {LOCAL, NONE, NONE, "evil.com", false},
    {LOCAL, NONE, NONE, "evil.com:7777", false},
    {LOCAL, NONE, NONE, "localhost.evil.com", false},
    {LOCAL, NONE, NONE, "127.0.0.1.nip.io:7777", false},
    {LOCAL, NONE, NONE, "10.0.0.1:7777", false},
    {LOCAL, NONE, NONE, "127.1", false},
    {LOCAL, NONE, NONE, "2130706433", false},
    {LOCAL, {"arcp.local", NULL, NULL}, NONE, "arcp.local:1", true},
    {LOCAL, {"arcp.local", NULL, NULL}, NONE, "localhost", true},
    {LOCAL, {"arcp.local", NULL, NULL}, NONE, "other.local", false},
    {LOCAL, {"*", NULL, NULL}, NONE, "evil.com", true},
    {"devbox:7777", true, false, NONE, NONE, "devbox:7777", true},
    {"devbox:7777", true, false, NONE, NONE, "evil.com", false},
    {PUBLIC, NONE, NONE, "anything.example", true},
    {PUBLIC, {"a.example", "b.example:8443", NULL}, NONE, "a.example:5", true},
    {PUBLIC, {"a.example", "b.example:8443", NULL}, NONE, "b.example:8443", true},
    {PUBLIC, {"a.example", "b.example:8443", NULL}, NONE, "b.example:8444", false},
    {PUBLIC, {"a.example", "b.example:8443", NULL}, NONE, "b.example", false},
    {PUBLIC, {"a.example", "b.example:8443", NULL}, NONE, "localhost", false},
    {PUBLIC, {"b.example:80", NULL, NULL}, NONE, "b.example", true},
    {SECURE, {"b.example:443", NULL, NULL}, NONE, "b.example", true},
    {SECURE, {"b.example", NULL, NULL}, NONE, "arcp.example.org:8443", true},
};

static void hosts_are_allowed_by_name(void **state)
{
    for (size_t i = 0; i < sizeof host_rows / sizeof host_rows[0]; i++) {
        arcp__web_names names;
        bool valid = false;
        make_names(&names, &host_rows[i]);
        const bool allowed =
            arcp__web_names_allow_host(&names, arcp_span_cstr(host_rows[i].value), &valid);
        if (allowed != host_rows[i].allowed || !valid) {
            fail_msg("row %zu: Host %s at %s", i, host_rows[i].value, host_rows[i].bound);
        }
        arcp__web_names_fini(&names);
    }
}

static const names_row origin_rows[] = {
    {LOCAL, NONE, NONE, "http://127.0.0.1:7777", true},
    {LOCAL, NONE, NONE, "http://localhost:7777", true},
    {LOCAL, NONE, NONE, "HTTP://LocalHost:7777", true},
    {LOCAL, NONE, NONE, "http://[::1]:7777", true},
    {LOCAL, NONE, NONE, "http://localhost:7778", false},
    {LOCAL, NONE, NONE, "http://localhost", false},
    {LOCAL, NONE, NONE, "https://localhost:7777", false},
    {LOCAL, NONE, NONE, "http://evil.com", false},
    {LOCAL, NONE, NONE, "http://evil.com:7777", false},
    {LOCAL, NONE, NONE, "null", false},
    {LOCAL, NONE, NONE, "", false},
    {LOCAL, NONE, NONE, "file://", false},
    {LOCAL, NONE, NONE, "http://localhost:7777/", false},
    {LOCAL, NONE, NONE, "http://localhost:7777.evil.com", false},
    {LOCAL, NONE, {"https://app.example", NULL, NULL}, "https://app.example", true},
    {LOCAL, NONE, {"https://app.example", NULL, NULL}, "https://app.example:443", true},
    {LOCAL, NONE, {"https://app.example", NULL, NULL}, "http://app.example", false},
    {LOCAL, NONE, {"https://app.example", NULL, NULL}, "https://app.example:444", false},
    {LOCAL, NONE, {"https://app.example", NULL, NULL}, "https://x.app.example", false},
    {LOCAL, NONE, {"https://app.example", NULL, NULL}, "http://localhost:7777", true},
    {LOCAL, NONE, {"*", NULL, NULL}, "http://evil.com", true},
    {LOCAL, NONE, {"*", NULL, NULL}, "null", false},
    {PUBLIC, NONE, NONE, "http://anything.example:7777", false},
    {PUBLIC, {"a.example", NULL, NULL}, NONE, "http://a.example:7777", true},
    {PUBLIC, {"a.example", NULL, NULL}, NONE, "http://a.example", false},
    {SECURE, NONE, NONE, "https://arcp.example.org:8443", true},
    {SECURE, NONE, NONE, "http://arcp.example.org:8443", false},
};

static void origins_are_allowed_by_name(void **state)
{
    for (size_t i = 0; i < sizeof origin_rows / sizeof origin_rows[0]; i++) {
        arcp__web_names names;
        make_names(&names, &origin_rows[i]);
        const bool allowed =
            arcp__web_names_allow_origin(&names, arcp_span_cstr(origin_rows[i].value));
        if (allowed != origin_rows[i].allowed) {
            fail_msg("row %zu: Origin \"%s\" at %s", i, origin_rows[i].value, origin_rows[i].bound);
        }
        arcp__web_names_fini(&names);
    }
}

static void an_invalid_list_entry_is_reported(void **state)
{
    arcp__web_names names;
    arcp_error err = {0};
    const char *const hosts[] = {"fine.example", "not fine"};
    assert_int_equal(arcp__web_names_init(&names, hosts, 2, NULL, 0, &err), ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "not fine"));
    const char *const origins[] = {"app.example"};
    assert_int_equal(arcp__web_names_init(&names, NULL, 0, origins, 1, &err), ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "app.example"));
}

/* ---- the request ---- */

#define LINE "GET /arcp HTTP/1.1\r\n"
#define HOST "Host: localhost:7777\r\n"
#define UP   "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define VER  "Sec-WebSocket-Version: 13\r\n"
#define KEY  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define END  "\r\n"

typedef struct request_row {
    const char *name;
    const char *text;
    int status;
} request_row;

static const request_row requests[] = {
    {"valid", LINE HOST UP VER KEY END, 101},
    {"header names and tokens in other case",
     LINE "hOST: LocalHost\r\nUPGRADE: WebSocket\r\nconnection: keep-alive, upgrade\r\n"
          "sec-websocket-version: 13\r\nsec-websocket-key:dGhlIHNhbXBsZSBub25jZQ==  \r\n" END,
     101},
    {"a query behind the path", "GET /arcp?x=1 HTTP/1.1\r\n" HOST UP VER KEY END, 101},
    {"a subprotocol is offered", LINE HOST UP VER KEY "Sec-WebSocket-Protocol: arcp.v1\r\n" END,
     101},
    {"an extension is offered",
     LINE HOST UP VER KEY "Sec-WebSocket-Extensions: permessage-deflate\r\n" END, 101},
    {"an allowed Origin", LINE HOST UP VER KEY "Origin: http://localhost:7777\r\n" END, 101},
    {"Upgrade names several",
     LINE HOST "Upgrade: h2c, websocket\r\nConnection: Upgrade\r\n" VER KEY END, 101},
    {"Content-Length: 0", LINE HOST UP VER KEY "Content-Length: 0\r\n" END, 101},

    {"no Host", LINE UP VER KEY END, 400},
    {"two Hosts", LINE HOST "Host: evil.com\r\n" UP VER KEY END, 400},
    {"a malformed Host", LINE "Host: [::1\r\n" UP VER KEY END, 400},
    {"an empty Host", LINE "Host:\r\n" UP VER KEY END, 400},
    {"a Host that is not allowed", LINE "Host: evil.com\r\n" UP VER KEY END, 403},
    {"a Host that is not allowed and a wrong path",
     "GET /x HTTP/1.1\r\nHost: evil.com\r\n" UP VER KEY END, 403},
    {"an Origin that is not allowed", LINE HOST UP VER KEY "Origin: http://evil.com\r\n" END, 403},
    {"an Origin that is not allowed and a wrong path",
     "GET /x HTTP/1.1\r\n" HOST UP VER KEY "Origin: http://evil.com\r\n" END, 403},
    {"a sandboxed page", LINE HOST UP VER KEY "Origin: null\r\n" END, 403},
    {"two Origins",
     LINE HOST UP VER KEY "Origin: http://localhost:7777\r\nOrigin: http://evil.com\r\n" END, 400},

    {"POST", "POST /arcp HTTP/1.1\r\n" HOST UP VER KEY END, 405},
    {"HEAD", "HEAD /arcp HTTP/1.1\r\n" HOST UP VER KEY END, 405},
    {"OPTIONS", "OPTIONS /arcp HTTP/1.1\r\n" HOST UP VER KEY END, 405},
    {"CONNECT", "CONNECT localhost:7777 HTTP/1.1\r\n" HOST END, 404},
    {"the root", "GET / HTTP/1.1\r\n" HOST UP VER KEY END, 404},
    {"a longer path", "GET /arcp/ HTTP/1.1\r\n" HOST UP VER KEY END, 404},
    {"a shorter path", "GET /arc HTTP/1.1\r\n" HOST UP VER KEY END, 404},
    {"a path in other case", "GET /ARCP HTTP/1.1\r\n" HOST UP VER KEY END, 404},
    {"an escaped path", "GET /%61rcp HTTP/1.1\r\n" HOST UP VER KEY END, 404},
    {"a path with dots", "GET /x/../arcp HTTP/1.1\r\n" HOST UP VER KEY END, 404},
    {"a whole URL as target", "GET http://localhost:7777/arcp HTTP/1.1\r\n" HOST UP VER KEY END,
     404},
    {"no Upgrade", LINE HOST "Connection: Upgrade\r\n" VER KEY END, 426},
    {"another Upgrade", LINE HOST "Upgrade: h2c\r\nConnection: Upgrade\r\n" VER KEY END, 426},
    {"a longer Upgrade", LINE HOST "Upgrade: websockets\r\nConnection: Upgrade\r\n" VER KEY END,
     426},
    {"no Connection", LINE HOST "Upgrade: websocket\r\n" VER KEY END, 400},
    {"another Connection", LINE HOST "Upgrade: websocket\r\nConnection: close\r\n" VER KEY END,
     400},
    {"no version", LINE HOST UP KEY END, 426},
    {"version 8", LINE HOST UP KEY "Sec-WebSocket-Version: 8\r\n" END, 426},
    {"version 130", LINE HOST UP KEY "Sec-WebSocket-Version: 130\r\n" END, 426},
    {"two versions", LINE HOST UP KEY VER "Sec-WebSocket-Version: 8\r\n" END, 426},
    {"no key", LINE HOST UP VER END, 400},
    {"an empty key", LINE HOST UP VER "Sec-WebSocket-Key:\r\n" END, 400},
    {"a key of 15 bytes", LINE HOST UP VER "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n" END, 400},
    {"a key of 17 bytes", LINE HOST UP VER "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZSE=\r\n" END,
     400},
    {"a key that is not base 64",
     LINE HOST UP VER "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q==\r\n" END, 400},
    {"two keys", LINE HOST UP VER KEY KEY END, 400},
    {"a body", LINE HOST UP VER KEY "Content-Length: 5\r\n" END, 400},
    {"a chunked body", LINE HOST UP VER KEY "Transfer-Encoding: chunked\r\n" END, 400},
    {"HTTP/0.9", "GET /arcp\r\n\r\n", 400},
    {"HTTP/1.0", "GET /arcp HTTP/1.0\r\n" HOST UP VER KEY END, 400},
    {"a health check by curl", "GET /healthz HTTP/1.1\r\n" HOST "Accept: */*\r\n" END, 404},
};

static const names_row here = {LOCAL, NONE, NONE, NULL, true};

/* Like the listener: finds the route of the path, then checks the upgrade. Status 101: accepted. */
static arcp__web_response check(const arcp__web_head *head, const arcp__web_names *names)
{
    static const arcp__web_route route = {.path = "/arcp", .methods = "GET"};
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__web_response response;
    if (arcp__web_route_of(&route, 1, names, head, &response) != NULL) {
        response = arcp__upgrade_check(head, accept);
    }
    if (response.status == 0) {
        response.status = 101;
        check_span(arcp_span_make(accept, 4), "s3pP");
    }
    return response;
}

static void requests_are_upgraded_or_refused_with_a_reason(void **state)
{
    static const size_t pieces[] = {100000, 1, 7};
    arcp__web_names names;
    make_names(&names, &here);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        for (size_t j = 0; j < 3; j++) {
            arcp__web_head head;
            arcp_span rest;
            arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
            if (web_feed_head(&head, arcp_span_cstr(requests[i].text), pieces[j], &rest) !=
                ARCP__WEB_COMPLETE) {
                fail_msg("%s: not complete", requests[i].name);
            }
            assert_int_equal(rest.size, 0);
            const arcp__web_response response = check(&head, &names);
            if (response.status != requests[i].status) {
                fail_msg("%s: %d %s", requests[i].name, response.status, response.why);
            }
            assert_true(response.status == 101 || response.ends);
            arcp__web_head_fini(&head);
        }
    }
    arcp__web_names_fini(&names);
}

/* ---- the response ---- */

static void the_accept_value_of_the_rfc_is_computed(void **state)
{
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept); /* RFC 6455 §1.3 */
    assert_memory_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", sizeof accept);
}

static void an_upgrade_chooses_no_subprotocol_and_no_extension(void **state)
{
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    arcp_buf out = arcp_buf_init();
    arcp__upgrade_accept(accept, NULL, &out);
    check_span(arcp_buf_span(&out), "HTTP/1.1 101 Switching Protocols\r\n"
                                    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    arcp_buf_fini(&out);
}

static void a_refusal_has_the_headers_that_its_status_requires(void **state)
{
    static const struct {
        const char *request, *line, *header;
    } rows[] = {
        {LINE UP VER KEY END, "HTTP/1.1 400 Bad Request\r\n", "Connection: close\r\n"},
        {LINE "Host: evil.com\r\n" END, "HTTP/1.1 403 Forbidden\r\n", "Connection: close\r\n"},
        {"GET / HTTP/1.1\r\n" HOST END, "HTTP/1.1 404 Not Found\r\n", "Connection: close\r\n"},
        {"PUT /arcp HTTP/1.1\r\n" HOST END, "HTTP/1.1 405 Method Not Allowed\r\n",
         "Allow: GET\r\n"},
        {LINE HOST END, "HTTP/1.1 426 Upgrade Required\r\n", "Sec-WebSocket-Version: 13\r\n"},
        {LINE HOST END, "HTTP/1.1 426 Upgrade Required\r\n", "Connection: Upgrade, close\r\n"},
    };
    arcp__web_names names;
    make_names(&names, &here);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__web_head head;
        arcp_span rest;
        arcp_buf out = arcp_buf_init();
        char end[160];
        arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
        assert_int_equal(web_feed_head(&head, arcp_span_cstr(rows[i].request), 100000, &rest),
                         ARCP__WEB_COMPLETE);
        const arcp__web_response response = check(&head, &names);
        arcp__web_respond(&response, &head, false, &out);
        arcp_buf_append_byte(&out, '\0');
        assert_ptr_equal(strstr(out.data, rows[i].line), out.data);
        assert_non_null(strstr(out.data, rows[i].header));
        snprintf(end, sizeof end, "Content-Length: %zu\r\n", strlen(response.why) + 1);
        assert_non_null(strstr(out.data, end));
        snprintf(end, sizeof end, "\r\n\r\n%s\n", response.why);
        assert_string_equal(strstr(out.data, "\r\n\r\n"), end);
        arcp_buf_fini(&out);
        arcp__web_head_fini(&head);
    }
    arcp__web_names_fini(&names);
}

/* ---- the client ---- */

static void our_client_request_is_accepted_by_our_server(void **state)
{
    arcp__url url;
    arcp_error err = {0};
    char key[ARCP__WEBSOCKET_KEY_SIZE];
    const char *const headers[] = {"X-Trace: 1", "Authorization: Bearer t"};
    check_ok(arcp__url_parse(ARCP_SPAN_LITERAL("ws://[::1]:7777/arcp?a=b"), &url, &err), &err);
    arcp__websocket_key_new(key);
    arcp_buf out = arcp_buf_init();
    arcp__upgrade_request(&url, key, headers, 2, NULL, &out);
    arcp__web_head head;
    arcp_span rest;
    arcp_span value;
    arcp__web_names names;
    make_names(&names, &here);
    arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
    assert_int_equal(web_feed_head(&head, arcp_buf_span(&out), 100000, &rest), ARCP__WEB_COMPLETE);
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    static const arcp__web_route route = {.path = "/arcp", .methods = "GET"};
    arcp__web_response refusal;
    assert_ptr_equal(arcp__web_route_of(&route, 1, &names, &head, &refusal), &route);
    assert_int_equal(arcp__upgrade_check(&head, accept).status, 0);
    assert_int_equal(arcp__web_head_find(&head, "Authorization", &value), 1);
    check_span(value, "Bearer t");
    assert_int_equal(arcp__web_head_find(&head, "Host", &value), 1);
    check_span(value, "[::1]:7777");
    assert_int_equal(arcp__web_head_find(&head, "Sec-WebSocket-Protocol", &value), 0);
    assert_int_equal(arcp__web_head_find(&head, "Sec-WebSocket-Extensions", &value), 0);
    arcp__web_head_fini(&head);
    arcp__web_names_fini(&names);
    arcp_buf_fini(&out);
}

static void the_default_port_is_not_in_the_host_header(void **state)
{
    static const char *const rows[][2] = {{"ws://h", "\r\nHost: h\r\n"},
                                          {"wss://h", "\r\nHost: h\r\n"},
                                          {"ws://h:443", "\r\nHost: h:443\r\n"},
                                          {"wss://h:80", "\r\nHost: h:80\r\n"}};
    for (size_t i = 0; i < 4; i++) {
        arcp__url url;
        arcp_error err = {0};
        arcp_buf out = arcp_buf_init();
        check_ok(arcp__url_parse(arcp_span_cstr(rows[i][0]), &url, &err), &err);
        arcp__upgrade_request(&url, "dGhlIHNhbXBsZSBub25jZQ==", NULL, 0, NULL, &out);
        arcp_buf_append_byte(&out, '\0');
        assert_non_null(strstr(out.data, rows[i][1]));
        arcp_buf_fini(&out);
    }
}

static void invalid_headers_are_refused(void **state)
{
    static const struct {
        const char *header;
        bool valid;
    } rows[] = {
        {"Authorization: Bearer x", true},
        {"X: \t tab is fine", true},
        {"X-Empty:", true},
        {"X: a\r\nInjected: b", false},
        {"X: a\nb", false},
        {"X: \x7f", false},
        {"no colon", false},
        {": no name", false},
        {"Sp ace: x", false},
        {"", false},
        {"Host: evil.com", false},
        {"host: evil.com", false},
        {"Upgrade: h2c", false},
        {"Connection: close", false},
        {"Content-Length: 5", false},
        {"Transfer-Encoding: chunked", false},
        {"Sec-WebSocket-Key: x", false},
        {"sec-websocket-protocol: x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (arcp__upgrade_header_is_valid(rows[i].header) != rows[i].valid) {
            fail_msg("\"%s\"", rows[i].header);
        }
    }
}

#define OK_LINE "HTTP/1.1 101 Switching Protocols\r\n"
#define ACCEPT  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static const struct {
    const char *name;
    const char *text;
    const char *message; /* NULL: accepted */
} responses[] = {
    {"valid", OK_LINE UP ACCEPT END, NULL},
    {"other case", OK_LINE "upgrade: WebSocket\r\nCONNECTION: upgrade\r\n" ACCEPT END, NULL},
    {"without a status text", "HTTP/1.1 101\r\n" UP ACCEPT END, NULL},
    {"not found", "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n" END,
     "the server answered \"HTTP/1.1 404 Not Found\""},
    {"OK but no upgrade", "HTTP/1.1 200 OK\r\n" END, "the server answered \"HTTP/1.1 200 OK\""},
    {"moved", "HTTP/1.0 301 Moved\r\nLocation: /\r\n" END,
     "the server answered \"HTTP/1.0 301 Moved\""},
    {"the accept of another key", OK_LINE UP "Sec-WebSocket-Accept: AAAA\r\n" END, "not valid"},
    {"no accept", OK_LINE UP END, "not valid"},
    {"no Upgrade", OK_LINE "Connection: Upgrade\r\n" ACCEPT END, "not valid"},
    {"no Connection", OK_LINE "Upgrade: websocket\r\n" ACCEPT END, "not valid"},
    {"a subprotocol", OK_LINE UP ACCEPT "Sec-WebSocket-Protocol: x\r\n" END, "not offered"},
    {"an extension", OK_LINE UP ACCEPT "Sec-WebSocket-Extensions: x\r\n" END, "not offered"},
};

static void responses_are_accepted_or_refused_with_a_reason(void **state)
{
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        arcp__web_head head;
        arcp_span rest;
        arcp_error err = {0};
        arcp__web_head_init(&head, ARCP__WEB_RESPONSE, 16384);
        if (web_feed_head(&head, arcp_span_cstr(responses[i].text), 1, &rest) !=
            ARCP__WEB_COMPLETE) {
            fail_msg("%s: not complete", responses[i].name);
        }
        const arcp_status status =
            arcp__upgrade_check_response(&head, "dGhlIHNhbXBsZSBub25jZQ==", NULL, &err);
        const bool as_wanted =
            responses[i].message == NULL
                ? status == ARCP_OK
                : status == ARCP_E_IO && strstr(err.message, responses[i].message);
        if (!as_wanted) {
            fail_msg("%s: %s", responses[i].name, err.message);
        }
        arcp__web_head_fini(&head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_allowed_by_name),
        cmocka_unit_test(origins_are_allowed_by_name),
        cmocka_unit_test(an_invalid_list_entry_is_reported),
        cmocka_unit_test(requests_are_upgraded_or_refused_with_a_reason),
        cmocka_unit_test(the_accept_value_of_the_rfc_is_computed),
        cmocka_unit_test(an_upgrade_chooses_no_subprotocol_and_no_extension),
        cmocka_unit_test(a_refusal_has_the_headers_that_its_status_requires),
        cmocka_unit_test(our_client_request_is_accepted_by_our_server),
        cmocka_unit_test(the_default_port_is_not_in_the_host_header),
        cmocka_unit_test(invalid_headers_are_refused),
        cmocka_unit_test(responses_are_accepted_or_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
