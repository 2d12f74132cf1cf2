/* The commands of `arcp`, and what several of them do. */
#ifndef ARCP_ARCP_COMMAND_H
#define ARCP_ARCP_COMMAND_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/client.h>

#include "cli/cli.h"

/* ---- The commands that are built into `arcp`: each returns the exit status ---- */

int arcp__command_submit(arcp__program *program);
int arcp__command_watch(arcp__program *program);
int arcp__command_jobs(arcp__program *program);
int arcp__command_cancel(arcp__program *program);
int arcp__command_agents(arcp__program *program);
int arcp__command_credentials(arcp__program *program);
int arcp__command_ping(arcp__program *program);
/* 0 yes; 1 a lease that cannot be read; 4 denied, or not a subset. */
int arcp__command_lease(arcp__program *program);
/* 0 the chain is whole, or lines were looked for; 1 a file cannot be read; 4 the chain is not
 * whole. */
int arcp__command_audit(arcp__program *program);
/* 0 done; 1 not. */
int arcp__command_store(arcp__program *program);

/* 0 printed; 1 no arcpd that can be signalled, or no answer. */
int arcp__command_debug(arcp__program *program);

/* ---- arcp.c: the whole of `arcp`; main() does nothing else ---- */

/* Returns the exit status. argv may be changed (a token in it is overwritten). */
int arcp__main(int argc, char **argv);

/* ---- completion.c: completion scripts for shells ---- */

/* Appends the script for bash, zsh or fish; false for another shell. */
bool arcp__completion_script(const char *shell, arcp_buf *out);

/* ---- lease_request.c ---- */

/* The lease request of `arcp submit`: --lease, --grant, --budget, --expires-in, --expires-at. */

/* Writes the lease and the constraints as JSON objects; each stays empty when nothing asks
 * for it. What no runtime would accept is ARCP_E_USAGE, naming capability, index and reason. */
ARCP_MUST_CHECK arcp_status arcp__lease_request(const arcp__arguments *arguments,
                                                int64_t now_wall_ns, arcp_buf *lease,
                                                arcp_buf *constraints, arcp_error *err);

/* ---- event_line.c: one readable line per event ---- */

typedef struct arcp__line_style {
    bool has_color;
    bool has_times; /* begin with the event's time */
    unsigned depth; /* of delegation: two spaces each */
} arcp__line_style;

/* Appends the line for an event of a job, without newline. False (and nothing) for events that have
 * none: result chunks. */
bool arcp__event_line(const arcp__line_style *style, const arcp_client_event *event, arcp_buf *out);

/* The line for something that is no event of a job: a word of at most nine letters, then the
 * text. `color` is an SGR number, 0: none. */
void arcp__plain_line(const arcp__line_style *style, const char *word, int color, arcp_span text,
                      arcp_buf *out);

enum {
    ARCP__COLOR_NONE = 0,
    ARCP__COLOR_DIM = 2,
    ARCP__COLOR_RED = 31,
    ARCP__COLOR_GREEN = 32,
    ARCP__COLOR_YELLOW = 33,
    ARCP__COLOR_BLUE = 34,
    ARCP__COLOR_MAGENTA = 35,
    ARCP__COLOR_CYAN = 36
};

/* ---- progress.c ---- */

/* The status area: one line per job that is under way, a bar where there is a total, a spinner
 * where there is none. */

/* More jobs than this at once are not drawn. */
#define ARCP__PROGRESS_JOBS_MAX 16
#define ARCP__PROGRESS_TEXT_MAX 96

typedef struct arcp__progress_row {
    char job[64];
    char label[48];
    unsigned depth;
    bool has_progress;
    double current;
    double total;                         /* 0: none */
    char amount[ARCP__PROGRESS_TEXT_MAX]; /* "47/120 files" */
    char message[ARCP__PROGRESS_TEXT_MAX];
    int64_t since_ns; /* when the job was first seen */
} arcp__progress_row;

typedef struct arcp__progress {
    arcp__progress_row rows[ARCP__PROGRESS_JOBS_MAX];
    size_t count;
} arcp__progress;

/* A job began; `label` is what people know it by. */
void arcp__progress_add(arcp__progress *progress, arcp_span job, arcp_span label, unsigned depth,
                        int64_t now_ns);
void arcp__progress_remove(arcp__progress *progress, arcp_span job);

/* Takes an event of kind progress, status or log (whose message is shown meanwhile). */
void arcp__progress_note(arcp__progress *progress, arcp_span job, const arcp_event_body *body);

/* Appends the area's text, a line per job. */
void arcp__progress_draw(const arcp__progress *progress, int64_t now_ns, bool is_utf8,
                         bool has_color, arcp_buf *out);

/* ---- result_writer.c ---- */

/* Where a job's result goes: standard output or a file, as text or not at all. */

typedef struct arcp__result_writer {
    arcp__program *program;
    const char *path; /* NULL: standard output */
    int fd;           /* of the file, -1 without */
    bool is_fresh;    /* nothing was written yet: an older file is still whole */
    bool discards;    /* --json without --output: the chunks are among the events */
    bool is_shown;    /* on a terminal, which must not be controlled by what it shows */
    arcp_buf held;    /* the beginning of a character of which more may come */
    char last;        /* the last byte that went to standard output */
} arcp__result_writer;

