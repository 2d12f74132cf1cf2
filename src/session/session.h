/* Links and sessions: a connection from its first frame to a session or a refusal, the requests of
 * a session, and the events and responses it gets.
 *
 * Sessions call jobs (job/job.h). Jobs report to sessions through two tables of functions; records
 * go through a message queue, which is delivered at the end of the input. A record is stored once,
 * in its job's stream: a session holds runs of positions in streams and gives each position its
 * event_seq.
 *
 * The life of a link:
 *
 *     NEW ── a hello ──> AUTHENTICATING ── its token is verified ──> OPEN, with its session
 *      ^                       │
 *      └── refused; it closes ─┘
 *
 * In each state either side may close it (port.is_closed); its owner then disconnects it.
 *
 * The life of a session:
 *
 *     a hello ──> CONNECTED <── a resume ── AWAY <── its index is read ── LOADING <── a restart
 *                     │                      ^ │
 *                     └── its link closes ───┘ └── its window ends, or it was closed and its
 *                                                  place is needed ──> freed
 *
 * The window of a session that is away begins when the last of its jobs has ended. */
#ifndef ARCP_SESSION_SESSION_H
#define ARCP_SESSION_SESSION_H

#include <arcp/role.h>
#include <arcp/sys/store.h>

#include "context/context.h"
#include "core/decode.h"
#include "core/origin.h"
#include "credential/credential.h"
#include "hook/hook.h"
#include "job/job.h"
#include "log/log.h"
#include "schedule/schedule.h"

typedef struct arcp__sessions arcp__sessions;
typedef struct arcp__session arcp__session;
typedef struct arcp__link arcp__link; /* one transport connection, as the engine sees it */
typedef struct arcp__figures arcp__figures;

/* The members of the payload of a message of a client; none of other types. */
const arcp__members *arcp__message_members(arcp_message_type type);
/* The requests x-vendor.arcpd.NAME, one for each i from 0 on, and the members of their payloads.
 * NULL after the last. */
const char *arcp__view_request(size_t i, const arcp__members **members);

/* ---- links ---- */

typedef struct arcp__authentication arcp__authentication;

typedef struct arcp__link_options {
    void *user;          /* passed in effects */
    bool is_local;       /* loopback, pipe or memory */
    bool is_encrypted;   /* by the transport */
    arcp_span principal; /* not empty: any token is accepted, for this principal (stdio) */
    arcp_role role;      /* with `principal` */
    /* With `principal`: how a door has found it (arcp__link_hand_over); NULL: by the transport. */
    const arcp__authentication *by;
    const char
        *peer; /* its address, for lines about it; borrowed until disconnect; NULL: unknown */
    uint32_t waited_ms; /* part of limits.hello_timeout_sec that had passed before */
} arcp__link_options;

/* The result of verifying a token. */
struct arcp__authentication {
    arcp_status status;
    arcp_span principal; /* with ARCP_OK */
    bool is_anonymous;   /* the principal is for this session only; it has no role */
    arcp_role role;
    arcp__origin origin;
    /* Set by src/session, for what browsers sign in with (page_key.h). */
    enum { ARCP__PAGE_NONE, ARCP__PAGE_CODE, ARCP__PAGE_KEY } page;
    uint8_t page_hash[32];
};

/* A link that leaves a door, and what its peer has sent; borrowed from the link. */
typedef struct arcp__handover {
    arcp__link *link;
    void *user;           /* of its options */
    arcp_span hello;      /* without its token, unless that is a browser's */
    arcp_span next_frame; /* with has_next_frame */
    bool has_next_frame;
    bool input_is_over;
    arcp__link_options options; /* for its shard; `principal` and `by` are not set */
} arcp__handover;

/* A connection or hello that was refused, by the owner or by the engine. What is refused by this
 * rule is a worker. */
#define ARCP__REFUSAL_OF_WORKER "worker"
typedef struct arcp__refusal {
    const char *peer; /* ADDRESS:PORT; NULL: unknown */
    const char *rule; /* what decided; static */
    int code;         /* an HTTP status or a close code; 0: none */
    bool is_audited;  /* it is a decision about access, for the audit log */
    bool is_logged;   /* the operator's log gets a line, too */
    bool is_trouble;  /* not the peer's fault: logged as a warning */
} arcp__refusal;

