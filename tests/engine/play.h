/* Plays on an engine: bytes choose what clients, agents, the clock and the store do next. The bytes
 * are a fuzzer's input or a seeded generator's; watch.h checks the frames, disk.h tracks what would
 * survive a crash.
 *
 * A seed also chooses a temper: which limits are tight, how often the store stalls or fails, how
 * often peers go silent. Each seed then stresses a few weaknesses instead of all of them a
 * little. */
#ifndef ARCP_TESTS_ENGINE_PLAY_H
#define ARCP_TESTS_ENGINE_PLAY_H

#include "engine/disk.h"
#include "engine/upstream.h"
#include "engine/watch.h"
#include "story/engine_rig.h"

#define PLAY_CLIENTS 6
#define PLAY_BOB     4 /* clients from here on are bob's, the others alice's */

/* How a seed plays; all false for a fuzzer's bytes. */
typedef struct play_temper {
    bool stalls;     /* the store is held, written and reported batch by batch */
    bool fails;      /* it fails now and then */
    bool steps;      /* inputs come between any two effects */
    bool crashes;    /* restarts, at any effect and batch */
    bool silent;     /* peers with half-open connections */
    bool slow;       /* clients that do not read */
    bool bulky;      /* agents that write a lot at once */
    bool jumps;      /* the wall clock goes anywhere */
    bool stops;      /* orderly shutdowns */
    bool starting;   /* agents that start late, or fail to start */
    bool forgets;    /* few ended jobs are kept, and few keys of removed ones */
    bool leaves;     /* clients that end their input and still read */
    bool feeds;      /* the store gets the open batch before all effects are done */
    bool provisions; /* jobs get credentials from an upstream */
    bool confines;   /* hosts confine agents, and refuse jobs */
    bool queues;     /* agents with max_jobs, and reloads */
    bool purses;     /* principals have purses, and jobs call through gateways */
    bool hooks;      /* hooks, receivers that fail, and reloads of them */
} play_temper;

/* What the play knows of an agent in addition to the rig. */
typedef struct play_agent {
    bool is_callback;  /* in this process: it asks the gate itself */
    bool may_spend;    /* the gate allowed what it is about to spend */
    const void *root;  /* the budget at the top of its tree */
    unsigned tree_max; /* the most jobs that ran in that tree at a time */
} play_agent;

/* A job that waited before a restart. */
typedef struct play_noted {
    char job_id[ARCP__ID_SIZE];
    char agent[64];
    size_t number;
} play_noted;

/* What is known of the purse of a principal; in tenths of a USD. */
typedef struct play_purse {
    int64_t stored;       /* spent, as its row on the disk says */
    int64_t billed;       /* what its calls have cost, and what lost ones may have */
    int64_t may_be_spent; /* at most, beside what agents report themselves */
} play_purse;

/* A call through a gateway: HELD -> TOLD -> SENT, and settled from any of them. */
typedef struct play_call {
    char id[40];
    const rig_agent *agent;
    play_purse *purse;
    unsigned held;
    enum {
        PLAY_CALL_HELD, /* the engine does not know of it yet */
        PLAY_CALL_TOLD,
        PLAY_CALL_SENT /* its hold is durable */
    } state;
} play_call;

/* The row of a hold on the disk. */
typedef struct play_hold {
    char id[40];
    size_t purse;
    int64_t held;
} play_hold;

/* A notification whose row was written. */
typedef struct play_note {
    char id[40];
    char job_id[ARCP__ID_SIZE];
    size_t hook;
    uint64_t hash;   /* of its body */
    uint64_t number; /* of the attempt that is under way; 0: none */
    size_t deliveries;
    bool is_written; /* and not deleted */
    bool is_taken;   /* by its receiver, since the last start */
    bool was_taken;  /* ever */
    bool is_end;     /* of a job, not another event */
} play_note;

#define PLAY_NOTES_MAX   2048
#define PLAY_CALLS_MAX   128
#define PLAY_STARTED_MAX 4096
#define PLAY_NOTED_MAX   64

