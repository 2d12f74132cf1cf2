/* Links and sessions: a connection from its first byte to a session or a refusal, what a session
 * asks for, and what it is told.
 *
 * Sessions call jobs (job/job.h); what a job tells them goes through two tables of functions, its
 * records by mail, which is delivered when the input is over. A record is kept once, in its job's
 * stream: a session holds runs of positions in streams and gives each position its event_seq.
 *
 * The life of a link:
 *
 *     NEW ── a hello ──> AUTHENTICATING ── its token is verified ──> OPEN, with its session
 *      ^                       │
 *      └── refused; it closes ─┘
 *
 * In each of them it may be closed (its port is), by either side; its owner then disconnects it.
 *
 * The life of a session:
 *
 *     a hello ──> CONNECTED <── a resume ── AWAY <── its index is read ── LOADING <── a restart
 *                     │                      ^ │
 *                     └── its link is gone ──┘ └── its window is over, or it said goodbye and its
 *                                                  place is needed ──> freed
 *
 * The window of a session that is away begins when the last of its jobs has ended. */
#ifndef ARCP_SESSION_SESSION_H
#define ARCP_SESSION_SESSION_H

#include <arcp/sys/store.h>

#include "context/context.h"
#include "core/decode.h"
#include "credential/credential.h"
#include "job/job.h"
#include "log/log.h"

typedef struct arcp__sessions arcp__sessions;
typedef struct arcp__session arcp__session;
typedef struct arcp__link arcp__link; /* one transport connection, as the engine sees it */

/* The members of the payload of a message of a client; none of other types. */
const arcp__members *arcp__message_members(arcp_message_type type);

/* ---- links ---- */

typedef struct arcp__link_options {
    void *user;          /* comes back in effects */
    bool is_local;       /* loopback, pipe or memory */
    bool is_encrypted;   /* by the transport */
    arcp_span principal; /* not empty: any token is accepted, for this principal (stdio) */
    const char
        *peer; /* its address, for lines about it; borrowed until disconnect; NULL: unknown */
    uint32_t waited_ms; /* of limits.hello_timeout_sec, before the engine heard of it */
} arcp__link_options;

/* A peer that was turned away, by the owner or by the engine. */
typedef struct arcp__refusal {
    const char *peer; /* ADDRESS:PORT; NULL: unknown */
    const char *rule; /* what decided; static */
    int code;         /* an HTTP status or a close code; 0: none */
    bool is_audited;  /* it is a decision about who may come in */
    bool is_logged;   /* the operator's log has it too */
    bool is_trouble;  /* the fault is not the peer's: a warning */
} arcp__refusal;

/* NULL when out of memory. */
arcp__link *arcp__link_new(arcp__sessions *sessions, const arcp__link_options *options);
void arcp__link_receive(arcp__sessions *sessions, arcp__link *link, arcp_span frame);
/* False: its owner is to hand over no more frames until RESUME_LINK. */
bool arcp__link_takes_more(arcp__link *link);
/* A frame of it took so long; true when its principal's links rest for that. */
bool arcp__link_took(arcp__sessions *sessions, const arcp__link *link, int64_t took_ns);
void arcp__link_drained(arcp__sessions *sessions, arcp__link *link, size_t unsent);
void arcp__link_input_over(arcp__sessions *sessions, arcp__link *link);
void arcp__link_disconnect(arcp__sessions *sessions, arcp__link *link);
/* The owner has let go of it, after the engine failed. */
void arcp__link_gone(arcp__link *link);
/* Whose token it is, or why nobody's. NULL: the link whose hello waited for this has gone, or was
 * closed; else it may take frames again when the input is over. */
arcp__link *arcp__link_authenticated(arcp__sessions *sessions, uint64_t auth_id, arcp_status status,
                                     arcp_span principal, bool is_anonymous);
/* Its owner may hand over frames again, unless something is still against it. */
void arcp__link_resume(arcp__sessions *sessions, arcp__link *link);
/* All of them: session.error and close. */
void arcp__links_fail(arcp__sessions *sessions, const arcp_error *error, int close_code);
/* The runtime stops: those that were told everything close, and the others when `are_words_over`.
 */
void arcp__links_stop(arcp__sessions *sessions, bool are_words_over);
/* Closes the links whose peers said that nothing more comes, and that have all they asked for. */
void arcp__links_leave(arcp__sessions *sessions);
/* The next CLOSE of a link for which there was no memory. */
bool arcp__links_next_close(arcp__sessions *sessions, arcp__effect *out);

/* By the owner, before there was a link: it may get lines. */
void arcp__refusal_note(arcp__sessions *sessions, const arcp__refusal *refusal, const char *reason);
/* Says how many had none, and begins anew. */
void arcp__refusals_tell(arcp__sessions *sessions);

/* ---- peer profiles: how answers differ for clients that need another form ---- */

typedef struct arcp__peer_profile arcp__peer_profile;
/* NULL for a name that is not in the table. */
const arcp__peer_profile *arcp__peer_profile_named(arcp_span name);

/* All names with ", " between them, for messages. */
const char *arcp__peer_profile_names(void);

/* Which profile a session gets: both globs must match, an empty one matches everything. Rows added
 * later are looked at first; the shipped rows last. ARCP_E_USAGE for a profile that does not
 * exist. */
typedef struct arcp__peer_profile_rule {
    arcp_span client_glob;    /* over hello.client.name */
    arcp_span principal_glob; /* over the principal's name */
    arcp_span profile;
} arcp__peer_profile_rule;
ARCP_MUST_CHECK arcp_status arcp__peer_profile_add(arcp__sessions *sessions,
                                                   const arcp__peer_profile_rule *rule,
                                                   arcp_error *err);
