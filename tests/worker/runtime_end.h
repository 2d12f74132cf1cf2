/* A runtime that is scripted: it listens for a real arcp-worker, and reads and writes messages.
 * Everything waits a minute at most. */
#ifndef ARCP_TESTS_WORKER_RUNTIME_END_H
#define ARCP_TESTS_WORKER_RUNTIME_END_H

#include "support/check.h"

#include <sys/types.h>

#include "worker/worker_frame.h"

typedef struct runtime_end {
    char state[64];   /* its state directory */
    char errors[128]; /* the file with the worker's standard error */
    int listener, fd; /* -1: closed */
    pid_t worker;     /* 0: none */
    uid_t user;       /* of the worker; 0: ours */
    arcp_buf input;
    size_t taken; /* of the input, by the last message */
    arcp__worker_reader reader;
    arcp__worker_message message; /* the last one */
} runtime_end;

#define STORE    "01STORE"
#define KEEP_MS  600000u
#define GRACE_MS 600000u

/* A state directory of its own; it does not listen yet. */
void runtime_end_open(runtime_end *r);
/* Kills the worker if it runs, and removes the directory. */
void runtime_end_close(runtime_end *r);

/* Begins to listen, as the runtime of the store; and ends that, with the link. */
void runtime_end_listen(runtime_end *r);
void runtime_end_leave(runtime_end *r);

/* Starts a worker of the state directory; `more` are further arguments, up to NULL. */
pid_t runtime_end_spawn(runtime_end *r, const char *const *more);
/* The same for STORE. */
pid_t runtime_end_spawn_with_store(runtime_end *r);
/* Waits for the end of a worker, and returns its exit status; 128 + the signal. */
int runtime_end_wait(pid_t worker);
/* Waits for the end of the worker, which must have status 0, and closes the rest. */
void runtime_end_close_ended(runtime_end *r);
/* How often the file of its standard error has the word. */
size_t runtime_end_log_count(const runtime_end *r, const char *word);

/* Opens, listens, starts a worker and welcomes it. */
void runtime_end_open_linked(runtime_end *r, unsigned keep_ms, unsigned grace_ms);
/* The same, and runs `sh -c SCRIPT` for the job "j"; returns its process. */
pid_t runtime_end_open_job(runtime_end *r, unsigned grace_ms, const char *script);

/* Accepts the worker's next link, and takes hello; r->message is that. */
void runtime_end_accept(runtime_end *r);
/* The same without hello. */
void runtime_end_accept_raw(runtime_end *r);
/* Closes the link. */
void runtime_end_cut(runtime_end *r);
/* Waits until the worker has closed it. */
void runtime_end_await_cut(runtime_end *r);

/* Sends a message: its head with a line feed, and its body. */
void runtime_end_send(const runtime_end *r, const char *format, ...) ARCP_PRINTF(2, 3);
void runtime_end_send_bytes(const runtime_end *r, arcp_span bytes);
/* Sends welcome, with rows for the jobs that hello named. */
void runtime_end_welcome(const runtime_end *r, unsigned keep_ms, unsigned grace_ms,
                         const char *rows);
/* Has the job that hello named go on, and waits until the worker has said again that it runs. */
void runtime_end_go_on(runtime_end *r, const char *job);
void runtime_end_forget(const runtime_end *r, const char *job);
/* Starts `sh -c SCRIPT` for a job. */
void runtime_end_start(const runtime_end *r, const char *job, bool is_plain, const char *script);
/* The same, not plain; waits until it runs, and returns its process. */
pid_t runtime_end_run(runtime_end *r, const char *job, const char *script);

/* The next message, which must be of this kind; pings are answered, and `log` is skipped. */
const arcp__worker_message *runtime_end_next(runtime_end *r, arcp__worker_kind kind);
/* Reads items from the number `first` on, until they have these lines; returns the last number. */
uint64_t runtime_end_lines(runtime_end *r, uint64_t first, const char *wanted);
/* The row of the only job in the hello that was just taken; valid until the next call. */
arcp__worker_job_row runtime_end_row(const runtime_end *r);

#endif
