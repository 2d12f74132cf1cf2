#include "http/web_call.h"

#include <arcp/secret.h>
#include <string.h>

#define HEAD_BYTES_MAX   65536u
#define FIELDS_MAX       100u
#define IDLE_SEC         20L
#define CONNECT_MS       10000u
#define HEADER_TAB       0x09
#define HEADER_DELETE    0x7f
#define HEADER_PRINTABLE 0x20

/* ---- the end ---- */

/* A predicate for messages that begin with the peer's name. */
static const char *describe(CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return "has a host name that cannot be resolved";
    case CURLE_COULDNT_CONNECT:
        return "cannot be reached";
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
        return "could not be connected to by TLS";
    case CURLE_SSL_CACERT_BADFILE:
        return "was not connected to: ca_file cannot be read, or has no certificate in PEM";
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return "has a malformed URL";
    case CURLE_OPERATION_TIMEDOUT:
        return "did not respond in time";
    case CURLE_BAD_CONTENT_ENCODING:
        return "sent a response that cannot be decoded";
    case CURLE_OUT_OF_MEMORY:
        return "could not be called: out of memory";
    default:
        return "lost the connection";
    }
}

/* OpenSSL's results of a verification (X509_V_...), which libcurl passes on; it sets no result when
 * the chain was accepted and the name is another one. */
enum { NO_RESULT = 1, IS_NOT_YET_VALID = 9, HAS_EXPIRED = 10 };

/* Why a certificate was refused. */
static const char *describe_certificate(const arcp__web_call *call)
{
    long why = NO_RESULT;
    (void)curl_easy_getinfo(call->easy, CURLINFO_SSL_VERIFYRESULT, &why);
    switch (why) {
    case NO_RESULT:
        return "has a certificate for another name";
    case HAS_EXPIRED:
        return "has a certificate that has expired";
    case IS_NOT_YET_VALID:
        return "has a certificate that is not valid yet";
    default:
        return "has a certificate that no trusted authority has signed (ca_file)";
    }
}

/* Bytes of requests on this and, if it was repeated, on earlier connections; with those by which
 * proxies were asked to connect. */
static long sent_bytes(const arcp__web_call *call)
{
    long bytes = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes;
}

/* Whether the peer may have got a part of the request. */
static bool was_sent(const arcp__web_call *call)
{
    return call->was_sent || (call->has_begun && sent_bytes(call) != call->begun_bytes);
}

arcp__web_client_end arcp__web_call_end(const arcp__web_call *call, CURLcode code)
{
    if (code == CURLE_OK && call->has_head && call->problem == NULL) {
        return (arcp__web_client_end){.outcome = ARCP__WEB_DONE};
    }
    const bool is_sent = was_sent(call);
    const bool is_not_http = code == CURLE_UNSUPPORTED_PROTOCOL && is_sent;
    return (arcp__web_client_end){
        .outcome = is_sent ? ARCP__WEB_LOST : ARCP__WEB_NOT_SENT,
        .timed_out = code == CURLE_OPERATION_TIMEDOUT,
        .problem = call->problem != NULL                    ? call->problem
                   : is_not_http                            ? "sent a response that is not HTTP/1"
                   : code == CURLE_PEER_FAILED_VERIFICATION ? describe_certificate(call)
                                                            : describe(code),
    };
}

/* ---- time ---- */

static uint64_t left_of(uint64_t limit_ms, uint64_t since_ms, uint64_t now_ms)
{
    const uint64_t passed = now_ms - since_ms;
    if (limit_ms == 0) {
        return UINT64_MAX;
    }
    return passed < limit_ms ? limit_ms - passed : 0;
}

/* UINT64_MAX: there is no limit. */
static uint64_t left_ms(const arcp__web_call *call)
{
    const arcp__web_client_request *request = &call->request;
    const uint64_t now_ms = uv_now(call->timer.loop);
    const uint64_t all = left_of(request->total_ms, call->started_ms, now_ms);
    uint64_t part = UINT64_MAX;
    if (!call->has_head) {
        part = left_of(request->first_byte_ms, call->started_ms, now_ms);
    } else if (!call->is_paused) {
        part = left_of(request->idle_ms, call->received_ms, now_ms);
    }
    return all < part ? all : part;
}

