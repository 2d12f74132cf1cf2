/* A client for the benches of a served runtime: it blocks, and only splits the stream into frames.
 */
#ifndef ARCP_BENCH_FRAME_CLIENT_H
#define ARCP_BENCH_FRAME_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/span.h>

typedef struct client {
    int fd;
    unsigned char *bytes;
    size_t start, end, capacity;
    char out[16384]; /* to be sent */
    size_t out_size;
    unsigned next_id;
} client;

/* Connects to a runtime on loopback and sends session.hello; ends the program if it is refused. */
void client_open(client *c, int port);
void client_close(client *c);
/* The payload of the next frame; valid until the next call. */
arcp_span client_next_frame(client *c);
/* Submits a job of `agent` with `input` (JSON). */
void client_submit(client *c, const char *agent, const char *input);
/* Runs this many jobs on a connection of their own, at most `in_flight` at a time; ends the program
 * if one fails. */
void client_run_jobs(int port, const char *agent, unsigned in_flight, uint64_t count);
/* Whether the beginning of a frame, which has its type, contains a word. */
bool frame_is(arcp_span frame, const char *word);

#endif