#define PLAY_ROWS_MAX 512

typedef struct play_row {
    char job_id[ARCP__ID_SIZE];
    uint64_t hash; /* of the row's text; 0: none came */
} play_row;

/* What a client was sent on its present connection. */
typedef struct play_watch {
    bool is_asked, is_valid;
    char newest[ARCP__ID_SIZE]; /* of the jobs that had ended before */
    play_row rows[PLAY_ROWS_MAX];
    size_t count;
} play_watch;

typedef struct play {
    engine_rig rig;
    disk disk;
    upstream upstream;
    watch watch;
    watch_client clients[PLAY_CLIENTS];
    char slots[PLAY_CLIENTS][8]; /* the rig's client that each one is just now */
    size_t away[PLAY_CLIENTS];   /* the session a client had last; WATCH_NONE: none */
    bool is_over[PLAY_CLIENTS];  /* nothing more comes from it on this connection */
    play_watch watches[PLAY_CLIENTS];
    size_t pushes, watched; /* rows, and those that were compared with their jobs */
    play_agent agents[RIG_AGENTS_MAX];
    play_temper temper;
    const uint8_t *data; /* NULL: numbers come from `random` */
    size_t size, at;
    uint64_t random;
    unsigned next_id;
    char mark[8];        /* the beginning of the id of the current request */
    uint64_t waited_sec; /* how far the clock was moved */
    bool is_stopping;
    bool trace;
    bool makes_spans;
    void (*prepare)(void *user, arcp__engine_options *options); /* the rig's */
    void *prepare_user;
    bool keys_stay;                                      /* see watch.h */
    size_t plans;                                        /* that the engine holds */
    size_t spends, children, silences, restarts, leaves; /* figures */
    size_t overs; /* steps after which there was an ended job that had exceeded a limit */
    size_t unsent_max, tail_max, queue_max;
    size_t queued_max, reloads;
    char started[PLAY_STARTED_MAX][ARCP__ID_SIZE]; /* the jobs, over restarts */
    size_t started_count;
    play_noted noted[PLAY_NOTED_MAX];
    size_t noted_count;
    play_purse purses[2]; /* alice's and bob's */
    play_call calls[PLAY_CALLS_MAX];
    play_hold holds[PLAY_CALLS_MAX];
    size_t call_count, hold_count, call_ids;
    size_t sent, settled; /* figures */
    play_note notes[PLAY_NOTES_MAX];
    size_t note_count;
    size_t delivered; /* figure: attempts */
} play;

/* As play_begin_seed; `prepare` is the rig's. */
void play_begin_recorded(play *p, uint64_t seed,
                         void (*prepare)(void *user, arcp__engine_options *options), void *user);
/* From a seed: a number below `steps` of steps is never too many. */
void play_begin_seed(play *p, uint64_t seed);
/* From a seed, without disturbances and with the caller's settings. `program` is how to run it
 * again. */
void play_begin_calm(play *p, uint64_t seed, const arcp_settings *settings, const char *program);
void play_begin_bytes(play *p, const uint8_t *data, size_t size);
void play_end(play *p);

/* One step; false when the bytes are used up. */
bool play_step(play *p);

/* Lets the store write, ends all agents, and checks from outside that every job that was
 * accepted has ended, and that its end is shown once. */
void play_settle(play *p);

/* Moves the clock. */
void play_clock(play *p, int64_t forward_ns);

/* A number below `below`, from the bytes. */
unsigned play_pick(play *p, unsigned below);
bool play_one_in(play *p, unsigned count);

/* Reads what clients and agents have received. */
void play_look(play *p);
/* The power fails and comes back: a new engine over what the disk has. */
void play_restart(play *p);
/* The same, when an allocation failed: the engine must have closed its links and keep its batches
 * to itself. */
void play_recover(play *p);

void play_trace(const play *p, const char *what, const char *text);
/* Damages a text at a few places. */
void play_mutate(play *p, char *text);
/* A piece of the bytes, taken as it is; its length is a byte. */
void play_literal(play *p, char *text, size_t size);