const char *arcp__web_call_overdue(const arcp__web_call *call)
{
    if (left_ms(call) != 0) {
        return NULL;
    }
    return call->has_head ? "did not complete its response in time"
                          : describe(CURLE_OPERATION_TIMEDOUT);
}

void arcp__web_call_arm(arcp__web_call *call)
{
    const uint64_t left = left_ms(call);
    if (left != UINT64_MAX) {
        (void)uv_timer_start(&call->timer, call->on_limit, left, 0);
    }
}

/* ---- functions that curl calls ---- */

static bool is_of_transmission(const char *name)
{
    return curl_strequal(name, "Connection") || curl_strequal(name, "Content-Encoding") ||
           curl_strequal(name, "Content-Length") || curl_strequal(name, "Keep-Alive") ||
           curl_strequal(name, "Transfer-Encoding");
}

/* False: there are too many headers. */
static bool emit_head(arcp__web_call *call, long status)
{
    arcp__web_field fields[FIELDS_MAX];
    arcp__web_client_head head = {.status = (unsigned)status, .fields = fields};
    curl_off_t retry_after_sec = 0;
    for (struct curl_header *header = curl_easy_nextheader(call->easy, CURLH_HEADER, -1, NULL);
         header != NULL; header = curl_easy_nextheader(call->easy, CURLH_HEADER, -1, header)) {
        if (is_of_transmission(header->name)) {
            continue;
        }
        if (head.field_count == FIELDS_MAX) {
            return false;
        }
        fields[head.field_count++] =
            (arcp__web_field){arcp_span_cstr(header->name), arcp_span_cstr(header->value)};
    }
    (void)curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_sec);
    head.retry_after_sec = retry_after_sec > 0 ? (uint64_t)retry_after_sec : 0;
    call->request.events->head(call->request.user, &head);
    return true;
}

/* Called for each line of a head, for the empty line after it, and for trailers. */
static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    arcp__web_call *call = user;
    const size_t all = size * count;
    long status = 0;
    if (call->state != ARCP__WEB_CALL_ADDED) {
        return 0;
    }
    call->head_bytes += all;
    if (call->head_bytes > HEAD_BYTES_MAX) {
        call->problem = "sent headers that are too long";
        return 0;
    }
    if (call->has_head || (bytes[0] != '\r' && bytes[0] != '\n')) {
        return all;
    }
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) {
        return all;
    }
    call->has_head = true;
    call->received_ms = uv_now(call->timer.loop);
    if (!emit_head(call, status)) {
        call->problem = "sent too many headers";
        return 0;
    }
    if (call->state != ARCP__WEB_CALL_ADDED) {
        return 0;
    }
    arcp__web_call_arm(call);
    return all;
}

