/* Connections over TCP, for the acts that speak a protocol. All give up after 4 s. */
#ifndef ARCP_TESTS_ENFORCE_TALK_H
#define ARCP_TESTS_ENFORCE_TALK_H

#include <stddef.h>

/* Looks the host up, also numbers in any form, and connects. 0, or the errno that denied it. */
int talk_connect(const char *host, const char *port, int *out);
/* Sends all. 0 or errno. */
int talk_send(int fd, const char *bytes, size_t size);
/* Prints what is answered: one answer of HTTP with its body, or the first bytes of anything else.
 * ECONNRESET: the other end closed without an answer; ETIMEDOUT. */
int talk_hear(int fd);
/* What a text of a row stands for: "+" is a space, "~" the end of a line (CR, LF), "$XX" a byte.
 * `out` has room for twice the length. Returns the bytes. */
size_t talk_unfold(const char *text, size_t length, char *out);

#endif
