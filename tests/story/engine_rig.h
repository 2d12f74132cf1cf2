/* The engine in memory: a fake clock, a store in the same process, clients and agents whose frames
 * and lines are kept until a test takes them. */
#ifndef ARCP_TESTS_ENGINE_RIG_H
#define ARCP_TESTS_ENGINE_RIG_H

#include <arcp/buf.h>

#include "engine/engine.h"
#include "story/rig_text.h"

#define RIG_CLIENTS_MAX 16
#define RIG_AGENTS_MAX  256

typedef struct rig_client {
    char name[16];
    arcp__link *link; /* NULL: not connected */
    rig_text *frames; /* received, oldest first */
    rig_text *newest;
    int close_code;    /* 0: open */
    bool slow;         /* does not read from its transport */
    bool paused;       /* the engine does not accept its frames */
    bool is_admitted;  /* its token was accepted */
    rig_text *waiting; /* sent while paused, oldest first */
    rig_text *last_waiting;
    size_t unsent;
} rig_client;

typedef struct rig_agent {
    arcp__job *job;
    char job_id[64];
    char agent[64];
    rig_text *lines; /* for the agent, oldest first */
    rig_text *newest;
    bool cancelled, killed, paused, forgotten;
    bool starting;                             /* its start has not been reported yet */
    bool killed_at_once;                       /* the last kill was without SIGTERM */
    arcp_status revoked;                       /* why; ARCP_OK: it was not */
    unsigned cancels, kills, forgets, revokes; /* number of effects of each kind */
} rig_agent;

typedef struct engine_rig engine_rig;
struct engine_rig {
    arcp__engine *engine;
    arcp_store *store;
    arcp_time now;
    uint64_t random_state;
    arcp_settings settings;
    rig_client clients[RIG_CLIENTS_MAX];
    rig_agent agents[RIG_AGENTS_MAX];
    size_t agent_count;
    bool keep_store;         /* across a restart */
    bool hold_store;         /* batches are submitted but not completed */
    bool fail_store;         /* batches fail */
    bool has_no_memory;      /* the engine could not be started because memory ran out */
    arcp_error *refusal;     /* receives the error of a store that cannot be restored; NULL: fail */
    bool fail_start;         /* agents cannot be started */
    bool hold_start;         /* starts are reported by rig_agent_started */
    bool has_unknown_origin; /* tokens are of a verifier that cannot be asked */
    int64_t token_expires_wall_ns; /* of all tokens; 0: never */
    bool keeps_keys_unchecked;     /* a restart does not check the keys of browsers */
    /* With is_stepping, rig_run returns after effects_left effects. */
    bool is_stepping;
    size_t effects_left;
    size_t batches_max; /* in flight at a time; 0: no limit */
    size_t batches_under_way;
    /* When this many changes have gathered, a batch is submitted and completed batches are
     * processed between two effects, as src/runtime does; 0: only after all effects. */
    size_t feeds_at;
    bool was_fed;
    void (*on_effect)(void *user, const arcp__effect *effect); /* before it is carried out */
    void *on_effect_user;
    void (*recover)(void *user); /* restarts a failed engine; gets on_effect_user */
    unsigned scans;
    struct {
        char client[64], principal[64], name[16];
    } profiles[8]; /* given to each new engine */
    size_t profile_count;
    bool hold_questions; /* the test answers authentication requests itself */
    uint64_t questions[8];
    size_t question_count;
    char *policies[8]; /* rows as JSON, given to each new engine */
    size_t policy_count;
    const arcp__schedule_options *schedules; /* given to each new engine */
    size_t schedule_count;
    const arcp__hook_options *hooks; /* given to each new engine */
    size_t hook_count;
    void (*deliver)(engine_rig *rig, const arcp__effect *effect); /* NOTIFY; may be NULL */
    bool keep_audit;
    rig_text *audit_records; /* with keep_audit: all records, oldest first */
    rig_text *newest_audit;
    size_t audits;
    char last_audit[8192];
    char last_fields[1024]; /* of the line passed to `logged` */
    bool makes_spans;
    bool has_no_log;
    rig_text *spans; /* all spans, oldest first */
    rig_text *newest_span;
    void (*logged)(engine_rig *rig, arcp__log_level level, arcp_span text); /* may be NULL */

