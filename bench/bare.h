/* Baselines: what the operating system achieves without this library. */
#ifndef ARCP_BENCH_BARE_H
#define ARCP_BENCH_BARE_H

#include <stddef.h>
#include <stdint.h>

/* All of these end the program when the system refuses. */
void bench_write_all(int fd, const void *data, size_t size);

/* `bytes` through a socket to another thread, 64 KiB a write. */
void bench_socket_bytes(uint64_t bytes);

/* `count` requests over a socket, each answered by another thread; `in_flight` are under way at
 * any time. */
typedef struct bench_exchange {
    unsigned in_flight;
    size_t request_bytes, answer_bytes; /* at most 4096 each */
} bench_exchange;
void bench_socket_requests(const bench_exchange *how, uint64_t count);

/* `bytes` written to a fresh file in `directory`, a sync after every `batch_bytes` (at most
 * 1 MiB). */
void bench_file_bytes(const char *directory, uint64_t bytes, size_t batch_bytes);

#endif