/* ---- play_check.c ---- */
/* A frame that is sent shows nothing that is not written, and a slow peer's queue is bounded. */
void play_check_sent(play *p, const arcp__effect *effect);
/* After a step: memory is bounded and counted; when nothing is under way, also the next one. */
void play_check(play *p);
/* Clients that read have every record that is written, and no agent is held back. */
void play_check_delivered(play *p);
/* All agents have ended: no job runs, and clients that send nothing more were disconnected. */
void play_check_stopped(play *p);

/* The store works and has everything: an engine whose batch failed retries after a pause. */
bool play_is_quiet(const play *p);

/* ---- play_queue.c ---- */
void play_queue_begin(play *p, arcp_settings *settings);
/* A reload of the agents. */
void play_queue_acts(play *p);
/* Every agent is there. */
void play_queue_calms(play *p);
void play_queue_check_start(play *p, const arcp__job *job);
void play_queue_check(play *p);
void play_queue_before_restart(play *p);
void play_queue_after_restart(play *p);

/* ---- play_client.c ---- */
rig_client *play_client(play *p, size_t slot);
void play_client_acts(play *p);
/* A fresh session for the client; false when it was refused. */
bool play_client_begins(play *p, size_t slot);
/* The client connects and resumes its session; a new one when it had none. */
void play_client_returns(play *p, size_t slot);
/* The client asks for all of a job. */
void play_client_subscribes(play *p, size_t slot, const char *job_id);
/* A frame goes to a client that reads. */
void play_client_gets(play *p, const rig_client *client, arcp_span frame);
void play_clients_look(play *p);

/* ---- play_watch.c ---- */
/* A client that has a session watches its principal's jobs. */
void play_watch_begin(play *p, size_t slot);
void play_watch_gets(play *p, size_t slot, arcp_span frame);
/* The time of a push has passed, and everything is durable. */
void play_watch_check(play *p);

/* ---- play_host.c ---- */
/* Sets the hosts of a new engine, then calls the play's own `prepare`. */
void play_host_prepare(void *user, arcp__engine_options *options);
/* The agent's sandbox reports something; false: not now. */
bool play_host_acts(play *p, rig_agent *agent);
/* No engine is left. */
void play_host_check_released(const play *p);

/* ---- play_purse.c ---- */
/* After the engine was opened. */
void play_purse_begin(play *p);
/* The agent's job calls through a gateway; false: not now. */
bool play_purse_acts(play *p, const rig_agent *agent);
/* The hold of a call is durable. */
void play_purse_stored(play *p, const char *id);
/* arcp__agent_hosts.settle. */
void play_purse_job_ends(void *user, struct arcp__job *job, const arcp__settle_sink *sink);
void play_purse_crash(play *p);
void play_purse_check(play *p);
/* All jobs have ended. */
void play_purse_settled(play *p);

/* ---- play_hooks.c ---- */
/* Before the engine is opened. */
void play_hooks_begin(play *p);
/* Receivers answer; a reload. */
void play_hooks_act(play *p);
void play_hooks_crash(play *p);
/* All jobs have ended: everything that is due arrives. */
void play_hooks_settle(play *p);

/* ---- play_upstream.c ---- */
/* Before the engine is opened. */
void play_upstream_begin(play *p);
/* False: the play has to end, for its tables are nearly full. */
bool play_upstream_has_room(const play *p);
void play_upstream_acts(play *p);
/* The clock is about to be moved: what may arrive only before then does so now. */
void play_upstream_before_clock(play *p, int64_t forward_ns);
void play_upstream_crash(play *p);
void play_upstream_look(play *p);
/* Ends all disturbances. */
void play_upstream_calms(play *p);
/* All jobs have ended, and their credentials had time to be revoked: none is valid. */
void play_upstream_settle(play *p);

/* ---- play_agent.c ---- */
void play_agent_acts(play *p);
void play_agents_look(play *p);
/* Killed agents end. */
void play_agents_reap(play *p);
/* A child was given no more than its parent has. */
void play_agent_check_start(play *p, const arcp__effect *effect);

#endif
