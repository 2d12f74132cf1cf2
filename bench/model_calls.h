/* Calls to a model, and a stand-in for its provider, which costs as little time as possible. Both
 * end the program when something fails. */
#ifndef ARCP_BENCH_MODEL_CALLS_H
#define ARCP_BENCH_MODEL_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MODEL_CALLS_KEY_MAX 256
#define MODEL_CALLS_EVENT   "\n\n\r\n"  /* the end of an event in a chunk */
#define MODEL_CALLS_LAST    "0\r\n\r\n" /* the last chunk */

/* Where calls are sent. */
typedef struct model_target {
    unsigned port; /* of loopback */
    const char *model;
    char key[MODEL_CALLS_KEY_MAX];
} model_target;

/* Ends the program with the message unless the condition holds. */
static inline void model_calls_must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "calls: %s\n", what);
        exit(1);
    }
}

/* Starts a provider in another process, which ends with this one; returns its port. It sends a
 * chunk of a stream each time that the semaphore `next_chunk`, an eventfd, is counted up. */
unsigned model_provider_start(int next_chunk);

int model_connect(unsigned port);
void model_write(int fd, const char *bytes, size_t size);
/* Sends a call; with `chunks`, one whose answer is a stream of so many events and one with the
 * usage. */
void model_send(int fd, const model_target *to, uint64_t chunks);
/* Reads a whole response; it must be 200. */
void model_read_answer(int fd);
/* Reads until `mark` is what was received last. */
void model_read_to(int fd, const char *mark);

#endif
