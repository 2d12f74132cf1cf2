/* What the engine remembers: streams of records, links, sessions, and who observes what.
 * state.h has the whole picture. */
#ifndef ARCP_ENGINE_STATE_SESSION_H
#define ARCP_ENGINE_STATE_SESSION_H

#include <arcp/buf.h>
#include <arcp/json.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "context/context.h"
#include "core/id_set.h"
#include "core/trace.h"
#include "engine/engine.h"
#include "engine/metrics.h"
#include "engine/peer_profile.h"
#include "job/job.h"

typedef struct arcp__session arcp__session;
typedef struct arcp__observation arcp__observation;
typedef struct arcp__request arcp__request;
typedef struct arcp__mail arcp__mail;
typedef struct arcp__read arcp__read;
typedef struct arcp__seen_request arcp__seen_request;
typedef struct arcp__answer arcp__answer;

/* `count` records of a stream, numbered first_seq.. in one session. */
typedef struct arcp__run {
    uint64_t first_seq;
    uint64_t first_position;
    arcp__stream *stream; /* referenced */
    uint64_t bytes;
    uint32_t count;
    uint32_t batch; /* that has its index: the lower half of the id */
} arcp__run;

/* ---- links ---- */

typedef enum arcp__link_state {
    ARCP__LINK_NEW,            /* waits for a hello */
    ARCP__LINK_AUTHENTICATING, /* takes one more frame until the verifier answers */
    ARCP__LINK_OPEN            /* has a session, unless it is closed */
} arcp__link_state;

struct arcp__link {
    arcp__link *previous, *next; /* all links */
    arcp__port port;
    arcp__session *session; /* while OPEN */
    char *preset_principal; /* owned; NULL: authenticate */
    const char *peer;       /* borrowed until it is gone; may be NULL */
    bool is_gone;           /* of a failed engine: its owner has let go of it */
    arcp__timer hello_timer, rest_timer;
    const arcp__peer_profile *profile; /* by its hello; NULL before */
    uint64_t auth_id;
    arcp_buf hello;  /* while its sender is being authenticated */
    arcp_buf behind; /* likewise, the frame behind it: only who is read is known to be there */
    arcp__link_state state;
    bool is_local, is_encrypted;
    bool has_behind;
    bool rests;      /* until its timer: too much of what it sent was refused */
    bool is_full;    /* its answers are over their limit, and not yet down to half of it */
    bool paused;     /* its owner was told to hand over no more frames */
    bool input_over; /* the peer sends nothing more */
};

/* ---- sessions ---- */

struct arcp__session {
    arcp__submitter submitter; /* first */
    char id[ARCP__ID_SIZE];
    UT_hash_handle hh;
    arcp__principal *principal;
    arcp__session *own_previous, *own_next; /* of its principal, oldest first */
    arcp__link *link;                       /* NULL while away */
    char *client_name, *client_version;     /* owned */
    const arcp__peer_profile *profile;
    arcp_feature_set features;
    uint8_t token_hash[32];
    uint8_t previous_hash[32];
    bool has_previous; /* the previous token is still good */
    bool is_anonymous;
    bool said_goodbye; /* session.close or session.bye, and nobody resumed it since */
    bool loading;      /* its runs are being read after a restart */
    bool in_outbox;    /* listed in engine->outbox */
    bool back_pressured;

    bool holds_agents;    /* the agents of its jobs are not read, because of its backlog */
    uint64_t opens_at;    /* nothing is replayed before this batch, the welcome's, is durable */
    uint64_t next_seq;    /* the next event_seq */
    uint64_t durable_seq; /* up to here committed */
    uint64_t waits_for;   /* the last batch that shows something of it; 0: it is durable */
    uint64_t sent_seq;    /* up to here handed to the link */
    uint64_t acked_seq;
    uint64_t floor_seq;   /* up to here forgotten */
    uint64_t indexed_seq; /* up to here written to the index stream */
    uint64_t index_next;  /* next position of the index stream "x:<id>" */
    uint64_t index_first; /* its first position that is kept */
    uint64_t kept_bytes;
    uint64_t backlog_bytes; /* numbered, not yet handed to the link */
    uint64_t refusal_bytes; /* of these: refusals that were made for the link that is there */
    arcp__run *runs;        /* ring without wrap: [run_first, run_end) */
    size_t run_first, run_end, run_capacity;
    arcp__stream *own; /* records of its request errors; made at the first */

