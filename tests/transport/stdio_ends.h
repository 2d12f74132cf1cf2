/* A lines connection over two descriptors whose other ends the test has. */
#ifndef ARCP_TESTS_STDIO_ENDS_H
#define ARCP_TESTS_STDIO_ENDS_H

#include "transport/loop_support.h"
#include "transport/owner.h"

/* The connection, and the ends of the test: `to` write to it, `from` read from it; -1: none. */
typedef struct stdio {
    test_loop test;
    owner owner;
    int to;
    int from;
} stdio;

/* Creates the loop only. */
void stdio_init(stdio *s);
/* Creates the connection over these descriptors; 0 bytes: the default limit. */
void stdio_open_over(stdio *s, int input, int output, size_t frame_bytes_max);
/* Creates both, over two pipes and with a limit of 100 bytes. */
void stdio_open(stdio *s);
void stdio_open_for(stdio *s, bool wants_input_over);
void stdio_close(stdio *s);

/* Closes an end if it is open. */
void stdio_hang_up(int *fd);
void stdio_put(const stdio *s, const char *text);
/* One read must return this text; "" for the end. */
void stdio_expect(const stdio *s, const char *text);

#endif
