#include "model_calls.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] =
    "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"bench\",\"choices\":[{"
    "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"pong\"},\"finish_reason\":"
    "\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1,\"total_tokens\":11}}";
static const char event[] =
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"pong \"},\"finish_reason\":null}]}\n\n";
static const char end[] =
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\","
    "\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1,\"total_tokens\":11}}"
    "\n\ndata: [DONE]\n\n";

void model_write(int fd, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        const ssize_t some = send(fd, bytes + sent, size - sent, MSG_NOSIGNAL);
        model_calls_must(some > 0, "cannot write");
        sent += (size_t)some;
    }
}

static void set_no_delay(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int model_connect(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    model_calls_must(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0,
                     "cannot connect");
    set_no_delay(fd);
    return fd;
}

/* ---- the provider ---- */

static int chunks_wanted = -1; /* an eventfd: one more may be sent */

static void send_stream(int fd, unsigned long chunks)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    char chunk[1024];
    const int size = snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", sizeof event - 1, event);
    model_write(fd, head, sizeof head - 1);
    for (unsigned long i = 0; i < chunks; i++) {
        uint64_t wanted = 0;
        model_calls_must(read(chunks_wanted, &wanted, sizeof wanted) == sizeof wanted, "no signal");
        model_write(fd, chunk, (size_t)size);
    }
    const int rest =
        snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n" MODEL_CALLS_LAST, sizeof end - 1, end);
    model_write(fd, chunk, (size_t)rest);
}

static void send_answer(int fd)
{
    char whole[1024];
    const int size = snprintf(whole, sizeof whole,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                              "Content-Length: %zu\r\n\r\n%s",
                              sizeof answer - 1, answer);
    model_write(fd, whole, (size_t)size);
}

static void *serve(void *argument)
{
    const int fd = (int)(intptr_t)argument;
    char text[8192];
    size_t size = 0;
    set_no_delay(fd);
    for (;;) {
        const ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);
        if (got <= 0) {
            break;
        }
        size += (size_t)got;
        text[size] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "Content-Length: ");
        if (body == NULL || length == NULL ||
            size < (size_t)(body - text) + 4 + strtoul(length + 16, NULL, 10)) {
            continue;
        }
        const char *limit = strstr(body, "\"max_tokens\":");
        if (strstr(body, "\"stream\":true") != NULL) {
            send_stream(fd, strtoul(limit + 13, NULL, 10));
        } else {
            send_answer(fd);
        }
        size = 0;
    }
    close(fd);
    return NULL;
}

unsigned model_provider_start(int next_chunk)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    model_calls_must(listener >= 0 &&
                         bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
                         getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
                         listen(listener, 128) == 0,
                     "no socket");
    const pid_t parent = getpid();
    const pid_t pid = fork();
    chunks_wanted = next_chunk;
    model_calls_must(pid >= 0, "cannot fork");
    if (pid == 0) {
        model_calls_must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent,
                         "the parent is gone");
        for (;;) {
            pthread_t thread;
            const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            void *argument = (void *)(intptr_t)fd; /* NOLINT(performance-no-int-to-ptr) */
            model_calls_must(fd >= 0 && pthread_create(&thread, NULL, serve, argument) == 0 &&
                                 pthread_detach(thread) == 0,
                             "cannot serve");
        }
    }
    close(listener);
    return ntohs(address.sin_port);
}

/* ---- calls ---- */

void model_send(int fd, const model_target *to, uint64_t chunks)
{
    char body[256];
    char text[1024];
    const char *more = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    const int body_size = snprintf(body, sizeof body,
                                   "{\"model\":\"%s\",\"max_tokens\":%llu,\"messages\":[{"
                                   "\"role\":\"user\",\"content\":\"ping\"}]%s}",
                                   to->model, (unsigned long long)(chunks == 0 ? 10 : chunks),
                                   chunks == 0 ? "" : more);
    const int size = snprintf(text, sizeof text,
                              "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                              "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                              "Content-Length: %d\r\n\r\n%s",
                              to->port, to->key, body_size, body);
    model_write(fd, text, (size_t)size);
}

void model_read_to(int fd, const char *mark)
{
    char text[65536];
    size_t size = 0;
    const size_t mark_size = strlen(mark);
    do {
        const ssize_t got = recv(fd, text + size, sizeof text - size, 0);
        model_calls_must(got > 0, "the connection has ended");
        size += (size_t)got;
    } while (size < mark_size || memcmp(text + size - mark_size, mark, mark_size) != 0);
}

void model_read_answer(int fd)
{
    char text[32768];
    size_t size = 0;
    for (;;) {
        const ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);
        model_calls_must(got > 0, "the connection has ended");
        size += (size_t)got;
        text[size] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        if (body == NULL) {
            continue;
        }
        model_calls_must(strncmp(text, "HTTP/1.1 200", 12) == 0, text);
        const char *length = strcasestr(text, "\r\nContent-Length: ");
        const bool is_whole =
            length != NULL && length < body
                ? size >= (size_t)(body - text) + 4 + strtoul(length + 18, NULL, 10)
                : size >= 5 && memcmp(text + size - 5, MODEL_CALLS_LAST, 5) == 0;
        if (is_whole) {
            return;
        }
    }
}