/* NULL when out of memory. */
arcp__link *arcp__link_new(arcp__sessions *sessions, const arcp__link_options *options);
void arcp__link_receive(arcp__sessions *sessions, arcp__link *link, arcp_span frame);
/* False: its owner must pass no more frames until RESUME_LINK. */
bool arcp__link_takes_more(arcp__sessions *sessions, arcp__link *link);
/* Reports how long a frame took; true when this makes its principal's links pause. */
bool arcp__link_took(arcp__sessions *sessions, const arcp__link *link, int64_t took_ns);
void arcp__link_drained(arcp__sessions *sessions, arcp__link *link, size_t unsent);
void arcp__link_input_over(arcp__sessions *sessions, arcp__link *link);
void arcp__link_disconnect(arcp__sessions *sessions, arcp__link *link);
/* Like arcp__link_disconnect, after the engine has failed. */
void arcp__link_disconnect_failed(arcp__link *link);
/* The result of an AUTHENTICATE effect. Returns the link whose hello waited for it, which may take
 * frames again after the input; NULL: it was closed meanwhile. */
arcp__link *arcp__link_authenticated(arcp__sessions *sessions, uint64_t auth_id,
                                     const arcp__authentication *result);
/* The same at a door, with a token that is valid: the link leaves. It takes no more input; its
 * owner gives what it has sent to a shard, and then disconnects it. False: it was closed meanwhile.
 */
bool arcp__link_hand_over(arcp__sessions *sessions, uint64_t auth_id, arcp__handover *out);
/* The response to an ASK_OWNER effect (engine/engine.h). */
void arcp__sessions_owner_answered(arcp__sessions *sessions, uint64_t id, arcp_status status,
                                   arcp_span text);
/* Closes the links of sessions with a role: their next hello or resume has it read again. */
void arcp__links_recheck_roles(arcp__sessions *sessions);
/* Lets its owner pass frames again, unless something else still prevents that. */
void arcp__link_resume(arcp__sessions *sessions, arcp__link *link);
/* Sends session.error to all links and closes them. */
void arcp__links_fail(arcp__sessions *sessions, const arcp_error *error, int close_code);
/* The runtime stops: closes the links that were sent everything, and with `drain_is_over` all
 * others. */
void arcp__links_stop(arcp__sessions *sessions, bool drain_is_over);
/* Closes the links whose peers send nothing more and have got everything. */
void arcp__links_close_finished(arcp__sessions *sessions);
/* After the engine has failed: the next CLOSE, one for each link. Allocates nothing. */
bool arcp__links_next_close(arcp__sessions *sessions, arcp__effect *out);

/* Notes a refusal by the owner, before there was a link; it is logged or counted. */
void arcp__refusal_note(arcp__sessions *sessions, const arcp__refusal *refusal, const char *reason);
/* Logs how many refusals were only counted, and resets the counts. */
void arcp__refusals_report(arcp__sessions *sessions);

/* ---- peer profiles: how responses differ for clients that need another form ---- */

typedef struct arcp__peer_profile arcp__peer_profile;
/* NULL for a name that is not in the table. */
const arcp__peer_profile *arcp__peer_profile_named(arcp_span name);

/* All names, separated by ", ", for messages. */
const char *arcp__peer_profile_names(void);

/* Which profile a session gets: both globs must match, an empty one matches everything. Rows added
 * later are checked first, the built-in rows last. ARCP_E_USAGE for a profile that does not
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

/* ---- all sessions ---- */

/* Counters for the metrics. */
typedef struct arcp__session_metrics {
    uint64_t submits_refused[ARCP_STATUS_COUNT];
    uint64_t sessions_opened, sessions_resumed, authentications_refused;
    uint64_t refusals_counted; /* counted in a summary line instead of logged singly */
    uint64_t back_pressure;
} arcp__session_metrics;

