#include "arcpd/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcpd/daemon.h"

#define SENT_MAX 65535u
#define READ_MIN 65536u

/* ---- bytes ---- */

static bool write_all(const wire *w, const void *data, size_t size)
{
    const char *rest = data;
    while (size > 0) {
        const ssize_t written = send(w->fd, rest, size, MSG_NOSIGNAL);
        if (written <= 0) {
            return false;
        }
        rest += written;
        size -= (size_t)written;
    }
    return true;
}

static void make_room(wire *w)
{
    if (w->start > 0) {
        memmove(w->bytes, w->bytes + w->start, w->end - w->start);
        w->end -= w->start;
        w->start = 0;
    }
    if (w->capacity - w->end < READ_MIN) {
        w->capacity = (w->capacity + READ_MIN) * 2;
        w->bytes = realloc(w->bytes, w->capacity);
        if (w->bytes == NULL) {
            daemon_fail("out of memory");
        }
    }
}

bool wire_fill(wire *w, int wait_ms)
{
    struct pollfd one = {.fd = w->fd, .events = POLLIN};
    if (w->fd < 0 || w->ended || poll(&one, 1, wait_ms) <= 0) {
        return false;
    }
    make_room(w);
    const ssize_t got = recv(w->fd, w->bytes + w->end, w->capacity - w->end - 1, MSG_DONTWAIT);
    if (got <= 0) {
        w->ended = true;
        return false;
    }
    w->end += (size_t)got;
    w->bytes[w->end] = '\0'; /* tests use functions of C strings on what was received */
    return true;
}

void wire_send_bytes(const wire *w, const void *data, size_t size)
{
    (void)write_all(w, data, size);
}

/* ---- WebSocket ---- */

