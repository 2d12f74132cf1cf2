/* The player of traces. Private to src/replay. */
#ifndef ARCP_REPLAY_PLAYER_H
#define ARCP_REPLAY_PLAYER_H

#include "base/arena.h"
#include "record/record.h"
#include "replay/replay.h"

/* A link's number in a trace is its place in the list. */
typedef struct arcp__played_link {
    bool is_paused; /* it takes no frames until RESUME_LINK */
} arcp__played_link;

typedef struct arcp__player {
    arcp__recording trace; /* at the outcome that the engine has to produce, or at the next call */
    arcp__recorder *recorder;
    arcp__engine *engine; /* NULL before the first BEGIN */
    arcp__arena arena;    /* what the engine borrows */
    arcp__replay_result *result;
    bool is_over, has_no_memory;
    bool is_begun;    /* the recorder has written its first line */
    uint64_t made_up; /* random values that the trace does not have */
    /* What the owner of the present engine has done (player_rules.c). */
    bool restore_is_over;      /* no row may follow */
    bool row_has_failed;       /* the engine can only be freed */
    uint64_t provision_id;     /* of the effect that was handed out last; 0: another effect */
    arcp__played_link **links; /* owned array; its entries are in the arena */
    size_t link_count, link_capacity;
} arcp__player;

/* ---- player.c ---- */
/* The trace is damaged here: `how` follows "damaged at byte N: ". */
void arcp__player_end_damaged(arcp__player *p, const char *how);
/* Code of the embedding program decides here. */
void arcp__player_end_foreign(arcp__player *p);
/* Sets the functions that an engine calls: their results are in the trace. */
void arcp__player_set_functions(arcp__player *p, arcp__engine_options *options, bool has_translate,
                                bool has_admit);

/* ---- player_calls.c ---- */
/* Carries out a call, which keeps the rules. */
void arcp__player_call(arcp__player *p, const arcp__recording_call *call);
/* Whether the fields were read to their end; if not, the trace is damaged. */
bool arcp__player_is_read(arcp__player *p, const arcp__recording_fields *more);

/* A copy in the arena. */
const char *arcp__player_keep(arcp__player *p, arcp_span text);

/* ---- player_agents.c ---- */
/* Carries out a call from AGENT_STARTED to AGENT_DENIED. */
void arcp__player_agent_call(arcp__player *p, const arcp__recording_call *call);

void arcp__player_agent_got(arcp__player *p, const arcp__recording_call *call);
void arcp__player_set_worker_directory(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_joins(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_claims(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_ready(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_away(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_lost(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_too_old(arcp__player *p, const arcp__recording_call *call);
void arcp__player_worker_drains(arcp__player *p, const arcp__recording_call *call);
void arcp__player_agent_refused(arcp__player *p, const arcp__recording_call *call);

/* ---- player_schedules.c ---- */
void arcp__player_set_schedules(arcp__player *p, const arcp__recording_call *call);

/* ---- player_hooks.c ---- */
void arcp__player_set_hooks(arcp__player *p, const arcp__recording_call *call);
void arcp__player_notified(arcp__player *p, const arcp__recording_call *call);
void arcp__player_owner_answered(arcp__player *p, const arcp__recording_call *call);
void arcp__player_page_key_checked(arcp__player *p, const arcp__recording_call *call);

/* ---- player_rules.c ---- */
/* The rule of an engine's owner that the call breaks, for people; NULL: none. */
const char *arcp__player_broken_rule(const arcp__player *p, const arcp__recording_call *call);
/* The link that a call names; NULL: there is none. */
arcp__played_link *arcp__player_link(const arcp__player *p, uint64_t number);

#endif