void arcp__peer_profiles_clear(arcp__sessions *sessions);

/* ---- all of them ---- */

/* What is counted of sessions and links, for operators. */
typedef struct arcp__session_metrics {
    uint64_t submits_refused[ARCP_STATUS_COUNT];
    uint64_t sessions_opened, sessions_resumed, authentications_refused;
    uint64_t refusals_counted; /* without a line of their own */
    uint64_t back_pressure;
} arcp__session_metrics;

struct arcp__sessions {
    /* Given by the owner. */
    arcp__context *context;
    arcp__log *log;
    arcp__credentials *credentials;
    arcp__jobs *jobs;
    const char *runtime_name, *runtime_version; /* in the welcome */
    struct {
        int link, session, refusals; /* of timers that arcp__sessions_due takes */
    } timer_kinds;

    arcp__link *links;
    arcp__session *all; /* by id */
    size_t count, connected_count;
    struct arcp__profile_row *profiles; /* owned */
    size_t profile_count;
    uint64_t next_auth_id;
    bool has_inputs_over;      /* some link's may be */
    arcp__link *next_to_close; /* of a failed engine: the link that is told next; NULL: none */
    bool is_closing_links;     /* next_to_close was set */
    arcp__timer refusal_timer;
    struct arcp__refusals *refusals; /* owned; NULL until the first refusal */

    struct arcp__mail *mail; /* owned array, delivered from mail_first on */
    size_t mail_first, mail_end, mail_capacity;
    arcp__session *turns;             /* whose submits or children may have their turn */
    arcp__session *outbox;            /* that may have something to send */
    arcp__session *undurable;         /* that wait for a batch */
    arcp_buf sending;                 /* the frame of the SEND effect at hand; may be secret */
    uint64_t next_read_id;            /* of all READ effects */
    struct arcp__read *reads;         /* in the order in which they were asked for */
    struct arcp__lost_stream *lost;   /* while rows are taken up: see session_restore.c */
    struct arcp__kept_row *kept_rows; /* likewise, of SUBSCRIPTIONS */
    arcp__session_metrics metrics;
};

/* What jobs are told by: their `user` is arcp__sessions. Lets go of everything but of jobs. */
void arcp__sessions_fini(arcp__sessions *sessions);
void arcp__sessions_due(arcp__sessions *sessions, arcp__timer *timer);
/* What jobs told, also what they tell meanwhile. */
void arcp__mail_deliver(arcp__sessions *sessions);
/* Submits and children of jobs that have their turn. */
void arcp__sessions_take_turns(arcp__sessions *sessions);
/* Before the open batch is taken: what sessions numbered since the last one becomes index records
 * of this one. */
void arcp__sessions_write_indexes(arcp__sessions *sessions);
/* A batch was committed. */
void arcp__sessions_durable(arcp__sessions *sessions);
/* The next frame of a record, of whichever session has one. */
bool arcp__sessions_next_frame(arcp__sessions *sessions, arcp__effect *out);
/* It was handed over. */
void arcp__sessions_take_back(arcp__sessions *sessions);

/* Links, sessions, their submits that are not answered, and their subscriptions. */
void arcp__sessions_dump(const arcp__sessions *sessions, arcp__dump *dump);

/* ---- over a restart, in this order ---- */

/* A row of SESSIONS or SUBSCRIPTIONS (`value`, which the context's index holds unless it is of the
 * latter). ARCP_E_CORRUPT, ARCP_E_NO_MEMORY. */
arcp_status arcp__session_restore_row(arcp__sessions *sessions, arcp_span key, arcp_error *err);
arcp_status arcp__subscription_keep_row(arcp__sessions *sessions, arcp_span key, arcp_span value,
                                        arcp_error *err);
/* All rows are there, of jobs too: who observes which job. The first that is damaged in *err. */
arcp_status arcp__sessions_restore_observers(arcp__sessions *sessions, arcp_error *err);
/* The one behind `session`, or the first behind NULL; NULL: there is none. */
arcp__session *arcp__session_next(const arcp__sessions *sessions, const arcp__session *session);
/* The key of the stream that has its index. */
#define ARCP__SESSION_KEY_SIZE (ARCP__ID_SIZE + 2)
void arcp__session_index_key(const arcp__session *session, char key[ARCP__SESSION_KEY_SIZE]);
/* Records of its index; none: it ends here. ARCP_E_CORRUPT. */
arcp_status arcp__session_restore_index(arcp__sessions *sessions, arcp__session *session,
                                        uint64_t first, const arcp_span *records, size_t count,
                                        arcp_error *err);
/* Where its index goes on. */
uint64_t arcp__session_index_next(const arcp__session *session);
/* Each stream that an index or a session has, but those of jobs: `is_own` is a session's own. */
void arcp__sessions_visit_streams(arcp__sessions *sessions,
                                  void (*visit)(void *user, arcp__stream *stream, bool is_own),
                                  void *user);
/* All streams are read: runs whose job was forgotten go, and observers catch up. ARCP_E_CORRUPT. */
arcp_status arcp__sessions_catch_up(arcp__sessions *sessions, arcp_error *err);
/* Their jobs have ended: the windows begin. */
void arcp__sessions_start_windows(arcp__sessions *sessions);
/* What was kept for this goes. */
void arcp__sessions_end_restore(arcp__sessions *sessions);

#endif
