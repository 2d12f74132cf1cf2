/* What the runtime remembers: an engine, and the loop, store, links and agents it drives.
 * Private to src/runtime; everything belongs to the loop's thread. */
#ifndef ARCP_RUNTIME_RUNTIME_STATE_H
#define ARCP_RUNTIME_RUNTIME_STATE_H

#include <arcp/runtime.h>
#include <uv.h>

#include "base/random.h"
#include "base/turn_share.h"
#include "engine/engine.h"
#include "identity/identity.h"
#include "process/process.h"
#include "runtime/agent_host.h"

/* One batch is being written while the next fills; a second one waits in the store so that
 * its writer is never idle. */
#define ARCP__BATCHES_MAX 2u

#define ARCP__COMMIT_BUCKETS 16u

typedef struct arcp__runtime_link arcp__runtime_link;
typedef struct arcp__agent_threads arcp__agent_threads;
typedef struct arcp__agent_inbox arcp__agent_inbox;

/* One served connection. */
struct arcp__runtime_link {
    arcp_runtime *runtime;
    arcp__runtime_link *previous, *next;
    arcp_connection *connection;
    arcp__link *link;               /* the engine's; NULL when it is told of the end */
    void (*input_over)(void *user); /* what its owner is told; may be NULL, as the next */
    void (*closed)(void *user);
    void *user;
    arcp__runtime_link *previous_touched, *next_touched; /* has something to flush */
    arcp__runtime_link *previous_resting, *next_resting; /* goes on in the next turn */
    arcp__turn_share share;
    bool is_welcome;
    bool is_touched;
    bool is_resting; /* it had its share of this turn */
    bool is_refused; /* the engine takes none of its frames for now */
};

typedef struct arcp__runtime_listener {
    struct arcp__runtime_listener *next;
    arcp_runtime *runtime;
    arcp_listener *listener;
} arcp__runtime_listener;

/* What an agent was registered with; the engine hands it back when a job starts. Jobs refer to
 * it after a reload: a program's is kept as long as one of them does, a callback's as long as the
 * runtime. */
typedef struct arcp__agent_entry {
    struct arcp__agent_entry *next;
    const arcp__agent_host_ops *ops;
    arcp_agent callback;                 /* of a callback agent, without name and version */
    struct arcp__process_agent *process; /* of a process agent; owned by its host */
    char *name, *version;                /* owned */
    bool is_used;                        /* while the others are looked for */
} arcp__agent_entry;

struct arcp_runtime {
    uv_loop_t *loop;
    arcp__engine *engine;
    arcp_store *store;
    arcp__authenticator *authenticator;
    void (*log)(void *user, arcp_log_level level, const char *text, const char *fields);
    void *log_user;
    arcp_provisioner *provisioner;  /* owned; NULL: none */
    struct arcp__seal *seal;        /* owned; there with a provisioner */
    arcp__process_table *processes; /* owned */
    bool launches_here;             /* by the direct launcher */
    size_t settings_agent_line_bytes;
    char *name, *version;     /* owned */
    arcp__random_pool random; /* for ids, and the engine's tokens */

    uv_prepare_t prepare; /* drives before the loop waits */
    uv_timer_t timer;     /* the engine's deadline */
    uv_async_t wake;      /* the store or an agent's thread has something */
    uv_idle_t launching;  /* starts a program in each turn, while jobs wait for theirs */
    int open_handles;
    bool is_dirty; /* the engine was told something */
    bool is_driving;
    bool has_polled; /* the store was asked while it was fed, since the last round */
    bool is_told;    /* an agent that runs on the loop said something while driving */
    bool is_freeing;
    unsigned batches_under_way;
    int64_t submitted_ns[ARCP__BATCHES_MAX]; /* of those, oldest first */
    struct {
        uint64_t counts[ARCP__COMMIT_BUCKETS];
        uint64_t sum_ns;
    } commits;
    uint64_t batches;

    arcp__runtime_link *links;
    arcp__runtime_link *touched;
    arcp__runtime_link *resting; /* the longest first */
    size_t resting_count;
    arcp__turn turn; /* of the loop */
    arcp__runtime_listener *listeners;
    arcp_admission *admission; /* a reference; of all listeners */
    arcp__agent_entry *agents;
    struct arcp__process_job *process_jobs;         /* the oldest first */
    struct arcp__process_job *waiting_process_jobs; /* in the order of their rounds */
    uint64_t launch_round;                          /* of the job that was taken last */
    arcp__agent_inbox *inbox;
    arcp__agent_threads *threads;
    arcp_status restore_status;
    arcp_error restore_error;
    unsigned scans_under_way;

