/* The commands of `arcp`, and the code that several of them share. */
#ifndef ARCP_ARCP_COMMAND_H
#define ARCP_ARCP_COMMAND_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/client.h>
#include <arcp/decimal.h>

#include "cli/cli.h"

/* ---- The commands that are built into `arcp`: each returns the exit status ---- */

int arcp__command_submit(arcp__program *program);
int arcp__command_watch(arcp__program *program);
int arcp__command_show(arcp__program *program);
int arcp__command_logs(arcp__program *program);
int arcp__command_wait(arcp__program *program);
int arcp__command_jobs(arcp__program *program);
int arcp__command_cancel(arcp__program *program);
int arcp__command_context(arcp__program *program);
int arcp__command_events(arcp__program *program);
int arcp__command_top(arcp__program *program);
/* 0: healthy; 1: it is not. */
int arcp__command_status(arcp__program *program);
int arcp__command_sessions(arcp__program *program);
int arcp__command_workers(arcp__program *program);
int arcp__command_schedules(arcp__program *program);
int arcp__command_hooks(arcp__program *program);
/* 0: the new configuration is in effect; 1: it is not. */
int arcp__command_reload(arcp__program *program);
int arcp__command_ui(arcp__program *program);
int arcp__command_agents(arcp__program *program);
int arcp__command_credentials(arcp__program *program);
int arcp__command_ping(arcp__program *program);
/* 0: allowed, or a subset; 1: a lease cannot be read; 4: denied, or not a subset. */
int arcp__command_lease(arcp__program *program);
/* 0: the chain is intact, or grep was run; 1: a file cannot be read; 4: the chain is broken. */
int arcp__command_audit(arcp__program *program);
int arcp__command_store(arcp__program *program);
/* 0: printed; 1: the price file cannot be read, or no row has such a name. */
int arcp__command_models(arcp__program *program);
/* 0: printed; 1: a server did not list its tools, or the configuration cannot be used. */
int arcp__command_tools(arcp__program *program);

/* 0: printed; 1: no arcpd that can be signalled, or no answer from it. */
int arcp__command_debug(arcp__program *program);

/* The status of the command that was run, or 125 to 127 when it was not. */
int arcp__command_run(arcp__program *program);
/* The status of the server, or 2, 4, 126 or 127 when it was not started. */
int arcp__command_mcp(arcp__program *program);
int arcp__command_mcp_stdio(arcp__program *program);
/* 0: this host has level full; 1: landlock; 4: none. */
int arcp__command_doctor(arcp__program *program);

/* ---- arcp.c: all of `arcp`; main() only calls it ---- */

/* Returns the exit status. argv may be changed (a token in it is overwritten). */
int arcp__main(int argc, char **argv);

/* ---- completion.c: completion scripts for shells ---- */

/* Appends the script for bash, zsh or fish; false for another shell. */
bool arcp__completion_script(const char *shell, arcp_buf *out);

/* ---- lease_request.c ---- */

/* The lease of `arcp submit`, `arcp run` and `arcp mcp`: --lease, --grant, --budget, --expires-in,
 * --expires-at. */

typedef struct arcp__lease_grant {
    arcp_span capability;
    const char *pattern;
} arcp__lease_grant;

/* The options of the command that have these names (`grant` and `budget`: ARCP__OPTION_COUNT if it
 * has none), and what its other options grant. */
typedef struct arcp__lease_source {
    arcp__option lease, grant, budget, expires_in, expires_at;
    const arcp__lease_grant *grants;
    size_t grant_count;
} arcp__lease_source;

/* Writes the lease and the constraints as JSON objects; each stays empty when no option sets it. A
 * request that no runtime would accept is ARCP_E_USAGE with capability, index and reason. */
ARCP_MUST_CHECK arcp_status arcp__lease_request(const arcp__arguments *arguments,
                                                const arcp__lease_source *source,
                                                int64_t now_wall_ns, arcp_buf *lease,
                                                arcp_buf *constraints, arcp_error *err);

/* ---- submit_explain.c ---- */

/* Prints what the runtime would grant to the job that the arguments name, with this lease and these
 * constraints (empty: none). Returns the exit status. */
int arcp__submit_explain(arcp__program *program, arcp_span lease, arcp_span constraints);

/* ---- command_lease.c ---- */

/* Reads a lease from JSON, @FILE or - (standard input): a map of capabilities, or an object with
 * `lease` and `lease_constraints`. It may be larger than a runtime accepts. The caller unrefs *out.
 * ARCP_E_USAGE, ARCP_E_INVALID_REQUEST. */
