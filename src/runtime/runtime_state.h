/* What the runtime remembers: an engine, and the loop, store, links and agents it drives.
 * Private to src/runtime; everything belongs to the loop's thread, but what the inbox says. */
#ifndef ARCP_RUNTIME_RUNTIME_STATE_H
#define ARCP_RUNTIME_RUNTIME_STATE_H

#include <arcp/runtime.h>
#include <pthread.h>
#include <uv.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/turn_share.h"
#include "engine/engine.h"
#include "identity/identity.h"
#include "process/process.h"
#include "record/record.h"

/* One batch is being written while the next fills; a second one waits in the store so that
 * its writer is never idle. */
#define ARCP__BATCHES_MAX 2u

#define ARCP__COMMIT_BUCKETS 16u

typedef struct arcp__runtime_link arcp__runtime_link;
typedef struct arcp__agent_entry arcp__agent_entry;

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
    arcp_listener *listener;
} arcp__runtime_listener;

/* What can do a job: a callback of the program, or a process. `agent` is the job's user pointer,
 * which `start` sets; NULL: it could not be started, and none of the others is called. */
typedef struct arcp__agent_host_ops {
    /* Starts the job; `start` is the job.start line. Reports by agent_started and, in the
     * end, agent_exited to the engine, later or at once. */
    void (*start)(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span start);
    void (*line)(void *agent, arcp_span line);
    void (*cancel)(void *agent, arcp_span line);
    void (*kill)(void *agent);
    void (*pause)(void *agent, bool paused);
    /* The job is over and its pointer becomes invalid. */
    void (*forget)(void *agent);
} arcp__agent_host_ops;

extern const arcp__agent_host_ops arcp__agent_callback_host;
extern const arcp__agent_host_ops arcp__agent_process_host;

/* Of an agent of one name and version, also of what was registered as it before a reload. */
typedef struct arcp__running {
    size_t jobs;
    size_t refs; /* registrations */
} arcp__running;

/* The registration of an agent that is a program. */
typedef struct arcp__process_agent {
    arcp_runtime *runtime;
    arcp__arena arena;      /* what the spec points to, and the next two */
    const char *const *env; /* NULL-terminated */
    const char *cwd;        /* or NULL */
    bool stderr_in_errors;
    size_t max_jobs;
    arcp__running *running;   /* a reference */
    arcp__process_spec spec;  /* what all its processes have in common */
    arcp__process_pool *pool; /* NULL: none wait, or it is retired */
    arcp__environment warm_environment;
    arcp__process_spec warm_spec;
} arcp__process_agent;

/* What an agent was registered with; the engine hands it back when a job starts. Jobs refer to
 * it after a reload: a program's is kept as long as one of them does, a callback's as long as the
 * runtime. */
struct arcp__agent_entry {
    arcp__agent_entry *next;
    const arcp__agent_host_ops *ops;
    arcp_agent callback;         /* of a callback agent, without name and version */
    arcp__process_agent process; /* of a process agent */
    char *name, *version;        /* owned */
    bool is_used;                /* while the others are looked for */
};

/* Where the threads of blocking agents wait for calls, and what callback agents say waits for the
 * loop. */
typedef struct arcp__agent_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    arcp_agent_call *speaking; /* have messages; whose turn it is first */
    size_t bytes;              /* of all messages */
    arcp_agent_call *asking;   /* referenced; the oldest first */
    unsigned waiters;
    bool closed; /* no agent waits any more */

    pthread_cond_t has_work;
    arcp_agent_call *queued; /* for a thread; the oldest first */
    size_t queued_count;
    size_t idle; /* threads */

    /* The loop's thread only. */
    pthread_t *threads; /* owned array */
    size_t thread_count, threads_max;
    arcp__turn turn;
    arcp__turn_share share; /* of all agents together */
    bool is_resting;        /* that was used up */
} arcp__agent_inbox;

struct arcp_runtime {
    uv_loop_t *loop;
    arcp_runtime_options options; /* its callbacks; what it borrows is gone after the start */
    arcp__engine *engine;
    arcp__recorder *recorder; /* owned; NULL: nothing is recorded */
    arcp_store *store;
    arcp__authenticator *authenticator;
    arcp_provisioner *provisioner;  /* owned; NULL: none */
    arcp_provisioner_terms terms;   /* the provisioner's, as this release has them */
    struct arcp__seal *seal;        /* owned; there with a provisioner */
    arcp__process_table *processes; /* owned */
    size_t settings_agent_line_bytes;
    char *name, *version;     /* owned */
    arcp__random_pool random; /* for ids, and the engine's tokens */