struct arcp__sessions {
    /* Set by the owner. */
    arcp__context *context;
    arcp__log *log;
    arcp__credentials *credentials;
    arcp__jobs *jobs;
    const arcp__schedules *schedules;           /* that are listed */
    arcp__hooks *hooks;                         /* whose outbox operators see */
    const char *runtime_name, *runtime_version; /* for session.welcome */
    size_t *count_of_all; /* sessions of several engines; NULL: only of this one */
    bool is_door;         /* its links have no session: a link whose token is valid leaves */
    bool
        is_one_of_many; /* others have the sessions of other principals: no answer tells of these */
    struct {
        int link, session, refusals; /* of the timers for arcp__sessions_due */
    } timer_kinds;

    arcp__link *links;
    arcp__link *ahead;  /* links that are not read because of their principal's queued rows */
    arcp__session *all; /* by id */
    size_t count, connected_count;
    struct arcp__profile_row *profiles; /* owned */
    size_t profile_count;
    uint64_t next_auth_id;
    uint64_t next_owner_id;    /* of ASK_OWNER */
    bool has_inputs_over;      /* input_over may be set on a link */
    arcp__link *next_to_close; /* of a failed engine: the link to close next; NULL: none */
    bool is_closing_links;     /* next_to_close was set */
    arcp__timer refusal_timer;
    struct arcp__refusals *refusals; /* owned; NULL until the first refusal */

    struct arcp__notification
        *notifications; /* owned array; delivered from notification_first on */
    size_t notification_first, notification_end, notification_capacity;
    arcp__session *scheduled;         /* whose submits or children may be handled now */
    arcp__session *outbox;            /* that may have something to send */
    arcp__session *undurable;         /* with numbers that are not durable yet */
    arcp_buf sending;                 /* the frame of the current SEND effect; may be secret */
    uint64_t next_read_id;            /* of all READ effects */
    struct arcp__read *reads;         /* in the order in which they were started */
    struct arcp__lost_stream *lost;   /* during a restart: see session_restore.c */
    struct arcp__kept_row *kept_rows; /* during a restart: rows of SUBSCRIPTIONS */
    struct arcp__page_key *page_keys; /* owned */
    arcp__figures *figures;           /* owned */
    struct arcp__watch *idle_watches; /* of several principals' jobs */
    uint64_t woken;                   /* the mark up to which watches were woken */
    arcp_buf page_principal;          /* of the latest authentication by one of them */
    int64_t wrong_codes_since_ns;
    unsigned wrong_codes; /* since then */
    arcp__session_metrics metrics;
};

/* ---- codes and keys of browsers (page_key.h), which stand for what opened a session ---- */

typedef struct arcp__page_key arcp__page_key;

/* Borrowed until the next call for any of them. */
typedef struct arcp__page_key_facts {
    const arcp__origin *origin;
    const char *principal;
    arcp_role role;
    bool is_restored; /* by a restart, and not checked yet: it opens no session */
    uint8_t hash[32]; /* of itself */
} arcp__page_key_facts;

/* The next one; NULL after the last. `after` NULL: the first. */
const arcp__page_key *arcp__page_key_next(const arcp__sessions *sessions,
                                          const arcp__page_key *after);
/* Whether a bearer token has the form of a code or a key, so that no verifier must see it; of a
 * code; whether it is one of these. */
bool arcp__page_is_bearer(arcp_span token);
bool arcp__page_is_code(arcp_span token);
bool arcp__page_is_known(arcp__sessions *sessions, arcp_span token);
void arcp__page_key_look(const arcp__page_key *key, arcp__page_key_facts *out);
/* Whether what it stands for is still valid; otherwise it ends. */
void arcp__page_key_checked(arcp__sessions *sessions, const uint8_t hash[32], bool is_valid);
void arcp__page_keys_fini(arcp__sessions *sessions);
/* Rows of META; those of others have keys of another form. */
bool arcp__page_key_is_row(arcp_span key);
ARCP_MUST_CHECK arcp_status arcp__page_key_restore_row(arcp__sessions *sessions, arcp_span name,
                                                       arcp_error *err);