ARCP_MUST_CHECK arcp_status arcp__lease_load(const char *word, arcp_lease **out, arcp_error *err);

/* ---- lease_enforce.c: `arcp lease explain LEASE --enforce` ---- */

/* Appends how a sandbox would enforce each line of the lease, by --cwd, --agent-command and
 * --level. ARCP_E_USAGE for these, or when this host cannot be probed. */
ARCP_MUST_CHECK arcp_status arcp__lease_enforce(const arcp__program *program,
                                                const arcp_lease *lease, bool *would_run,
                                                arcp_buf *out, arcp_error *err);

/* ---- event_line.c: one readable line per event ---- */

typedef struct arcp__line_style {
    bool has_color;
    bool has_times; /* begin with the event's time */
    unsigned depth; /* of delegation: two spaces each */
} arcp__line_style;

/* An event as it is shown. */
typedef struct arcp__shown_event {
    arcp_span ts; /* empty: none is shown */
    arcp_span kind_text;
    arcp_span json; /* the body, and its members */
    const arcp_event_body *body;
    arcp_job *job; /* whose budget is shown; NULL: it is not known */
} arcp__shown_event;

/* The line for an event that no client has received: arcp__event_line. */
bool arcp__shown_line(const arcp__line_style *style, const arcp__shown_event *event, arcp_buf *out);

/* Appends the line for an event of a job, without newline. False (and nothing) for events that have
 * none: result chunks. */
bool arcp__event_line(const arcp__line_style *style, const arcp_client_event *event, arcp_buf *out);

/* The line for something other than a job event: a word of at most nine letters, then the text.
 * `color` is an SGR number; 0: none. */
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

/* The status area: one line per running job, with a bar if it reported a total, else a spinner. */

/* Further jobs are not drawn. */
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
    int64_t since_ns; /* when the job was added */
} arcp__progress_row;

typedef struct arcp__progress {
    arcp__progress_row rows[ARCP__PROGRESS_JOBS_MAX];
    size_t count;
} arcp__progress;

/* Adds a job; `label` is its name in the status area. */
void arcp__progress_add(arcp__progress *progress, arcp_span job, arcp_span label, unsigned depth,
                        int64_t now_ns);
void arcp__progress_remove(arcp__progress *progress, arcp_span job);

/* Updates the job's row from a progress or status event; ignores other kinds. */
void arcp__progress_note(arcp__progress *progress, arcp_span job, const arcp_event_body *body);

/* Appends the area's text for this screen, a line per job. */
void arcp__progress_draw(const arcp__progress *progress, const arcp__screen *screen, int64_t now_ns,
                         arcp_buf *out);

/* ---- result_writer.c ---- */

/* Writes a job's result to standard output or to a file, or discards it. */

typedef struct arcp__result_writer {
    arcp__program *program;
    const char *path; /* NULL: standard output */
    int fd;           /* of the file, -1 without */
    bool is_fresh;    /* nothing is written yet: an existing file still has its old content */
    bool discards;    /* --json without --output: the chunks are printed as events */
    bool is_terminal; /* standard output is a terminal: control characters must be escaped */
    arcp_buf held;    /* an incomplete character, whose rest may follow */
    char last;        /* the last byte written to standard output */
} arcp__result_writer;

/* Opens the file without truncating it yet. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__result_writer_open(arcp__result_writer *writer,
                                                     arcp__program *program, const char *path,
                                                     arcp_error *err);
/* The sink for a streamed result. */
arcp_result_sink arcp__result_writer_sink(arcp__result_writer *writer);
/* Writes an inline result, or ends a streamed one. A string is written without its quotes, any
 * other value as JSON; on a terminal control characters are shown as escapes. False when writing
 * failed; then the error has been printed. */
bool arcp__result_writer_finish(arcp__result_writer *writer, const arcp_outcome *outcome);
void arcp__result_writer_close(arcp__result_writer *writer);

/* ---- session_file.c ---- */

/* The file in which `arcp submit` saves its session for `arcp cancel`: session id, resume token and
 * jobs. One file per session under the state directory, mode 0600.
 *
 * Two processes may use one session: the submit that follows its job, and a cancel that resumes
 * the session for a moment. A process that resumes holds the file's lock from before the attempt
 * until the new resume token is in the file, so that neither presents a token that the other has
 * just replaced. The submit never waits for the lock (it retries a little later); the cancel does.
 *
 * The functions may be called from any thread. */

typedef struct arcp__session_file arcp__session_file;

/* A file for a new session, not on disk yet. `directory` (the state directory) is borrowed for the
 * call. NULL when out of memory. */
ARCP_MUST_CHECK arcp__session_file *arcp__session_file_new(arcp_span directory, arcp_span url);

