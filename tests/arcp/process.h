/* Programs under test: started with an environment of their own, read with a deadline, never
 * left behind. */
#ifndef ARCP_TESTS_ARCP_PROCESS_H
#define ARCP_TESTS_ARCP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <arcp/buf.h>

/* What a slow machine may take; nothing waits this long unless it fails. */
#define PROCESS_DEADLINE_MS 60000

typedef struct process {
    pid_t pid;
    int output; /* its standard output, or the terminal's other side */
    int errors; /* its standard error; -1 on a terminal */
    arcp_buf out, err;
    bool has_ended;
    int exit_status;  /* of a signal: 128 + number */
    long max_rss_kib; /* the most memory it had, once it has ended */
} process;

/* Words end with NULL; `environment` are NAME=VALUE, added to this process's own; `input` is
 * what standard input says. Fails the test when the program cannot be started. */
void process_start(process *p, const char *const *words, const char *const *environment,
                   const char *input);
/* The same on a pseudo-terminal of the given width; output and errors come together. */
void process_start_on_terminal(process *p, const char *const *words, const char *const *environment,
                               unsigned columns);

/* Reads until the text stands in the output (or, with `in_errors`, in the errors). Fails the
 * test at the deadline, or when the program ends before. */
void process_await(process *p, bool in_errors, const char *text);
/* Reads everything and waits for the end; returns the exit status. */
int process_finish(process *p);
void process_signal(process *p, int number);
/* Kills what still runs; frees. */
void process_fini(process *p);

#endif