    uv_prepare_t prepare; /* drives before the loop waits */
    uv_timer_t timer;     /* the engine's deadline */
    uv_async_t wake;      /* the store or an agent's thread has something */
    int open_handles;
    bool is_dirty; /* the engine was told something */
    bool is_driving;
    bool has_polled; /* the store was asked while it was fed, since the last round */
    bool is_told;    /* an agent that runs on the loop said something while driving */
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
    size_t starting_programs;                       /* of jobs */
    arcp__agent_inbox inbox;
    arcp_status restore_status;
    arcp_error restore_error;
    unsigned scans_under_way;

    void (*stopped)(void *user);
    void *stopped_user;
    bool is_stopping;
    arcp_buf text; /* NUL-terminated copy of a log line */

    bool has_failed; /* the engine has, and the log and the owner know it */
};

/* The time of an input of the engine, which is driven after it. */
static inline arcp_time arcp__input_now(arcp_runtime *runtime)
{
    runtime->is_dirty = true;
    return arcp__clock_now();
}

/* ---- runtime.c ---- */
/* Takes the entry over and offers it to sessions under its name. `cwd` may be NULL. */
arcp_status arcp__runtime_add_entry(arcp_runtime *runtime, arcp__agent_entry *entry,
                                    const char *name, const char *version, bool is_default,
                                    const char *cwd, arcp_error *err);

/* ---- runtime_drive.c ---- */
/* Does what the engine asks until it asks nothing. */
void arcp__runtime_drive(arcp_runtime *runtime);
/* Whether it is this thread that is driving: then the drive comes to what was just said, and
 * the loop need not be woken. Any thread. */
bool arcp__runtime_is_driven_here(const arcp_runtime *runtime);

/* ---- runtime_log.c ---- */
/* What it is about is a job (its id, agent, principal and so on are fields) or nothing (NULL). */
void arcp__runtime_log(arcp_runtime *runtime, const arcp__job *job, arcp_log_level level,
                       const char *format, ...) ARCP_PRINTF(4, 5);
/* A line of the engine: an effect, or what waits to be logged. */
void arcp__runtime_log_effect(arcp_runtime *runtime, const arcp__effect *effect);

/* ---- runtime_store.c ---- */
/* Reads the tables into the engine; runs the loop until that is done. */
arcp_status arcp__runtime_restore(arcp_runtime *runtime, arcp_error *err);
/* Hands full batches to the store; true when one went. */
bool arcp__runtime_submit_batches(arcp_runtime *runtime);
/* After an input, in a turn with many: a store with nothing to do gets what has gathered, when that
 * is worth it, and need not wait for the end of the turn. Performs no effect but lines of
 * the log. True when that took a while: it is later now. */
bool arcp__runtime_feed_store(arcp_runtime *runtime);

/* ---- runtime_credentials.c ---- */
/* Makes the runtime's provisioner ready, and what the engine is told of it. */
arcp_status arcp__runtime_provisioner_open(arcp_runtime *runtime, const char *key_file,
                                           arcp__credential_options *out, arcp_error *err);
void arcp__runtime_provision(arcp_runtime *runtime, uint64_t call_id);

/* ---- runtime_link.c ---- */
/* What strangers may take of the process, for connections from now on. */
arcp_status arcp__runtime_bound_connections(arcp_runtime *runtime, const arcp_settings *settings,
                                            arcp_error *err);
void arcp__runtime_links_flush(arcp_runtime *runtime);
/* Reads the link on, unless it rests or the engine takes none of its frames. */
void arcp__runtime_link_resume(const arcp__runtime_link *link);
/* A turn of the loop is over: who had its share of it goes on. */
void arcp__runtime_links_next_turn(arcp_runtime *runtime);
void arcp__runtime_links_free(arcp_runtime *runtime);

/* ---- agent_inbox.c ---- */
void arcp__agent_inbox_fini(arcp__agent_inbox *inbox);
/* Hands messages to the engine, a few of each agent in turn, until there are none or their share of
 * the turn is used up; the others come in the next, for which the loop is woken. True when somebody
 * asks for room: they are to be told once in a turn of the loop, so that who always has more to say
 * holds nobody up. */
bool arcp__agent_inbox_take(arcp_runtime *runtime);
/* Calls `drained` of all who asked for room and may go on. */
void arcp__agent_inbox_tell_all(arcp_runtime *runtime);
/* No agent waits any more: every wait ends with ARCP_E_CLOSED. Waits for the agents that run or
 * are queued, and ends the threads. */
void arcp__agent_threads_end(arcp_runtime *runtime);

/* ---- agent_process_host.c ---- */
/* Appends a line for each program and each job that waits for one, at most `lines_max`. */
void arcp__runtime_process_jobs_dump(const arcp_runtime *runtime, size_t lines_max, arcp_buf *out);
/* Kills what still runs. */
void arcp__runtime_process_jobs_free(arcp_runtime *runtime);

/* ---- agent_registration.c ---- */
/* Not while a process of it runs for a job. */
void arcp__process_agent_fini(arcp__process_agent *agent);

#endif
