/* One running program on the loop: its pipes, its lines, its end. */
#ifndef ARCP_RUNTIME_AGENT_PROCESS_H
#define ARCP_RUNTIME_AGENT_PROCESS_H

#include <uv.h>

#include <arcp/buf.h>

typedef struct arcp__agent_process arcp__agent_process;

/* What it tells its owner, on the loop's thread, never from inside a call on it. */
typedef struct arcp__agent_process_callbacks {
    void (*line)(void *user, arcp_span line);    /* of standard output, without line feed */
    void (*line_too_long)(void *user);           /* nothing more of its output follows */
    void (*output)(void *user, arcp_span bytes); /* instead of lines, when plain */
    void (*log)(void *user, arcp_span line);     /* of standard error */
    /* It is gone and everything it wrote was delivered; the last callback. */
    void (*exited)(void *user, bool by_signal, int code, arcp_span stderr_tail);
    void *user;
} arcp__agent_process_callbacks;

typedef struct arcp__agent_spec {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated, complete */
    const char *cwd;         /* NULL: ours */
    const char *user;        /* NULL: ours */
    size_t line_bytes_max;
    bool is_plain;
} arcp__agent_spec;

/* Starts a program. What it writes before set_callbacks is not read. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_start(uv_loop_t *loop, const arcp__agent_spec *spec,
                                                      arcp__agent_process **out, arcp_error *err);

/* Begins to read it. */
void arcp__agent_process_set_callbacks(arcp__agent_process *process,
                                       const arcp__agent_process_callbacks *callbacks);

/* Queues a line for its standard input (the line feed is added). A program that does not
 * read 16 MiB of it is killed. */
void arcp__agent_process_write(arcp__agent_process *process, arcp_span line);
/* The same bytes as they are, then the end of its input. */
void arcp__agent_process_write_last(arcp__agent_process *process, arcp_span bytes);

/* Stops and resumes reading its standard output: a full pipe holds it back. */
void arcp__agent_process_pause(arcp__agent_process *process, bool paused);

/* SIGTERM to its group now, SIGKILL 5 s later; again: nothing more. */
void arcp__agent_process_terminate(arcp__agent_process *process);

pid_t arcp__agent_process_pid(const arcp__agent_process *process);

/* Kills its group when it still runs, makes no further callback, and frees itself when the
 * loop lets it. NULL is accepted. */
void arcp__agent_process_free(arcp__agent_process *process);

#endif
