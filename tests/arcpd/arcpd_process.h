/* A real arcpd with a configuration file and a state directory of its own, and blocking
 * WebSocket clients of it, with or without TLS. Everything waits 20 s at most. */
#ifndef ARCP_TESTS_ARCPD_ARCPD_PROCESS_H
#define ARCP_TESTS_ARCPD_ARCPD_PROCESS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct arcpd_process {
    char directory[64];
    char config[96];
    char errors[96]; /* path of the file with its standard error */
    pid_t pid;
    int port;
    const int *passed; /* sockets that it is started with, as by a service manager */
    int passed_count;
} arcpd_process;

/* Creates the directory. */
void arcpd_init(arcpd_process *d);
/* Writes the configuration file. */
void arcpd_configure(const arcpd_process *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Starts it with the configuration and waits until it is ready. */
void arcpd_start(arcpd_process *d);
/* Starts it with the configuration and `argument` (may be NULL), which it is expected to
 * refuse: returns its exit status. */
int arcpd_start_refused(arcpd_process *d, const char *argument);
/* Sends SIGHUP, and waits for a new line with `word` in the log. */
void arcpd_reload(const arcpd_process *d, const char *word);
/* How many times its standard error contains the word. */
size_t arcpd_log_count(const arcpd_process *d, const char *word);
/* Stops it, and removes the directory. */
void arcpd_fini(arcpd_process *d);

typedef struct blocking_client {
    int fd;
    SSL_CTX *context;
    SSL *ssl; /* NULL: plain */
    char text[65536];
} blocking_client;

/* Connects; with `ca` over TLS, `max_version` (0: any) at most. False when the TLS
 * handshake fails. */
bool client_connect(blocking_client *c, const arcpd_process *d, const char *ca, int max_version);
/* The HTTP status of the upgrade with these header lines added ("Origin: x\r\n" or ""). */
int client_upgrade(blocking_client *c, const char *host, const char *more);
long client_serial(const blocking_client *c);
/* Sends session.hello and returns the first response, valid until the next one. */
const char *client_hello(blocking_client *c, const char *token);
const char *client_request(blocking_client *c, const char *frame);
/* The next frame; waits for it. */
const char *client_next(blocking_client *c);
void client_close(blocking_client *c);

#endif