    arcp__read *read;    /* under way; NULL: none */
    uint64_t read_seq;   /* its first record is this event_seq */
    arcp_buf read_bytes; /* records that were read, each with its u32 length before it */
    size_t read_at;
    uint64_t read_next_seq; /* event_seq of the record at read_at */

    arcp__observation *observations;
    arcp__observation *outdated; /* of these, whose rows are to be written again */
    arcp__timer heartbeat_timer;
    arcp__timer refusal_timer; /* of its first submit, which has a lone_error */
    arcp__timer window_timer;  /* away: end of the window; connected: idle check */
    int64_t last_received_ns, last_activity_ns;
    int64_t last_ping_ns; /* of ours */
    int64_t created_wall_ns;

    arcp__seen_request *seen; /* hash by id */
    arcp__seen_request *seen_oldest, *seen_newest;
    arcp__seen_request *seen_kept; /* the ones before it have no answer, or a late one */
    size_t seen_count;
    size_t seen_bytes;                           /* of answers */
    arcp__request *submits_first, *submits_last; /* submits whose answers must keep order */
    size_t held_submits;                         /* of these: they wait for their turn */
    size_t held_bytes;                           /* of their frames */
    bool has_turns;                              /* listed in engine->turns */
    arcp__session *turns_previous, *turns_next;
    uint64_t refused_seq; /* of its last submit that was refused by a record; 0: none */
    arcp__answer *answers_first, *answers_last; /* that keep their order behind it */

    arcp__session *outbox_previous, *outbox_next;
    arcp__session *undurable_previous, *undurable_next;
};

struct arcp__seen_request {
    uint64_t hash;
    uint64_t seq;    /* of an answer that is a record; 0: it is none */
    arcp_buf answer; /* the frame, and behind it the record that followed it; empty while in flight
                        or when it was too large to keep */
    size_t end_size; /* of that record; 0: none */
    bool answered;
    bool is_repeatable; /* its answer was not kept: ask again */
    arcp__seen_request *newer;
    UT_hash_handle hh;
};

/* One request of a session on its way to an answer. A submit is in its session's list until that
 * has left. */
struct arcp__request {
    arcp__session *session;
    arcp_message_type type;
    uint64_t hash;
    bool answered;
    arcp_buf frame;       /* the answer, while it waits for its turn */
    bool frame_is_record; /* the answer is a sequenced refusal */
    arcp_buf record; /* of the refusal; or what follows the answer as the session's own record */
    arcp_buf lone_error; /* the answer in place of these, when the client waits for nothing else */
    arcp_buf held;       /* a submit that waits for its turn: its frame; else empty */
    arcp__admission *admission;         /* a submit whose job waits for a credential; else NULL */
    char revealed_job[ARCP__ID_SIZE];   /* the answer shows this job's credentials when it leaves */
    bool is_secret;                     /* the answer shows credentials itself: it is not kept */
    bool is_repeated;                   /* it was answered before: that answer is sent again */
    char trace_id[ARCP__TRACE_ID_SIZE]; /* that it brought; '\0': none */
    arcp__request *next_submit;
    char id[]; /* of the envelope */
};

/* A session that gets a job's records. */
struct arcp__observation {
    arcp__observer observer; /* first */
    arcp__session *session;
    arcp__observation *previous, *next; /* of the session, newest first */
    bool may_cancel;                    /* a submitting session */
    bool hide_kinds;        /* the session lacks a feature: look at each record's kind */
    uint64_t next_position; /* while catching up */
    arcp__read *read;       /* under way for catching up; NULL: none */
    uint64_t first_seq;     /* the first event_seq this session gave the job; 0: none */
    /* Where a restart goes on when the index has no run of the job any more. */
    uint64_t kept_position;
    bool has_row;    /* in the table SUBSCRIPTIONS */
    bool row_is_old; /* kept_position was raised, or memory ran out: listed in its session */
    arcp__observation *next_outdated, *previous_outdated;
};

#endif
