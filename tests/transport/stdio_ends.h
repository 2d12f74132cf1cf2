/* Lines over a pair of descriptors whose other ends the test holds. */
#ifndef ARCP_TESTS_STDIO_ENDS_H
#define ARCP_TESTS_STDIO_ENDS_H

#include "transport/loop_support.h"
#include "transport/owner.h"

/* A connection between two ends that the test holds: `to` it, and `from` it; -1 for none. */
typedef struct stdio {
    test_loop test;
    owner owner;
    int to;
    int from;
} stdio;

/* A loop, with nothing open yet. */
void stdio_init(stdio *s);
/* The connection over these descriptors; 0 bytes: the default cap. */
void stdio_open_over(stdio *s, int input, int output, size_t frame_bytes_max);
/* All of it, over two pipes and with a cap of 100 bytes. */
void stdio_open(stdio *s);
void stdio_open_for(stdio *s, bool wants_input_over);
void stdio_close(stdio *s);

/* Closes an end that is still open. */
void stdio_hang_up(int *fd);
void stdio_put(const stdio *s, const char *text);
/* One read gives this text; "" for the end. */
void stdio_expect(const stdio *s, const char *text);

#endif