/* Opens the file, without emptying it yet. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__result_writer_open(arcp__result_writer *writer,
                                                     arcp__program *program, const char *path,
                                                     arcp_error *err);
/* The sink for a streamed result. */
arcp_result_sink arcp__result_writer_sink(arcp__result_writer *writer);
/* Writes an inline result, or ends a streamed one. A string as it is, anything else as JSON; on
 * a terminal control characters are shown as escapes.
 * False when something could not be written, which was said. */
bool arcp__result_writer_finish(arcp__result_writer *writer, const arcp_outcome *outcome);
void arcp__result_writer_close(arcp__result_writer *writer);

/* ---- session_file.c ---- */

/* What `arcp submit` leaves for `arcp cancel`: its session, resume token and jobs, one file per
 * session under the state directory, mode 0600.
 *
 * Two processes may hold one session: the submit that follows its job, and a cancel that
 * borrows the session for a moment. Whoever resumes holds the file's lock from before the
 * attempt until the new resume token is in the file, so that no one presents a token that the
 * other has just replaced. The submit never waits for the lock (it asks again a little later);
 * the cancel does.
 *
 * The functions may be called from any thread. */

typedef struct arcp__session_file arcp__session_file;

/* A session of this process, not on disk yet. `directory` (the state directory) is borrowed
 * for the call. NULL when out of memory. */
ARCP_MUST_CHECK arcp__session_file *arcp__session_file_new(arcp_span directory, arcp_span url);

/* The saved session that submitted `job`: the youngest file of this URL that names it.
 * ARCP_E_NOT_FOUND. The lock is not taken. */
ARCP_MUST_CHECK arcp_status arcp__session_file_find(arcp_span directory, arcp_span url,
                                                    arcp_span job, arcp__session_file **out,
                                                    arcp_error *err);

/* Frees the memory and gives back the lock; the file stays. NULL is accepted. */
void arcp__session_file_free(arcp__session_file *file);

/* Removes files that nobody can use any more: older than `seconds`. Errors are ignored. */
void arcp__session_file_sweep(arcp_span directory, int64_t seconds);

/* Takes the lock, without waiting; true when it is (or was already) ours. */
bool arcp__session_file_lock(arcp__session_file *file);
void arcp__session_file_unlock(arcp__session_file *file);

/* Reads what another process may have written meanwhile. */
ARCP_MUST_CHECK arcp_status arcp__session_file_reload(arcp__session_file *file, arcp_error *err);

/* What a resume needs; spans live until the next call that changes the file. */
arcp_session_state arcp__session_file_state(const arcp__session_file *file);

/* Notes the session and writes the file when it is to be kept (see add_job). */
ARCP_MUST_CHECK arcp_status arcp__session_file_set_session(arcp__session_file *file,
                                                           const arcp_session_state *state,
                                                           arcp_error *err);
/* From the first job on the file is kept on disk. */
ARCP_MUST_CHECK arcp_status arcp__session_file_add_job(arcp__session_file *file, arcp_span job,
                                                       arcp_error *err);
/* Everything up to event_seq is dealt with; to be called before it is acknowledged. */
ARCP_MUST_CHECK arcp_status arcp__session_file_set_seq(arcp__session_file *file, uint64_t event_seq,
                                                       arcp_error *err);
/* The session is of no more use: removes the file. */
void arcp__session_file_remove(arcp__session_file *file);

/* ---- follow.c: following a job to its end: what `submit` and `watch` have in common ---- */

/* Jobs whose place in the tree of delegations is known. */
#define ARCP__FOLLOW_JOBS_MAX 256

typedef struct arcp__follow {
    arcp__program *program;
    arcp_client *client;
    arcp_job *job;
    arcp__result_writer *writer;
    arcp__session_file *file; /* NULL: nothing is kept, and acknowledging goes by itself */
    bool may_cancel;          /* Ctrl-C asks for it */
    bool quiet_until_end;     /* only the end is wanted: it is replayed history */

    /* its own */
    arcp__progress progress;
    struct {
        char id[64];
        unsigned depth;
    } jobs[ARCP__FOLLOW_JOBS_MAX];
    size_t job_count;
    arcp_buf line;
    unsigned interrupts_seen;
    bool cancel_sent;
    uint64_t last_seq; /* handed over */
    uint64_t acked_seq;
    int64_t acked_ns;
    int exit_status;
    bool done;
} arcp__follow;

/* From here on SIGINT is counted and interrupts the client's waits, instead of ending the
 * program; NULL ends that. */
void arcp__interrupt_watch(arcp_client *client);

/* How the program's lines about a job look. */
static inline arcp__line_style arcp__program_style(const arcp__program *program, unsigned depth)
{
    return (arcp__line_style){
        .has_color = program->screen.has_color,
        .has_times = arcp__has(&program->arguments, ARCP__OPTION_TIMESTAMPS),
        .depth = depth,
    };
}

/* Follows until the job has ended, the session is lost, or the user leaves; returns the exit
 * status. The caller has filled the first part of *follow. */
int arcp__follow_run(arcp__follow *follow);

#endif
