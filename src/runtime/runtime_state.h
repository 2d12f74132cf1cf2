/* The state of a runtime. What there is once, on its loop, is the host: agents and their programs,
 * the authenticator, listeners, the provisioner, links to workers. What there may be many of is a
 * shard: an engine with its store. Private to src/runtime. Everything belongs to the loop's thread,
 * except where the inbox says otherwise. */
#ifndef ARCP_RUNTIME_RUNTIME_STATE_H
#define ARCP_RUNTIME_RUNTIME_STATE_H

#include <arcp/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/timer_heap.h"
#include "base/turn_share.h"
#include "door/door.h"
#include "engine/engine.h"
#include "hosting/confinement.h"
#include "hosting/hosting.h"
#include "identity/identity.h"
#include "record/record.h"
#include "runtime/runtime_hook.h"
#include "runtime/runtime_owner.h"
#include "runtime/runtime_setup.h"
#include "worker/worker_program.h"

/* Batches in the store at a time: one is written, and one waits so that the writer is never idle.
 * The engine fills the next. */
#define ARCP__BATCHES_MAX 2u

#define ARCP__COMMIT_BUCKETS 16u

typedef struct arcp__shard arcp__shard;
typedef struct arcp__runtime_link arcp__runtime_link;
typedef struct arcp__agent_entry arcp__agent_entry;

/* An engine, and its store. */
struct arcp__shard {
    arcp_runtime *runtime;
    arcp__engine *engine;
    arcp_store *store; /* owned; NULL: of the door */
    arcp__shard *previous_dirty, *next_dirty, *previous_driven, *next_driven;
    bool is_dirty;        /* in runtime->dirty: the engine got an input and must be driven */
    bool is_driven;       /* in runtime->driven */
    atomic_bool is_woken; /* in runtime->woken: its store has something to tell */
    arcp__shard *next_woken;
    bool has_polled;      /* arcp__shard_feed_store has polled the store in this round */
    arcp__timer deadline; /* the engine's, in runtime->deadlines */
    unsigned batches_under_way;
    int64_t submitted_ns[ARCP__BATCHES_MAX]; /* of these batches, oldest first */
    arcp_status restore_status;
    arcp_error restore_error;
    unsigned scans_under_way;
};

/* One served connection. */
struct arcp__runtime_link {
    arcp_runtime *runtime;
    arcp__shard *shard;
    arcp__runtime_link *previous, *next;
    arcp_connection *connection;
    arcp__link *link;               /* the shard's; NULL after it was disconnected */
    void (*input_over)(void *user); /* the owner's callbacks; both may be NULL */
    void (*closed)(void *user);
    void *user;
    arcp__runtime_link *previous_touched, *next_touched; /* links to flush */
    arcp__runtime_link *previous_resting, *next_resting; /* links to read in the next turn */
    arcp__turn_share share;
    bool is_welcome; /* it was admitted: authentication succeeded */
    bool is_touched;
    bool is_resting; /* it has used its share of this turn */
    bool is_refused; /* the engine does not accept its frames for now */
};

typedef struct arcp__runtime_listener {
    struct arcp__runtime_listener *next;
    arcp_listener *listener;
} arcp__runtime_listener;

/* The two kinds of agents: a callback of the program, or a process. `agent` is the job's user
 * pointer, which `start` sets. If it is NULL, the agent could not be started and no other operation
 * is called. */
typedef struct arcp__agent_host_ops {
    /* Starts the job; `start` is the job.start line. Reports to the engine with agent_started and
     * at the end with agent_exited, during the call or later. */
    void (*start)(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span start);
    /* `at` and `item` are for a host that numbers (log/log.h). */
    void (*line)(void *agent, uint64_t at, uint64_t item, arcp_span line);
    void (*cancel)(void *agent, uint64_t at, uint64_t item, arcp_span line);
    void (*kill)(void *agent, bool at_once); /* at_once: without SIGTERM before */
    void (*pause)(void *agent, bool paused);
    /* Its lease grants nothing any more, though the job goes on. NULL: only the gate denies. */
    void (*revoke)(void *agent, arcp_status code);
    /* The hold of a call through a gateway is durable. NULL: nothing is held. */
    void (*hold_stored)(void *agent, arcp_span call_id);
    /* The job is about to end (arcp__agent_hosts.settle). NULL: nothing is done for it elsewhere.
     */
    void (*settle)(void *agent, const arcp__settle_sink *sink);
    /* What it uses (arcp__agent_hosts.usage). NULL: unknown. */
    void (*usage)(void *agent, arcp__agent_usage *out);
    /* The job has ended and its pointer becomes invalid. */
    void (*forget)(void *agent);
} arcp__agent_host_ops;