static size_t on_piece(char *bytes, size_t size, size_t count, void *user)
{
    arcp__web_call *call = user;
    const size_t all = size * count;
    if (call->state != ARCP__WEB_CALL_ADDED) {
        return 0;
    }
    if (call->is_paused) {
        call->is_curl_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    call->received_ms = uv_now(call->timer.loop);
    if (all != 0 && !call->request.events->body(call->request.user, arcp_span_make(bytes, all))) {
        call->is_paused = true;
    }
    return call->state == ARCP__WEB_CALL_ADDED ? all : 0;
}

/* Whether curl may send the request now. It repeats one when a kept connection closes before the
 * answer, which only GET and HEAD allow: it may need a socket, and asks again before it sends. */
static bool may_send(arcp__web_call *call)
{
    if (call->is_repeatable || !was_sent(call)) {
        return true;
    }
    call->problem = describe(CURLE_RECV_ERROR);
    return false;
}

static int on_request(void *user, char *peer, char *local, int peer_port, int local_port)
{
    (void)peer;
    (void)local;
    (void)peer_port;
    (void)local_port;
    arcp__web_call *call = user;
    if (!may_send(call)) {
        return CURL_PREREQFUNC_ABORT;
    }
    call->has_begun = true;
    call->begun_bytes = sent_bytes(call);
    return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    arcp__web_call *call = user;
    (void)purpose;
    call->was_sent = was_sent(call);
    call->has_begun = false; /* a proxy may be asked first */
    return may_send(call) ? arcp__curl_loop_connection(call->curl, address) : CURL_SOCKET_BAD;
}

/* ---- set-up ---- */

static bool add_header(arcp__web_call *call, const char *line)
{
    struct curl_slist *longer = curl_slist_append(call->headers, line);
    call->headers = longer != NULL ? longer : call->headers;
    return longer != NULL;
}

static arcp_status copy_headers(arcp__web_call *call, arcp_span headers, arcp_error *err)
{
    if (headers.size != 0 && headers.data[headers.size - 1] != '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "the last header does not end");
    }
    for (size_t i = 0; i < headers.size; i++) {
        const unsigned char byte = (unsigned char)headers.data[i];
        if ((byte < HEADER_PRINTABLE && byte != HEADER_TAB && byte != '\0') ||
            byte == HEADER_DELETE) {
            return arcp_error_set(err, ARCP_E_USAGE, "a header contains a control character");
        }
    }
    /* A peer that waits for the body would get it late: nothing is saved by asking first. And curl
     * would add a type of its own where the caller has none. */
    bool good = add_header(call, "Expect:") && add_header(call, "Content-Type:");
    for (size_t i = 0; good && i < headers.size; i += strlen(headers.data + i) + 1) {
        good = add_header(call, headers.data + i);
    }
    return good ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static bool set_functions(arcp__web_call *call)
{
    CURL *easy = call->easy;
    return curl_easy_setopt(easy, CURLOPT_PRIVATE, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_piece) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, arcp__curl_loop_disconnect) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, call->curl) == CURLE_OK;
}

/* Head and body go out as one piece when the body is small: curl has all of it. */
static bool set_body(arcp__web_call *call, const arcp__web_client_request *request)
{
    const bool is_head = strcmp(request->method, "HEAD") == 0;
    const bool has_body = request->body.size != 0 || strcmp(request->method, "POST") == 0 ||
                          strcmp(request->method, "PUT") == 0;
    call->is_repeatable = is_head || strcmp(request->method, "GET") == 0;
    if (is_head) {
        return curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    }
    if (has_body &&
        (curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                          (curl_off_t)request->body.size) != CURLE_OK ||
         curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS,
                          request->body.size != 0 ? request->body.data : "") != CURLE_OK)) {
        return false;
    }
    return curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

static bool set_connection(arcp__web_call *call, const arcp__web_client_options *options,
                           const char *ca_file)
{
    CURL *easy = call->easy;
    const long connect_ms = options->connect_ms != 0 ? (long)options->connect_ms : CONNECT_MS;
    const long own_connection = options->keeps_connections ? 0 : 1;
    return curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, IDLE_SEC) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, own_connection) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, own_connection) == CURLE_OK &&
           (options->user_agent == NULL ||
            curl_easy_setopt(easy, CURLOPT_USERAGENT, options->user_agent) == CURLE_OK) &&
           (ca_file == NULL || curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file) == CURLE_OK);
}

arcp_status arcp__web_call_set_up(arcp__web_call *call, const arcp__web_client_options *options,
                                  const arcp__web_client_request *request, arcp_error *err)
{
    const arcp_status status = copy_headers(call, request->headers, err);
    if (status != ARCP_OK) {
        return status;
    }
    call->easy = curl_easy_init();
    const char *ca_file = request->ca_file != NULL ? request->ca_file : options->ca_file;
    const bool good = call->easy != NULL && set_functions(call) &&
                      set_connection(call, options, ca_file) && set_body(call, request) &&
                      curl_easy_setopt(call->easy, CURLOPT_URL, request->url) == CURLE_OK &&
                      curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers) == CURLE_OK;
    call->request = *request;
    call->request.method = NULL;
    call->request.url = NULL;
    call->request.ca_file = NULL;
    call->request.headers = (arcp_span){NULL, 0};
    return good ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

void arcp__web_call_tear_down(arcp__web_call *call)
{
    curl_easy_cleanup(call->easy);
    call->easy = NULL;
    for (struct curl_slist *header = call->headers; header != NULL; header = header->next) {
        arcp_wipe(header->data, strlen(header->data));
    }
    curl_slist_free_all(call->headers);
    call->headers = NULL;
}