/* Finds the saved session that submitted `job`: the newest file of this URL that lists it.
 * ARCP_E_NOT_FOUND. The lock is not taken. */
ARCP_MUST_CHECK arcp_status arcp__session_file_find(arcp_span directory, arcp_span url,
                                                    arcp_span job, arcp__session_file **out,
                                                    arcp_error *err);

/* Frees the object and releases the lock; the file stays on disk. NULL is accepted. */
void arcp__session_file_free(arcp__session_file *file);

/* Removes session files older than `seconds`: their sessions have expired. Ignores errors. */
void arcp__session_file_sweep(arcp_span directory, int64_t seconds);

/* Takes the lock, without waiting; true when it is (or was already) ours. */
bool arcp__session_file_lock(arcp__session_file *file);
void arcp__session_file_unlock(arcp__session_file *file);

/* Reads the file again: another process may have changed it. */
ARCP_MUST_CHECK arcp_status arcp__session_file_reload(arcp__session_file *file, arcp_error *err);

/* The state that a resume needs; its spans are valid until the next call that changes the object.
 */
arcp_session_state arcp__session_file_state(const arcp__session_file *file);

/* Stores the session; writes the file if it is kept on disk (see add_job). */
ARCP_MUST_CHECK arcp_status arcp__session_file_set_session(arcp__session_file *file,
                                                           const arcp_session_state *state,
                                                           arcp_error *err);
/* From the first job on the file is kept on disk. */
ARCP_MUST_CHECK arcp_status arcp__session_file_add_job(arcp__session_file *file, arcp_span job,
                                                       arcp_error *err);
/* Stores that every event up to event_seq was processed. Call it before acknowledging the event. */
ARCP_MUST_CHECK arcp_status arcp__session_file_set_seq(arcp__session_file *file, uint64_t event_seq,
                                                       arcp_error *err);
/* Removes the file from disk. */
void arcp__session_file_remove(arcp__session_file *file);

/* ---- closing.c: the last line about a job that was followed ---- */

#define ARCP__CLOSING_COSTS_MAX 8 /* currencies */

/* Zero-initialise. */
typedef struct arcp__closing {
    char started_at[40]; /* when its agent began; "": not known */
    struct {
        char currency[ARCP_CURRENCY_MAX];
        arcp_decimal amount;
    } costs[ARCP__CLOSING_COSTS_MAX]; /* as its metrics report them, with those of its children */
    size_t cost_count;
    bool has_more; /* costs that have no place above */
} arcp__closing;

/* Takes an event of the job (`is_ours`) or of its children. */
void arcp__closing_note(arcp__closing *closing, const arcp_client_event *event, bool is_ours);
/* Appends "success, 4.1 s, USD 0.9"; time and costs as far as they are known. */
void arcp__closing_append(const arcp__closing *closing, const arcp_outcome *outcome, arcp_buf *out);

/* ---- follow.c: follows a job to its end, for `submit` and `watch` ---- */

/* Jobs whose depth in the delegation tree is remembered; others are drawn at depth 0. */
#define ARCP__FOLLOW_JOBS_MAX 256

typedef struct arcp__follow {
    arcp__program *program;
    arcp_client *client;
    arcp_job *job;
    arcp__result_writer *writer;
    arcp__session_file *file; /* NULL: no session file; then the client acknowledges by itself */
    bool may_cancel;          /* the first Ctrl-C requests cancellation */
    bool quiet_until_end;     /* print only the end: the events before it are replayed history */
    bool has_all_events;      /* from the job's start, so that its time and costs are known */

    /* private to follow.c */
    arcp__progress progress;
    arcp__closing closing;
    struct {
        char id[64];
        unsigned depth;
    } jobs[ARCP__FOLLOW_JOBS_MAX];
    size_t job_count;
    arcp_buf line;
    unsigned interrupts_handled;
    bool cancel_sent;
    uint64_t last_seq; /* of the events printed so far */
    uint64_t acked_seq;
    int64_t acked_ns;
    int exit_status;
    bool done;
} arcp__follow;

/* How the program's lines about a job look. */
static inline arcp__line_style arcp__program_style(const arcp__program *program, unsigned depth)
{
    return (arcp__line_style){
        .has_color = program->screen.has_color,
        .has_times = arcp__has(&program->arguments, ARCP__OPTION_TIMESTAMPS),
        .depth = depth,
    };
}

/* Follows the job until it ends, the session is lost, or the user detaches with Ctrl-C; returns the
 * exit status. The caller has set the first part of *follow. */
int arcp__follow_run(arcp__follow *follow);

#endif