    void (*stopped)(void *user);
    void *stopped_user;
    bool is_stopping;
    arcp_buf text; /* NUL-terminated copy of a log line */

    void (*audit_barrier)(void *user, bool must_wait); /* may be NULL */
    void *audit_barrier_user;
    void (*failed)(void *user); /* may be NULL */
    void *failed_user;
    bool has_failed;                                /* the engine has, and the log says so */
    void (*trace_span)(void *user, arcp_span json); /* may be NULL */
    void *trace_span_user;
};

/* ---- runtime_drive.c ---- */
/* Does what the engine asks until it asks nothing. */
void arcp__runtime_drive(arcp_runtime *runtime);
/* Whether it is this thread that is driving: then the drive comes to what was just said, and
 * the loop need not be woken. Any thread. */
bool arcp__runtime_is_driven_here(const arcp_runtime *runtime);

/* ---- runtime_batch.c ---- */
/* Hands full batches to the store; true when one went. */
bool arcp__runtime_submit_batches(arcp_runtime *runtime);
/* After an input, in a turn with many: a store with nothing to do gets what has gathered, when that
 * is worth it, and need not wait for the end of the turn. Performs no effect but lines of
 * the log. True when that took a while: it is later now. */
bool arcp__runtime_feed_store(arcp_runtime *runtime);

/* ---- runtime_log.c ---- */
/* A line of the engine: an effect, or what waits to be logged. */
void arcp__runtime_log_effect(arcp_runtime *runtime, const arcp__effect *effect);
void arcp__runtime_log_lines(arcp_runtime *runtime);
void arcp__runtime_log(arcp_runtime *runtime, arcp_log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* The same about a job: its id, agent, principal and so on are fields. */
void arcp__runtime_log_job(arcp_runtime *runtime, const arcp__job *job, arcp_log_level level,
                           const char *format, ...) ARCP_PRINTF(4, 5);

/* ---- runtime_tokens.c ---- */
/* `questions_max`: as in the runtime's options. NULL when out of memory. */
arcp__authenticator *arcp__runtime_authenticator_new(arcp_runtime *runtime, size_t questions_max);
/* Whose token is it? The engine is told. */
void arcp__runtime_authenticate(const arcp__runtime_link *link, uint64_t auth_id, arcp_span token);

/* ---- runtime_link.c ---- */
/* What strangers may take of the process, for connections from now on. */
arcp_status arcp__runtime_bound_connections(arcp_runtime *runtime, const arcp_settings *settings,
                                            arcp_error *err);

/* ---- runtime_metrics.c ---- */
void arcp__runtime_note_commit(arcp_runtime *runtime, int64_t took_ns);

/* ---- runtime.c ---- */
/* Takes the entry over and offers it to sessions under its name. `cwd` may be NULL. */
arcp_status arcp__runtime_add_entry(arcp_runtime *runtime, arcp__agent_entry *entry,
                                    const char *name, const char *version, bool is_default,
                                    const char *cwd, arcp_error *err);

/* ---- runtime_credentials.c ---- */
/* Makes the runtime's provisioner ready, and what the engine is told of it. */
arcp_status arcp__runtime_provisioner_open(arcp_runtime *runtime, const char *key_file,
                                           arcp__credential_options *out, arcp_error *err);
void arcp__runtime_provision(arcp_runtime *runtime, uint64_t call_id);
void arcp__runtime_provisioner_close(arcp_runtime *runtime);

/* ---- agent_process_host.c ---- */
/* Kills what still runs. */
void arcp__runtime_process_jobs_free(arcp_runtime *runtime);

/* ---- runtime_link.c ---- */
void arcp__runtime_link_touch(arcp__runtime_link *link);
void arcp__runtime_links_flush(arcp_runtime *runtime);
/* The engine takes the link's frames again. */
void arcp__runtime_link_resume(arcp__runtime_link *link);
/* A turn of the loop is over: who had its share of it goes on. */
void arcp__runtime_links_next_turn(arcp_runtime *runtime);
void arcp__runtime_links_free(arcp_runtime *runtime);

/* ---- runtime_store.c ---- */
/* Reads the tables into the engine; runs the loop until that is done. */
arcp_status arcp__runtime_restore(arcp_runtime *runtime, arcp_error *err);
void arcp__runtime_store_callbacks(arcp_runtime *runtime);

#endif