bool wire_try(wire *w, unsigned short port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[256];
    int yes = 1;
    *w = (wire){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    (void)setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)snprintf(request, sizeof request,
                   "GET /arcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                   "Sec-WebSocket-Version: 13\r\n\r\n",
                   port);
    const bool sent = connect(w->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                      write_all(w, request, strlen(request));
    const char *end = NULL;
    while (sent && end == NULL && wire_fill(w, WIRE_PATIENCE_MS)) {
        end = memmem(w->bytes, w->end, "\r\n\r\n", 4);
    }
    if (end == NULL) {
        wire_close(w);
        return false;
    }
    w->start = (size_t)(end - w->bytes) + 4;
    return true;
}

void wire_open(wire *w, unsigned short port)
{
    if (!wire_try(w, port)) {
        daemon_fail("no connection to port %u", port);
    }
}

void wire_close(wire *w)
{
    if (w->fd >= 0) {
        (void)close(w->fd);
    }
    free(w->bytes);
    *w = (wire){.fd = -1, .ended = true};
}

void wire_send(wire *w, const char *format, ...)
{
    static char frame[SENT_MAX + 8];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(frame + 8, SENT_MAX, format, arguments);
    va_end(arguments);
    if (size < 0 || size >= (int)SENT_MAX) {
        daemon_fail("a frame that is too long to send: %.80s...", frame + 8);
    }
    memset(frame, 0, 8); /* the mask is four zeros */
    if (size < 126) {
        frame[2] = (char)0x81;
        frame[3] = (char)(0x80 | size);
        wire_send_bytes(w, frame + 2, (size_t)size + 6);
    } else {
        frame[0] = (char)0x81;
        frame[1] = (char)(0x80 | 126);
        frame[2] = (char)(size >> 8);
        frame[3] = (char)size;
        wire_send_bytes(w, frame, (size_t)size + 8);
    }
}

/* The size of a frame's head and of its payload; false: not all of the head is there. A
 * server's frames are not masked, and ours never fragments. */
static bool read_head(const wire *w, size_t *head, size_t *size)
{
    const unsigned char *bytes = (const unsigned char *)w->bytes + w->start;
    const size_t have = w->end - w->start;
    *head = 2;
    if (have < 2) {
        return false;
    }
    *size = bytes[1];
    if (*size >= 126) {
        *head = *size == 126 ? 4 : 10;
        *size = 0;
        for (size_t byte = 2; byte < *head && have >= *head; byte++) {
            *size = (*size << 8) | bytes[byte];
        }
    }
    return have >= *head;
}

bool wire_next(wire *w, arcp_span *frame)
{
    size_t head = 0;
    size_t size = 0;
    while (w->fd >= 0 && read_head(w, &head, &size) && w->end - w->start - head >= size) {
        const char *bytes = w->bytes + w->start;
        const int opcode = bytes[0] & 15;
        w->start += head + size;
        if (opcode == 1) {
            *frame = arcp_span_make(bytes + head, size);
            return true;
        }
        if (opcode == 8) {
            const unsigned char *code = (const unsigned char *)bytes + head;
            w->close_code = size < 2 ? 1005 : code[0] * 256 + code[1];
        }
    }
    return false;
}

bool wire_next_line(wire *w, arcp_span *line)
{
    const char *begin = w->bytes + w->start;
    const char *end = w->end == w->start ? NULL : memchr(begin, '\n', w->end - w->start);
    if (end == NULL) {
        return false;
    }
    *line = arcp_span_make(begin, (size_t)(end - begin));
    w->start += line->size + 1;
    return true;
}

arcp_span wire_await(wire *w)
{
    arcp_span frame = {NULL, 0};
    while (!wire_next(w, &frame)) {
        if (!wire_fill(w, WIRE_PATIENCE_MS)) {
            daemon_fail("no frame: %s, close code %d", w->ended ? "ended" : "silence",
                        w->close_code);
        }
    }
    if (wire_is(frame, "session.ping")) { /* a slow test may only read for two intervals */
        const arcp_span nonce = wire_text(frame, "nonce");
        wire_send(w,
                  "{\"arcp\":\"1.1\",\"id\":\"pong\",\"type\":\"session.pong\",\"payload\":{"
                  "\"nonce\":\"%.*s\"}}",
                  (int)nonce.size, nonce.data);
    }
    return frame;
}

arcp_span wire_await_type(wire *w, const char *type)
{
    arcp_span frame = wire_await(w);
    while (!wire_is(frame, type)) {
        frame = wire_await(w);
    }
    return frame;
}

int wire_await_close(wire *w)
{
    arcp_span frame;
    do {
        while (wire_next(w, &frame)) {
        }
    } while (wire_fill(w, WIRE_PATIENCE_MS));
    if (!w->ended) {
        daemon_fail("the connection was not closed");
    }
    return w->close_code == 0 ? 1006 : w->close_code;
}

/* ---- sessions ---- */

void wire_take_welcome(arcp_span frame, wire_session *out)
{
    if (!wire_is(frame, "session.welcome")) {
        daemon_fail("no welcome: %.*s", (int)frame.size, frame.data);
    }
    const arcp_span id = wire_text(frame, "session_id");
    const arcp_span token = wire_text(frame, "resume_token");
    if (id.size >= sizeof out->id || token.size >= sizeof out->token) {
        daemon_fail("too long: %.*s", (int)frame.size, frame.data);
    }
    (void)snprintf(out->id, sizeof out->id, "%.*s", (int)id.size, id.data);
    (void)snprintf(out->token, sizeof out->token, "%.*s", (int)token.size, token.data);
}

#define HELLO                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"hello\",\"type\":\"session.hello\",\"payload\":{\"client\":{"      \
    "\"name\":\"wire\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"      \
    "\"capabilities\":{\"encodings\":[\"json\"],\"features\":" WIRE_FEATURES "}"

void wire_send_hello(wire *w, const char *token)
{
    wire_send(w, HELLO "}}", token);
}

void wire_send_resume(wire *w, const char *token, const wire_session *session,
                      uint64_t last_event_seq)
{
    wire_send(w,
              HELLO ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                    "\"last_event_seq\":%llu}}}",
              token, session->id, session->token, (unsigned long long)last_event_seq);
}

void wire_hello(wire *w, const char *token, wire_session *out)
{
    wire_send_hello(w, token);
    wire_take_welcome(wire_await(w), out);
}

void wire_resume(wire *w, const char *token, wire_session *session, uint64_t last_event_seq)
{
    wire_send_resume(w, token, session, last_event_seq);
    wire_take_welcome(wire_await(w), session);
}

/* ---- frames ---- */

static const char *after(arcp_span frame, const char *name)
{
    char quoted[64];
    const int size = snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *found = memmem(frame.data, frame.size, quoted, (size_t)size);
    return found == NULL ? NULL : found + size;
}

bool wire_number(arcp_span text, uint64_t *out)
{
    size_t i = 0;
    *out = 0;
    while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9') {
        *out = *out * 10 + (uint64_t)(text.data[i++] - '0');
    }
    return i != 0;
}

uint64_t wire_seq(arcp_span frame)
{
    uint64_t value = 0;
    /* The runtime writes it third; a body may have a member of the same name. */
    const char *found = after(arcp_span_first(frame, 100), "event_seq");
    if (found != NULL) {
        (void)wire_number(arcp_span_from(frame, (size_t)(found - frame.data)), &value);
    }
    return value;
}

arcp_span wire_text(arcp_span frame, const char *name)
{
    const char *value = after(frame, name);
    if (value == NULL || *value != '"') {
        return arcp_span_make(NULL, 0);
    }
    const char *end = memchr(value + 1, '"', (size_t)(frame.data + frame.size - value - 1));
    return end == NULL ? arcp_span_make(NULL, 0)
                       : arcp_span_make(value + 1, (size_t)(end - value - 1));
}

bool wire_is(arcp_span frame, const char *type)
{
    return arcp_span_equal_cstr(wire_text(frame, "type"), type);
}
uint64_t wire_digest(arcp_span frame)
{
    uint64_t hash = 0x9E3779B97F4A7C15u ^ frame.size;
    for (size_t i = 0; i < frame.size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, frame.data + i, frame.size - i < 8 ? frame.size - i : 8);
        hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    return hash;
}