extern const arcp__agent_host_ops arcp__agent_callback_host;
extern const arcp__agent_host_ops arcp__agent_worker_host;

/* What a remote worker says about the sandboxes of an agent that it offers. */
typedef struct arcp__remote_sandbox {
    bool is_confined, is_late, is_shared, terminates_tls;
    arcp__sandbox_abilities abilities;
} arcp__remote_sandbox;

/* A registered agent; the engine passes it back when a job starts. Jobs refer to it even after a
 * reload: that of a process agent is kept as long as a job does, that of a callback agent as long
 * as the runtime. */
struct arcp__agent_entry {
    arcp__agent_entry *next;
    arcp_runtime *runtime;
    const arcp__agent_host_ops *ops;
    arcp_agent callback;         /* callback agents; name and version are NULL */
    arcp__process_agent process; /* process agents; without a hosting: a callback */
    size_t max_jobs;             /* of a process agent; 0: no limit of its own */
    bool without_queue;
    arcp_buf row;         /* for the worker of this machine; secret; empty: that does not host it */
    char *name, *version; /* owned */
    char worker[ARCP__WORKER_NAME_SIZE]; /* the remote worker that offers it; "": it is ours */
    arcp__remote_sandbox remote;         /* there, as the worker says */
    bool is_offered;                     /* for new jobs: it was neither removed nor replaced */
    bool is_used;                        /* temporary mark of arcp_runtime_clear_agents */
};

/* The queue of calls for the threads of blocking agents, and the messages of callback agents for
 * the loop. */
typedef struct arcp__agent_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    arcp_agent_call *speaking;      /* calls with messages; the next one to serve is first */
    size_t bytes;                   /* of all messages */
    arcp_agent_call *awaiting_room; /* referenced; oldest first */
    unsigned waiters;
    bool closed; /* the runtime is stopping: waits return at once */

    pthread_cond_t has_work;
    arcp_agent_call *queued; /* for a thread; oldest first */
    size_t queued_count;
    size_t idle; /* threads */

    /* Used on the loop's thread only. */
    pthread_t *threads; /* owned array */
    size_t thread_count, threads_max;
    arcp__turn turn;
    arcp__turn_share share; /* of all agents together */
    bool is_resting;        /* the share was used up */
} arcp__agent_inbox;

struct arcp_runtime {
    uv_loop_t *loop;
    arcp_runtime_options options; /* only its callbacks are used after creation */
    arcp__shard *shards;          /* owned array */
    size_t shard_count;
    bool has_door;            /* which comes after the shards: shards[shard_count] (door/door.h) */
    arcp__recorder *recorder; /* owned; NULL: nothing is recorded */
    bool recorder_failure_logged;
    arcp__authenticator *authenticator;
    arcp_provisioner *provisioner; /* owned; NULL: none */
    arcp_provisioner_terms terms;  /* of the provisioner, completed for this release */
    struct arcp__seal *seal;       /* owned; NULL without a provisioner */
    arcp__hosting hosting;         /* of process agents; the process table is ours, too */
    struct arcp__gateway *gateway; /* owned; NULL: none is configured */
    struct arcp__agent_gateway *worker_gateways; /* owned; of jobs on workers */
    char *name, *version;                        /* owned */
    arcp__random_pool random;                    /* for ids, and the engine's tokens */

    uv_prepare_t prepare; /* drives the shards before the loop waits */
    uv_timer_t timer;     /* the earliest deadline of an engine */
    uv_async_t wake;      /* sent by stores and by agents' threads */
    int open_handles;
    const char *local_operator; /* static; see runtime_owner.h */
    bool roles_are_due;         /* the verifiers were replaced: sessions with a role must resume */
    arcp__deliver_fn deliver;   /* NULL: notifications wait */
    void *deliver_user;
    arcp__runtime_asked_fn asked; /* NULL: what operators ask of the owner is refused */
    void *asked_user;
    bool is_dirty;              /* there is something to do for the host, or a shard is dirty */
    arcp__shard *dirty;         /* to be driven; oldest first */
    arcp__shard *driven;        /* by the drive that is under way */
    arcp__shard *current;       /* of these, the one at the moment; NULL: none */
    arcp__timer_heap deadlines; /* of all shards; of some never */
    int64_t clocks_checked_ns;
    _Atomic(arcp__shard *) woken; /* any thread adds to it */
    bool is_driving;
    bool has_agent_messages; /* an agent on the loop's thread put a message while driving */
    struct {
        uint64_t counts[ARCP__COMMIT_BUCKETS];
        uint64_t sum_ns;
    } commits;
    uint64_t batches;
    /* Of all shards, if there are several. */
    size_t sessions;
    arcp__place_share places;
    size_t first_to_place; /* the shard that gets a place that has become free, if it needs one */

