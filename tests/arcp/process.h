/* Programs under test: started with their own environment, read with a deadline, and always ended.
 */
#ifndef ARCP_TESTS_ARCP_PROCESS_H
#define ARCP_TESTS_ARCP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <arcp/buf.h>

/* Enough for a slow machine; only failing tests wait this long. */
#define PROCESS_DEADLINE_MS 60000

typedef struct process {
    pid_t pid;
    int output; /* its standard output, or the terminal's other side */
    int errors; /* its standard error; -1 on a terminal */
    arcp_buf out, err;
    bool has_ended;
    int exit_status;  /* for a signal: 128 + its number */
    long max_rss_kib; /* its peak memory, after its end */
} process;

/* `words` and `environment` (NAME=VALUE, added to that of this process) end with NULL; `input` is
 * its standard input. Fails the test if the program cannot be started. */
void process_start(process *p, const char *const *words, const char *const *environment,
                   const char *input);
/* The same with a pipe as standard input, whose other end is returned; the caller closes it. */
int process_start_dialogue(process *p, const char *const *words, const char *const *environment);
/* The same on a pseudo-terminal of the given width; output and errors come together. */
void process_start_on_terminal(process *p, const char *const *words, const char *const *environment,
                               unsigned columns);

/* Reads until the output (with `in_errors`, the errors) contains the text. Fails the test at the
 * deadline, or if the program ends before. */
void process_await(process *p, bool in_errors, const char *text);
/* Reads everything and waits for the end; returns the exit status. */
int process_finish(process *p);
void process_signal(process *p, int number);
/* Kills the program if it is running, and frees the buffers. */
void process_fini(process *p);

#endif
