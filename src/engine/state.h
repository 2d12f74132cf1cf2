/* What the engine remembers of links and sessions (numbering, replay). Private to src/engine.
 *
 * Sessions call jobs (job/job.h); what a job tells sessions goes through two tables of functions,
 * its records by mail (mail.h). Records are kept once, in the job's stream; a session holds runs of
 * positions in streams and gives each position its event_seq. What every part needs is in the
 * context (context/context.h), what is on its way out in the log (log/log.h). */
#ifndef ARCP_ENGINE_STATE_H
#define ARCP_ENGINE_STATE_H

#include "engine/refusal.h"
#include "engine/state_session.h"

typedef struct arcp__profile_row {
    char *client_glob, *principal_glob; /* owned */
    const arcp__peer_profile *profile;
} arcp__profile_row;

/* ---- the engine ---- */

typedef enum arcp__timer_kind {
    ARCP__TIMER_HELLO,
    ARCP__TIMER_REST,
    ARCP__TIMER_HEARTBEAT,
    ARCP__TIMER_WINDOW,
    ARCP__TIMER_LONE_REFUSAL,
    ARCP__TIMER_JOB,
    ARCP__TIMER_CREDENTIAL,
    ARCP__TIMER_SWEEP,
    ARCP__TIMER_STORE_RETRY,
    ARCP__TIMER_REFUSALS,
    ARCP__TIMER_SHUTDOWN
} arcp__timer_kind;

struct arcp__engine {
    arcp__engine_options options;
    arcp__context context;
    arcp__log *log;        /* owned */
    int64_t wall_ahead_ns; /* wall minus monotonic clock, when expiries were last looked at */
    arcp__timer sweep_timer, shutdown_timer;
    arcp__timer refusal_timer;
    arcp__refusals *refusals; /* owned; NULL until the first refusal */

    arcp_buf sending; /* the frame of the SEND effect at hand; may be secret */
    arcp__link *links;
    arcp__session *sessions;
    arcp__profile_row *profiles;
    size_t profile_count;

    arcp__credentials credentials;
    arcp__jobs jobs;
    arcp__session *turns; /* whose submits or children may have their turn */

    arcp__mail *mail; /* owned array, delivered from mail_first on */
    size_t mail_first, mail_end, mail_capacity;
    arcp__session *outbox;    /* sessions that may have something to send */
    arcp__session *undurable; /* sessions that wait for a batch */

    arcp__metrics metrics;

    uint64_t next_auth_id, next_read_id;
    arcp__read *reads; /* in the order in which they were asked for */
    size_t session_count, connected_count;
    struct arcp__restore *restore; /* while a restart is being taken up */
    bool stopped;
    bool last_words_are_over;  /* peers had their time to take what was said last */
    bool has_inputs_over;      /* some link's may be */
    arcp__link *next_to_close; /* of a failed engine: the link that is told next; NULL: none */
    bool is_closing_links;     /* next_to_close was set */
};

#endif