    /* Changes the options of each new engine; may be NULL. */
    void (*prepare)(void *user, arcp__engine_options *options);
    void *prepare_user;
    void (*stored)(engine_rig *rig, const arcp_store_op *op); /* may be NULL */

    /* A provisioner, if a test provides one. */
    arcp__credential_options credentials;
    void *upstream;
    void (*provision)(engine_rig *rig, uint64_t call_id);
    bool (*answer)(engine_rig *rig); /* delivers one answer; false: there is none */
    arcp__link_options link;         /* of the next clients; user is filled in */
    bool is_anonymous;               /* authenticated principals are anonymous */
    bool is_volatile;                /* the store declares that it is not durable */
    size_t max_jobs;                 /* of each agent */
    bool refuses;                    /* agents refuse jobs beyond max_jobs */
    bool lacks_echo;                 /* the agent echo is not registered */
    const char *worker;              /* that runs all agents; NULL: none */

    /* Every effect, batch, commit and reply is a step. The process is killed before the fuse-th
     * step, and does nothing until rig_restart. 0: it is never killed. */
    unsigned fuse;
    bool is_dead;
};

/* Starts with a memory store, agents "echo", "work@1.0.0", "work@2.0.0" (1.0.0 is the
 * default), token t-NAME for principal NAME, at 2026-01-01T00:00:00Z. */
void rig_start(engine_rig *rig, const arcp_settings *settings);
/* The same in two steps, for tests that set more in between, such as a store of their own, which
 * rig_stop closes. */
void rig_begin(engine_rig *rig, const arcp_settings *settings);
void rig_open(engine_rig *rig);
void rig_stop(engine_rig *rig);
/* Discards the engine, as kill -9 would, and restores a new one from the same store. */
void rig_restart(engine_rig *rig);

/* Registers the agents again, as a reload of the configuration does. */
void rig_reload(engine_rig *rig);
/* Tells the engine whether what the keys of browsers stand for is valid. */
void rig_check_page_keys(engine_rig *rig, bool is_valid);

/* A rule of peer_profiles, also for the engine of every restart. */
void rig_profile(engine_rig *rig, const char *client, const char *principal, const char *name);

/* A row of `policy:` as JSON: principal, agent, max_lease, max_budget, max_lifetime_sec, and
 * spend (a lease); also for the engine of every restart. */
void rig_policy(engine_rig *rig, const char *row);

/* Replaces the schedules, which are borrowed: also for the engine of every restart. */
void rig_schedules(engine_rig *rig, const arcp__schedule_options *options, size_t count);

/* Replaces the hooks, which are borrowed: also for the engine of every restart. */
void rig_hooks(engine_rig *rig, const arcp__hook_options *options, size_t count);

/* Carries out effects, batches and reads until nothing happens. */
void rig_run(engine_rig *rig);
void rig_clock(engine_rig *rig, int64_t forward_ns);

rig_client *rig_connect(engine_rig *rig, const char *name);
rig_client *rig_find(engine_rig *rig, const char *name);
/* While the link is paused, the frame waits and is delivered later. */
void rig_send(engine_rig *rig, rig_client *client, const char *frame);
/* The same, without carrying out effects. */
void rig_receive(engine_rig *rig, rig_client *client, const char *frame);
/* The engine accepts the client's frames again. */
void rig_resume(engine_rig *rig, rig_client *client);
/* The client has sent its last frame, but still reads. */
void rig_input_over(engine_rig *rig, rig_client *client);
void rig_drop(engine_rig *rig, rig_client *client);
/* A slow client reads one frame from its transport; NULL when there is none. */
char *rig_read(engine_rig *rig, rig_client *client);
/* A slow client has read this frame, so its transport has room for more. */
void rig_drained(engine_rig *rig, rig_client *client, const char *frame);
/* Takes the oldest frame; NULL when there is none. The caller frees it with arcp_free. */
char *rig_take(rig_client *client);

/* The agent of a job, or NULL when it was not started. */
rig_agent *rig_agent_of(engine_rig *rig, const char *job_id);
/* The newest running agent. */
rig_agent *rig_agent_last(engine_rig *rig);
/* Reports the start of an agent (see hold_start). */
void rig_agent_started(engine_rig *rig, rig_agent *agent);
void rig_agent_writes(engine_rig *rig, rig_agent *agent, const char *line);
char *rig_agent_take(rig_agent *agent);
void rig_agent_exits(engine_rig *rig, rig_agent *agent, bool by_signal, int code);

#endif