    arcp__runtime_link *links;
    arcp__runtime_link *touched;
    arcp__runtime_link *resting; /* longest resting first */
    size_t resting_count;
    arcp__turn turn; /* of the loop */
    arcp__runtime_listener *listeners;
    arcp_admission *admission; /* a reference; of all listeners */
    arcp__agent_entry *agents;
    bool has_withdrawn_agents;   /* some may be offered no longer; served processes of those end */
    arcp__worker_queue programs; /* of process agents */
    struct arcp__local_worker *worker;       /* owned; NULL: there is none on this machine */
    struct arcp__worker_links *worker_links; /* owned; NULL: all programs are ours */
    const arcp__agent_host_ops *worker_host; /* of jobs on workers, whatever their entries have */
    /* The runtime stops, and workers go on with their jobs: tells them that, and a little later
     * closes all connections that are still open. To be called until it is true: the links to
     * workers are closed. */
    bool (*leave_workers)(struct arcp__worker_links *links);
    struct {
        uint64_t keep_sec, grace_sec, frame_bytes;
    } workers;         /* settings */
    char store_id[27]; /* "": it has none, or it is not known yet */
    bool store_id_is_stored;
    arcp__agent_inbox inbox;

    void (*stopped)(void *user);
    void *stopped_user;
    bool is_stopping;
    arcp_buf text; /* NUL-terminated copy of a log line */

    bool has_failed; /* an engine has failed */
    bool is_fenced;  /* because another process owns a store */
    bool failure_reported;
};

/* For loops over all shards. */
static inline arcp__shard *arcp__shards_end(const arcp_runtime *runtime)
{
    return runtime->shards + runtime->shard_count;
}

/* The same with the door. */
static inline arcp__shard *arcp__engines_end(const arcp_runtime *runtime)
{
    return arcp__shards_end(runtime) + (runtime->has_door ? 1 : 0);
}

/* The shard of a link whose peer is not known yet: the door, or the only shard. */
static inline arcp__shard *arcp__front_of(const arcp_runtime *runtime)
{
    return runtime->has_door ? arcp__shards_end(runtime) : runtime->shards;
}

/* An id that leaves a shard names the shard, too. With one shard it is that of the engine. */
static inline uint64_t arcp__shard_outer_id(const arcp__shard *shard, uint64_t id)
{
    const arcp_runtime *runtime = shard->runtime;
    return id * runtime->shard_count + (uint64_t)(shard - runtime->shards);
}

static inline arcp__shard *arcp__shard_of_id(const arcp_runtime *runtime, uint64_t outer_id)
{
    return &runtime->shards[outer_id % runtime->shard_count];
}

static inline uint64_t arcp__inner_id(const arcp_runtime *runtime, uint64_t outer_id)
{
    return outer_id / runtime->shard_count;
}

/* The shard of a job that has an agent. */
static inline arcp__shard *arcp__shard_of(const arcp__job *job)
{
    return job->live->owner;
}

static inline arcp__engine *arcp__engine_of(const arcp__job *job)
{
    return arcp__shard_of(job)->engine;
}

/* Marks the shard to be driven. */
static inline void arcp__shard_touch(arcp__shard *shard)
{
    arcp_runtime *runtime = shard->runtime;
    if (!shard->is_dirty) {
        shard->is_dirty = true;
        DL_APPEND2(runtime->dirty, shard, previous_dirty, next_dirty);
    }
    runtime->is_dirty = true;
}

/* Returns the time for an input to the engine, and marks the shard to be driven. */
static inline arcp_time arcp__input_now(arcp__shard *shard)
{
    arcp__shard_touch(shard);
    return arcp__clock_now();
}

/* The same for an input about the job. */
static inline arcp_time arcp__input_of(const arcp__job *job)
{
    return arcp__input_now(arcp__shard_of(job));
}

/* ---- runtime.c ---- */
/* Takes ownership of the entry and registers the agent. `cwd` may be NULL. */
arcp_status arcp__runtime_add_entry(arcp_runtime *runtime, arcp__agent_entry *entry,
                                    const char *name, const char *version, bool is_default,
                                    const char *cwd, arcp_error *err);

