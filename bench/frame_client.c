#include "frame_client.h"

#include "bare.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends all queued bytes in one write when there is nothing left to read. */
static void flush(client *c)
{
    bench_write_all(c->fd, c->out, c->out_size);
    c->out_size = 0;
}

static void fill(client *c)
{
    flush(c);
    if (c->start > 0) {
        memmove(c->bytes, c->bytes + c->start, c->end - c->start);
        c->end -= c->start;
        c->start = 0;
    }
    const ssize_t got = read(c->fd, c->bytes + c->end, c->capacity - c->end);
    assert(got > 0);
    c->end += (size_t)got;
}

/* The payload of the next frame; valid until the next call. */
arcp_span client_next_frame(client *c)
{
    for (;;) {
        const size_t have = c->end - c->start;
        const unsigned char *bytes = c->bytes + c->start;
        size_t head = 2;
        size_t size = have >= 2 ? bytes[1] & 127u : 0;
        if (size == 126) {
            head = 4;
            size = have >= 4 ? ((size_t)bytes[2] << 8) | bytes[3] : SIZE_MAX / 2;
        } else if (size == 127) {
            head = 10;
            size = 0;
            for (size_t byte = 2; byte < 10 && have >= 10; byte++) {
                size = (size << 8) | bytes[byte];
            }
        }
        if (have >= head && have - head >= size) {
            c->start += head + size;
            return arcp_span_make((const char *)bytes + head, size);
        }
        fill(c);
    }
}

/* A masked frame with a mask of zeros. */
static void send_text(client *c, const char *text)
{
    unsigned char head[8] = {0x81, 0, 0, 0, 0, 0, 0, 0};
    const size_t size = strlen(text);
    size_t used = 2;
    if (size < 126) {
        head[1] = (unsigned char)(0x80 | size);
    } else {
        head[1] = 0x80 | 126;
        head[2] = (unsigned char)(size >> 8);
        head[3] = (unsigned char)size;
        used = 4;
    }
    if (c->out_size + used + 4 + size > sizeof c->out) {
        flush(c);
    }
    assert(used + 4 + size <= sizeof c->out);
    char *frame = c->out + c->out_size;
    memcpy(frame, head, used);
    memset(frame + used, 0, 4);
    memcpy(frame + used + 4, text, size);
    c->out_size += used + 4 + size;
}

static bool contains(arcp_span frame, const char *word)
{
    return memmem(frame.data, frame.size, word, strlen(word)) != NULL;
}

void client_open(client *c, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[512];
    int yes = 1;
    *c = (client){.capacity = 4u << 20};
    c->bytes = malloc(c->capacity);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int failed = connect(c->fd, (struct sockaddr *)&address, sizeof address);
    assert(failed == 0);
    (void)failed;
    (void)snprintf(request, sizeof request,
                   "GET /arcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                   "Sec-WebSocket-Version: 13\r\n\r\n",
                   port);
    bench_write_all(c->fd, request, strlen(request));
    const void *end = NULL;
    while (end == NULL) {
        fill(c);
        end = memmem(c->bytes, c->end, "\r\n\r\n", 4);
    }
    c->start = (size_t)((const unsigned char *)end - c->bytes) + 4;
    send_text(c,
              "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":{"
              "\"name\":\"bench\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":"
              "\"t\"},\"capabilities\":{\"features\":[\"progress\",\"result_chunk\","
              "\"cost.budget\"]}}}");
    const arcp_span welcome = client_next_frame(c);
    if (!contains(welcome, "session.welcome")) {
        (void)fprintf(stderr, "%.*s\n", (int)welcome.size, welcome.data);
        exit(1);
    }
}

void client_close(client *c)
{
    (void)close(c->fd);
    free(c->bytes);
}

void client_submit(client *c, const char *agent, const char *input)
{
    char text[256];
    (void)snprintf(
        text, sizeof text,
        "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
        "\"%s\",\"input\":%s}}",
        c->next_id++, agent, input);
    send_text(c, text);
}

bool frame_is(arcp_span frame, const char *word)
{
    return contains(arcp_span_first(frame, 160), word);
}

void client_run_jobs(int port, const char *agent, unsigned in_flight, uint64_t count)
{
    client c;
    uint64_t sent = 0;
    uint64_t done = 0;
    client_open(&c, port);
    while (done < count) {
        for (; sent < count && sent - done < in_flight; sent++) {
            client_submit(&c, agent, "null");
        }
        const arcp_span frame = client_next_frame(&c);
        if (frame_is(frame, "\"job.error\"")) {
            (void)fprintf(stderr, "bench: %.*s\n", (int)frame.size, frame.data);
            exit(1);
        }
        done += frame_is(frame, "\"job.result\"") ? 1 : 0;
    }
    client_close(&c);
}