/* Makes the memory for figures. False when out of memory. */
ARCP_MUST_CHECK bool arcp__figures_init(arcp__sessions *sessions);
/* At the beginning of each input: closes the seconds and minutes that have ended. */
void arcp__figures_turn(arcp__sessions *sessions);
/* Notes how long a batch took until it was durable. */
void arcp__figures_committed(arcp__sessions *sessions, int64_t took_ns);
/* At the end of each input: jobs that changed will be shown to those who watch them. */
void arcp__watches_wake(arcp__sessions *sessions);

/* Frees everything except jobs. */
void arcp__sessions_fini(arcp__sessions *sessions);
void arcp__sessions_due(arcp__sessions *sessions, arcp__timer *timer);
/* Delivers the queued messages of jobs, and those that this causes. */
void arcp__notifications_deliver(arcp__sessions *sessions);
/* Handles submits and children whose turn it is. */
/* Appends the job as a row of x-vendor.arcpd.jobs. It never has a credential. */
void arcp__sessions_write_job(arcp__sessions *sessions, arcp__job *job, arcp_buf *out);
void arcp__sessions_run_scheduled(arcp__sessions *sessions);
/* Before the open batch is taken: writes index records for the numbers that sessions gave since the
 * last batch. */
void arcp__sessions_write_indexes(arcp__sessions *sessions);
/* To be called when a batch was committed. */
void arcp__sessions_durable(arcp__sessions *sessions);
/* The next frame with a record or a response that waited for its order, of any session. */
bool arcp__sessions_next_frame(arcp__sessions *sessions, arcp__effect *out);
/* The owner is done with that frame. */
void arcp__sessions_frame_sent(arcp__sessions *sessions);

/* Links, sessions, their submits without a response, and their subscriptions. */
void arcp__sessions_dump(const arcp__sessions *sessions, arcp__dump *dump);

/* ---- restart, in this order ---- */

/* Restores a row of SESSIONS, from the context's index, or keeps a row of SUBSCRIPTIONS for later.
 * ARCP_E_CORRUPT or ARCP_E_NO_MEMORY. */
arcp_status arcp__session_restore_row(arcp__sessions *sessions, arcp_span key, arcp_error *err);
arcp_status arcp__subscription_keep_row(arcp__sessions *sessions, arcp_span key, arcp_span value,
                                        arcp_error *err);
/* After all rows, those of jobs included: makes the observations. *err names the first damaged
 * row. */
arcp_status arcp__sessions_restore_observers(arcp__sessions *sessions, arcp_error *err);
/* The session after `session`, or the first for NULL; NULL: there is none. */
arcp__session *arcp__session_next(const arcp__sessions *sessions, const arcp__session *session);
/* Writes the key of the session's index stream. */
#define ARCP__SESSION_KEY_SIZE (ARCP__ID_SIZE + 2)
void arcp__session_index_key(const arcp__session *session, char key[ARCP__SESSION_KEY_SIZE]);
/* Restores records of its index; `count` 0: the index ends here. ARCP_E_CORRUPT. */
arcp_status arcp__session_restore_index(arcp__sessions *sessions, arcp__session *session,
                                        uint64_t first, const arcp_span *records, size_t count,
                                        arcp_error *err);
/* The position of the next index record. */
uint64_t arcp__session_index_next(const arcp__session *session);
/* Calls `each` for the streams that sessions and indexes refer to, except those of jobs. `is_own`:
 * a session's own stream. */
void arcp__sessions_for_each_stream(arcp__sessions *sessions,
                                    void (*each)(void *user, arcp__stream *stream, bool is_own),
                                    void *user);
/* After all streams were read: removes runs of evicted jobs and lets observers catch up.
 * ARCP_E_CORRUPT. */
arcp_status arcp__sessions_catch_up(arcp__sessions *sessions, arcp_error *err);
/* After the jobs have ended: starts the resume windows. */
void arcp__sessions_start_windows(arcp__sessions *sessions);
/* Frees what was kept for the restart. */
void arcp__sessions_end_restore(arcp__sessions *sessions);

#endif