/* ---- runtime_drive.c ---- */
/* Performs the engines' effects until there are none, or for a bounded number of rounds. */
void arcp__runtime_drive(arcp_runtime *runtime);
/* Whether this thread is driving the runtime. If so, the drive will notice new input and the loop
 * need not be woken. Any thread. */
bool arcp__runtime_is_driven_here(const arcp_runtime *runtime);

/* ---- runtime_log.c ---- */
/* Logs a line. If `job` is not NULL, its id, agent, principal and so on become fields of the line.
 */
void arcp__runtime_log(arcp_runtime *runtime, const arcp__job *job, arcp_log_level level,
                       const char *format, ...) ARCP_PRINTF(4, 5);
/* Fills in what the hosting needs before anything is called. */
void arcp__runtime_init_hosting(arcp_runtime *runtime);
/* Logs a line of the engine. */
void arcp__runtime_log_effect(arcp_runtime *runtime, const arcp__effect *effect);

/* ---- runtime_hook.c ---- */
void arcp__shard_notify(arcp__shard *shard, const arcp__effect *effect);

/* ---- runtime_owner.c ---- */
void arcp__shard_ask_owner(arcp__shard *shard, const arcp__effect *effect);
/* Ends the codes and keys of browsers that stand for what the verifiers do not accept any more. */
void arcp__runtime_check_page_keys(arcp_runtime *runtime);

/* ---- shard.c ---- */
/* Makes the shards, each with its store, which it owns from now on. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__shards_new(arcp_runtime *runtime, arcp_store *const *stores,
                                             size_t count, arcp_error *err);
/* Closes their stores, and then frees their engines. */
void arcp__shards_free(arcp_runtime *runtime);
/* Makes their engines. */
ARCP_MUST_CHECK arcp_status arcp__shards_open(arcp_runtime *runtime,
                                              const arcp__engine_options *options, arcp_error *err);
/* The settings of a shard: its part of the limits of all, and no answer that tells of others. */
void arcp__shard_settings(const arcp_runtime *runtime, const arcp_settings *all,
                          arcp_settings *out);
/* The shard of a principal. */
arcp__shard *arcp__shard_of_principal(const arcp_runtime *runtime, arcp_span principal);
/* A refusal of a peer before it has a session. */
void arcp__runtime_refused(arcp_runtime *runtime, const arcp__refusal *refusal, const char *why);
/* Adds a policy to all shards. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__shards_add_policy(arcp_runtime *runtime,
                                                    const arcp__policy *policy, arcp_error *err);
/* Registers an agent with all shards. */
ARCP_MUST_CHECK arcp_status arcp__shards_register(arcp_runtime *runtime,
                                                  const arcp__agent_registration *agent,
                                                  arcp_error *err);
/* Places of agents have become free, for jobs that wait in other shards. */
void arcp__shards_share_places(arcp_runtime *runtime);
/* Jobs of a worker may be in any shard: reports to all of them. */
void arcp__shards_of_worker(arcp_runtime *runtime, arcp__worker_life life,
                            void (*report)(arcp__engine *engine, arcp_time now,
                                           arcp__worker_life life));
ARCP_MUST_CHECK arcp_status arcp__shards_set_worker_directory(arcp_runtime *runtime,
                                                              arcp_span directory, arcp_error *err);
/* Whether all have reached that point of a stop. */
bool arcp__shards_leave_workers(const arcp_runtime *runtime);
bool arcp__shards_are_finished(const arcp_runtime *runtime);
/* Whether one has. */
bool arcp__shards_have_lost_store(const arcp_runtime *runtime);

/* ---- runtime_metrics.c ---- */
/* Notes how long a batch took until it was durable. */
void arcp__runtime_count_commit(arcp_runtime *runtime, int64_t took_ns);

/* ---- shard_store.c ---- */
/* Takes what the stores have to tell that have woken the loop. */
void arcp__shards_take_woken(arcp_runtime *runtime);
/* Reads the tables into the engine; runs the loop until that is done. */
ARCP_MUST_CHECK arcp_status arcp__shard_restore(arcp__shard *shard, arcp_error *err);
/* Makes the id of the store, unless it has one; runs the loop until that is durable. */
ARCP_MUST_CHECK arcp_status arcp__runtime_find_store_id(arcp_runtime *runtime, arcp_error *err);
/* Submits batches to the store. True if there was one. */
bool arcp__shard_submit_batches(arcp__shard *shard);
/* Called after an input, of which there may be many in a turn: if the store is idle and enough
 * changes have gathered, submits them without waiting for the end of the turn. Performs no effects
 * except log lines. True if this took time, so that the caller should read the clock again. */
