/* A real arcpd with a state directory of its own, for tests and benchmarks: it can be started,
 * killed and started again on the same store, and its resource usage can be read. An error ends the
 * program with a message, and the daemon with it. */
#ifndef ARCP_TESTS_ARCPD_DAEMON_H
#define ARCP_TESTS_ARCPD_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <arcp/error.h>

/* Its agents are not confined: crashes, loads and measurements are of arcpd, and have directories
 * that a sandbox would keep from them. */
typedef struct daemon_options {
    const char *program;     /* NULL: arcpd of this build */
    const char *config;      /* YAML; NULL: the defaults */
    const char *store;       /* URL; NULL: sqlite: in the directory */
    uint64_t file_bytes_max; /* soft limit of the size of files; 0: not changed */
    const char *preload;     /* a library; NULL: none */
    const char *environment; /* NAME=VALUE; NULL: none */
    unsigned open_files;     /* limit of descriptors; 0: not changed */
    const char *agents[4];   /* NAME=PROGRAM, up to NULL; none: arcp-load-agent as "load" */
} daemon_options;

typedef struct daemon_state {
    char directory[64]; /* its state; made by daemon_begin */
    char store[128]; /* the database of the default URL; with postgres: the file that is locked */
    daemon_options options;
    pid_t pid; /* 0: not running */
    int out;   /* its standard output until it is ready; -1 */
    int64_t began_ns;
    unsigned short port;
    int exit_status;  /* of the last end; of a signal: 128 + number */
    int64_t ready_ns; /* from its start to the ready line */
    unsigned start_count;
} daemon_state;

/* Prints a message and ends the program. */
_Noreturn void daemon_fail(const char *format, ...) ARCP_PRINTF(1, 2);

/* Creates the directory; starts nothing. Makes a shallow copy of the options. */
void daemon_begin(daemon_state *d, const daemon_options *options);

/* Starts it with the tokens t-alice, t-bob and t-carol, and its agents; waits for nothing. */
void daemon_launch(daemon_state *d);
/* True when it is ready; false when it ended before (exit_status). */
bool daemon_await(daemon_state *d);
/* Starts it and waits; it must become ready. */
void daemon_start(daemon_state *d);
/* kill -9, and waits for the end, and until no process holds the store. */
void daemon_kill(daemon_state *d);
/* SIGTERM, and waits; returns the exit status. */
int daemon_stop(daemon_state *d);
/* The same with another signal. */
int daemon_stop_by(daemon_state *d, int signal_number);
/* What it wrote to standard error since the last start; the caller frees. */
char *daemon_errors(const daemon_state *d);
/* Stops it if it runs, and removes the directory. */
void daemon_end(daemon_state *d);

/* Resident memory, and CPU time used so far. */
uint64_t daemon_resident_bytes(const daemon_state *d);
uint64_t daemon_cpu_ns(const daemon_state *d);

/* Nanoseconds on the monotonic clock. */
int64_t daemon_now_ns(void);

#endif
