/* A real arcpd with a configuration file and a state directory of its own, and blocking
 * WebSocket clients of it, with or without TLS. Everything waits 20 s at most. */
#ifndef ARCP_TESTS_ARCPD_DOOR_H
#define ARCP_TESTS_ARCPD_DOOR_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct door {
    char directory[64];
    char config[96];
    char errors[96]; /* path of the file with its standard error */
    pid_t pid;
    int port;
} door;

/* Creates the directory. */
void door_init(door *d);
/* Writes the configuration file. */
void door_configure(const door *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Starts it with the configuration and waits until it is ready. */
void door_start(door *d);
/* Starts it with the configuration and `argument` (may be NULL), which it is expected to
 * refuse: returns its exit status. */
int door_refused(door *d, const char *argument);
/* Sends SIGHUP, and waits for a new line with `word` in the log. */
void door_reload(const door *d, const char *word);
/* How many times its standard error contains the word. */
size_t door_said(const door *d, const char *word);
/* Stops it, and removes the directory. */
void door_fini(door *d);

typedef struct visitor {
    int fd;
    SSL_CTX *context;
    SSL *ssl; /* NULL: plain */
    char text[65536];
} visitor;

/* Connects; with `ca` over TLS, `max_version` (0: any) at most. False when the TLS
 * handshake fails. */
bool visitor_connect(visitor *w, const door *d, const char *ca, int max_version);
/* The HTTP status of the upgrade with these header lines added ("Origin: x\r\n" or ""). */
int visitor_upgrade(visitor *w, const char *host, const char *more);
long visitor_serial(const visitor *w);
/* Sends session.hello and returns the first response, valid until the next one. */
const char *visitor_hello(visitor *w, const char *token);
const char *visitor_ask(visitor *w, const char *frame);
/* The next frame; waits for it. */
const char *visitor_next(visitor *w);
void visitor_close(visitor *w);

#endif