bool arcp__shard_feed_store(arcp__shard *shard);

/* ---- runtime_door.c ---- */
/* The result of an AUTHENTICATE effect: at a door a link with a valid token leaves. */
void arcp__runtime_authenticated(arcp_runtime *runtime, uint64_t auth_id,
                                 const arcp__authentication *result);
/* An AUTHENTICATE effect of the door with a token of a browser. False: it is none. */
bool arcp__runtime_authenticate_page(arcp_runtime *runtime, const arcp__effect *effect);

/* ---- runtime_credentials.c ---- */
/* Prepares the runtime's provisioner and fills in the engine's options for it. */
arcp_status arcp__runtime_provisioner_open(arcp_runtime *runtime, const char *key_file,
                                           arcp__credential_options *out, arcp_error *err);
void arcp__shard_provision(arcp__shard *shard, uint64_t call_id);

/* ---- runtime_link.c ---- */
/* Applies the limits for connections, in particular unauthenticated ones. */
arcp_status arcp__runtime_bound_connections(arcp_runtime *runtime, const arcp_settings *settings,
                                            arcp_error *err);
void arcp__runtime_links_flush(arcp_runtime *runtime);
/* Continues to read the link, unless it rests or the engine does not accept its frames. */
static inline void arcp__runtime_link_resume(const arcp__runtime_link *link)
{
    if (!link->is_resting && !link->is_refused) {
        link->connection->ops->resume(link->connection);
    }
}
/* Begins a new turn of the loop, in which resting links are read again. */
void arcp__runtime_links_next_turn(arcp_runtime *runtime);
void arcp__runtime_links_free(arcp_runtime *runtime);

/* ---- agent_inbox.c ---- */
void arcp__agent_inbox_fini(arcp__agent_inbox *inbox);
/* Passes messages to the engine, a few of each agent in turn, until there are none or their share
 * of the turn is used up; then the loop is woken for the next turn. True if calls await room: these
 * are notified once per turn of the loop, so that an agent that always sends more does not delay
 * the loop. */
bool arcp__agent_inbox_take(arcp_runtime *runtime);
/* Calls `drained` of all agents that awaited room and may send again. */
void arcp__agent_inbox_notify(arcp_runtime *runtime);
/* Ends all waits of agents with ARCP_E_CLOSED, waits for the running and queued agents, and joins
 * the threads. */
void arcp__agent_threads_end(arcp_runtime *runtime);

/* ---- runtime_look.c ---- */
/* Functions of arcp__agent_hosts. */
void arcp__runtime_usage(void *user, arcp__job *job, arcp__agent_usage *out);
uint64_t arcp__runtime_memory_bytes(void *user);
const char *arcp__runtime_enforcement(void *user);

/* ---- worker_host.c ---- */
/* Kills running programs and frees all of them. */
void arcp__runtime_programs_free(arcp_runtime *runtime);

/* Registers an entry that was withdrawn, and has not changed, again. */
arcp_status arcp__runtime_offer_again(arcp_runtime *runtime, arcp__agent_entry *entry,
                                      bool is_default, arcp_error *err);
/* Ends the served processes of agents that are not offered any more, when their jobs have ended. */
void arcp__runtime_retire_agents(arcp_runtime *runtime);

/* ---- worker_links.c ---- */
/* Closes all links to workers, and the socket of the local one; the workers go on. */
void arcp__worker_links_close(arcp_runtime *runtime);

/* The host of a job, whose agent has been started. */
static inline const arcp__agent_host_ops *arcp__host_of(const arcp_runtime *runtime,
                                                        const arcp__job *job)
{
    return job->live->numbers != NULL ? runtime->worker_host
                                      : ((const arcp__agent_entry *)job->live->host)->ops;
}

/* ---- confinement_admit.c ---- */
/* The engine's questions about sandboxes; `user` is the runtime. */
arcp__agent_hosts arcp__confinement_hosts(arcp_runtime *runtime);

/* ---- confinement_record.c ---- */
/* A record of the sandbox of a job; its number, or 0. */
void arcp__confinement_record(arcp_runtime *runtime, arcp__job *job, uint64_t item,
                              arcp_span record);
/* What the network of a job's sandbox was denied. */
void arcp__confinement_denied(arcp_runtime *runtime, arcp__job *job,
                              const arcp__network_denial *denial);

/* ---- confinement_status.c ---- */
void arcp__confinement_write_metrics(const arcp_runtime *runtime, arcp_buf *out);

#endif
