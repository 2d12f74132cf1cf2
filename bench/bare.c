#include "bare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WRITE_BYTES   65536u
#define MESSAGE_BYTES 4096u
#define BATCH_BYTES   1048576u

static void fail(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

void bench_write_all(int fd, const void *data, size_t size)
{
    const char *rest = data;
    while (size > 0) {
        const ssize_t done = write(fd, rest, size);
        if (done < 0) {
            fail("write");
        }
        rest += done;
        size -= (size_t)done;
    }
}

static void make_pair(int fds[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        fail("socketpair");
    }
}

/* ---- bytes ---- */

static void *take_bytes(void *argument)
{
    static char bytes[4 * WRITE_BYTES];
    while (read(*(const int *)argument, bytes, sizeof bytes) > 0) {
    }
    return NULL;
}

void bench_socket_bytes(uint64_t bytes)
{
    static char block[WRITE_BYTES];
    int fds[2];
    pthread_t reader;
    make_pair(fds);
    (void)pthread_create(&reader, NULL, take_bytes, &fds[1]);
    while (bytes > 0) {
        const size_t size = bytes < sizeof block ? (size_t)bytes : sizeof block;
        bench_write_all(fds[0], block, size);
        bytes -= size;
    }
    (void)close(fds[0]);
    (void)pthread_join(reader, NULL);
    (void)close(fds[1]);
}

/* ---- requests ---- */

typedef struct answerer {
    const bench_exchange *how;
    int fd;
} answerer;

static void *answer(void *argument)
{
    const answerer *a = argument;
    static char requests[64 * MESSAGE_BYTES];
    static char answers[MESSAGE_BYTES];
    size_t have = 0;
    ssize_t got = 0;
    while ((got = read(a->fd, requests, sizeof requests)) > 0) {
        for (have += (size_t)got; have >= a->how->request_bytes; have -= a->how->request_bytes) {
            bench_write_all(a->fd, answers, a->how->answer_bytes);
        }
    }
    return NULL;
}

void bench_socket_requests(const bench_exchange *how, uint64_t count)
{
    static char bytes[64 * MESSAGE_BYTES];
    int fds[2];
    pthread_t thread;
    uint64_t sent = 0;
    uint64_t answered = 0;
    size_t have = 0;
    make_pair(fds);
    answerer other = {how, fds[1]};
    (void)pthread_create(&thread, NULL, answer, &other);
    while (answered < count) {
        const uint64_t left = count - sent;
        const uint64_t room = how->in_flight - (sent - answered);
        const uint64_t now = left < room ? left : room;
        bench_write_all(fds[0], bytes, now * how->request_bytes);
        sent += now;
        const ssize_t got = read(fds[0], bytes, sizeof bytes);
        if (got <= 0) {
            fail("read");
        }
        have += (size_t)got;
        answered += have / how->answer_bytes;
        have %= how->answer_bytes;
    }
    (void)shutdown(fds[0], SHUT_WR);
    (void)pthread_join(thread, NULL);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* ---- a file ---- */

void bench_file_bytes(const char *directory, uint64_t bytes, size_t batch_bytes)
{
    static char batch[BATCH_BYTES];
    char path[256];
    (void)snprintf(path, sizeof path, "%s/bare-XXXXXX", directory);
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0 || unlink(path) != 0) {
        fail(path);
    }
    while (bytes > 0) {
        const size_t size = bytes < batch_bytes ? (size_t)bytes : batch_bytes;
        bench_write_all(fd, batch, size);
        if (fdatasync(fd) != 0) {
            fail("fdatasync");
        }
        bytes -= size;
    }
    (void)close(fd);
}
