/* An engine in memory: a fake clock, a store in the same process, clients and agents whose
 * frames and lines are kept until a test asks for them. */
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
    bool slow;         /* takes nothing from its transport */
    bool paused;       /* the engine takes none of its frames */
    bool is_admitted;  /* its peer is known */
    rig_text *waiting; /* sent by it meanwhile, oldest first */
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
    bool starting;                    /* its start was not reported yet */
    unsigned cancels, kills, forgets; /* how often it was told */
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
    bool keep_store;     /* over a restart */
    bool hold_store;     /* batches are submitted but not completed */
    bool fail_store;     /* batches fail */
    bool has_no_memory;  /* the engine could not be started for want of it */
    arcp_error *refusal; /* NULL: a store that is not taken up fails the test */
    bool fail_start;     /* agents cannot be started */
    bool hold_start;     /* starts are reported by rig_agent_started */
    /* With is_stepping, rig_run returns after so many effects, whatever is left. */
    bool is_stepping;
    size_t effects_left;
    size_t batches_max; /* under way at a time; 0: as many as there are */
    size_t batches_under_way;
    /* So many changes are submitted, and what was committed is taken, in the middle of other
     * things, as src/runtime does it; 0: only when all effects are done. */
    size_t feeds_at;
    bool was_fed;
    void (*on_effect)(void *user, const arcp__effect *effect); /* before it is done */
    void *on_effect_user;
    void (*recover)(void *user); /* starts a failed engine again; the same user */
    unsigned scans;
    struct {
        char client[64], principal[64], name[16];
    } profiles[8]; /* given to each new engine */
    size_t profile_count;
    bool hold_questions; /* about tokens: the test answers */
    uint64_t questions[8];
    size_t question_count;
    char *policies[8]; /* rows as JSON; likewise */
    size_t policy_count;
    bool keep_audit;
    rig_text *audit_records; /* with keep_audit, all of them, oldest first */
    rig_text *newest_audit;
    size_t audits;
    char last_audit[8192];
    char last_fields[1024]; /* of the line that `logged` is told of */
    bool makes_spans;
    bool has_no_log;
    rig_text *spans; /* all of them, oldest first */
    rig_text *newest_span;
    void (*logged)(engine_rig *rig, arcp__log_level level, arcp_span text); /* may be NULL */

    void (*stored)(engine_rig *rig, const arcp_store_op *op); /* likewise */

    /* A provisioner, where a test brings one. */
    arcp__credential_options credentials;
    void *upstream;
    void (*provision)(engine_rig *rig, uint64_t call_id);
    bool (*answer)(engine_rig *rig); /* delivers one answer; false: there is none */
    arcp__link_options link;         /* of the next clients; user is filled in */
    bool is_anonymous;               /* so are sessions that are authenticated */
    bool is_volatile;                /* the store says that it is not durable */

    /* Every effect, batch, commit and answer is a step; at the fuse's end the process is dead
     * before that step, until rig_restart. 0: it lives. */
    unsigned fuse;
    bool is_dead;
};

/* Starts with a memory store, agents "echo", "work@1.0.0", "work@2.0.0" (1.0.0 is the
 * default), token t-NAME for principal NAME, at 2026-01-01T00:00:00Z. */
void rig_start(engine_rig *rig, const arcp_settings *settings);
/* The same in two steps, for tests that bring more: a store of theirs, which rig_stop closes. */
void rig_begin(engine_rig *rig, const arcp_settings *settings);
void rig_open(engine_rig *rig);
void rig_stop(engine_rig *rig);
/* The engine is thrown away as by kill -9 and a new one takes up the same store. */
void rig_restart(engine_rig *rig);

/* A rule of peer_profiles, also for the engine of every restart. */
void rig_profile(engine_rig *rig, const char *client, const char *principal, const char *name);

/* A row of `policy:` as JSON: principal, agent, max_lease, max_budget, max_lifetime_sec; also
 * for the engine of every restart. */
void rig_policy(engine_rig *rig, const char *row);

/* Carries out effects, batches and reads until nothing happens. */
void rig_run(engine_rig *rig);
void rig_clock(engine_rig *rig, int64_t forward_ns);

rig_client *rig_connect(engine_rig *rig, const char *name);
rig_client *rig_find(engine_rig *rig, const char *name);
/* What the engine does not take yet arrives when it does. */
void rig_send(engine_rig *rig, rig_client *client, const char *frame);
/* The same, and nothing is carried out yet. */
void rig_receive(engine_rig *rig, rig_client *client, const char *frame);
/* The engine takes the client's frames again. */
void rig_resume(engine_rig *rig, rig_client *client);
/* The client sends nothing more, and still reads. */
void rig_input_over(engine_rig *rig, rig_client *client);
void rig_drop(engine_rig *rig, rig_client *client);
/* The client of a slow connection takes one frame out of its transport; NULL for none. */
char *rig_read(engine_rig *rig, rig_client *client);
/* The slow client has read this frame: there is room for more. */
void rig_drained(engine_rig *rig, rig_client *client, const char *frame);
/* The oldest frame not taken yet, NULL for none; the caller frees it with arcp_free. */
char *rig_take(rig_client *client);

/* The agent of a job, NULL when it was not started. */
rig_agent *rig_agent_of(engine_rig *rig, const char *job_id);
/* The newest one that runs. */
rig_agent *rig_agent_last(engine_rig *rig);
/* Reports the start of an agent that was held back. */
void rig_agent_started(engine_rig *rig, rig_agent *agent);
void rig_agent_says(engine_rig *rig, rig_agent *agent, const char *line);
char *rig_agent_take(rig_agent *agent);
void rig_agent_exits(engine_rig *rig, rig_agent *agent, bool by_signal, int code);

#endif
