/* What the files of the session state machine share. */
#ifndef ARCP_CLIENT_CLIENT_PARTS_H
#define ARCP_CLIENT_CLIENT_PARTS_H

#include <arcp/secret.h>

#include "base/timer_heap.h"
#include "client/client_gone.h"
#include "client/client_job.h"
#include "core/trace.h"

#define ARCP__MESSAGE_ID_SIZE (4 + ARCP__ULID_SIZE) /* msg_ and a ULID */
/* Connections in a row that broke (a gap, a frame that is none) without any new event:
 * the runtime cannot give what is missing. */
#define ARCP__BROKEN_MAX 3
/* Longer ids are not read. */
#define ARCP__ID_BYTES_MAX 256
/* How often in a row the connection may drop on a request without any progress in between
 * (arcp__client_progress), so that one that makes the runtime hang up does not do so for ever. */
#define ARCP__REQUEST_VAIN_MAX 5
#define ARCP__CLOSE_WAIT_MS    500

typedef enum arcp__client_request_kind {
    ARCP__CLIENT_ASK_SUBMIT,
    ARCP__CLIENT_ASK_SUBSCRIBE,
    ARCP__CLIENT_ASK_CANCEL,
    ARCP__CLIENT_ASK_LIST,
    ARCP__CLIENT_ASK_PING
} arcp__client_request_kind;

struct arcp__client_request {
    struct arcp__client_request *prev, *next; /* utlist: in the order of asking */
    arcp__client_request_kind kind;
    char id[ARCP__MESSAGE_ID_SIZE]; /* key of `hh` */
    char trace_id[ARCP__TRACE_ID_SIZE];
    bool has_trace;
    char *job_id;        /* owned; cancel and subscribe: the job meant */
    arcp_buf payload;    /* to be sent (again) */
    arcp_buf extensions; /* JSON object, or empty */
    arcp_feature_set needs;
    bool can_repeat; /* sending it twice does no harm */
    bool is_sent;    /* on this connection, or on one before when it cannot be repeated */
    unsigned sends;
    unsigned vain;      /* see ARCP__REQUEST_VAIN_MAX */
    uint64_t sent_at;   /* the session's progress when it was sent */
    uint64_t early_seq; /* subscribe: of what came before the answer, see client_receive.c */
    bool abandoned;     /* nobody waits, but the answer may still come */
    bool is_passed;     /* abandoned, and its turn is over where answers come in order */
    bool is_own;        /* the client's, about job_id; see client_over.c */
    bool waits;         /* its timer fires before it is sent */
    bool with_history;  /* subscribe */
    int64_t sent_ns;
    arcp__timer timer;
    arcp_reply_fn on_reply;
    void *user;
    arcp_result_sink sink; /* submit and subscribe: for the job */
    bool outcome_only;
    bool is_keyed; /* submit: under a key of the program's own */
    void *job_user;
    arcp__client_item
        *reply_item; /* allocated with the request: a reply cannot fail for want of memory */
    UT_hash_handle hh;
};

typedef struct arcp__client_session_options {
    arcp_client_options given; /* spans point into `strings` */
    arcp__arena strings;
    arcp_secret *token;
} arcp__client_session_options;

/* An incoming frame, read leniently. Spans and refs live until the next frame. */
typedef struct arcp__client_frame {
    arcp_message_type type;
    arcp_span type_text;
    arcp_span id, session_id, job_id, trace_id;
    uint64_t event_seq; /* 0: none */
    arcp_json_ref payload;
} arcp__client_frame;

struct arcp__client_session {
    arcp__client_session_options options;
    arcp__ulid_source id_source;
    arcp__client_session_state state;
    arcp__client_session_action action;
    arcp_time now; /* of the input under way */

    /* the session as the runtime knows it */
    arcp_buf id;
    arcp_buf interim_id; /* RESUMING: of the session that the runtime began instead */
    arcp_secret *resume_token;
    arcp_buf welcome; /* without the resume token */
    arcp_feature_set features;
    int64_t resume_window_ns;
    int64_t heartbeat_ns; /* 0: not negotiated */
    bool has_session;     /* there is something to resume */
    bool was_live;        /* CONNECTED or RESUMED was handed over once */
    bool is_adopted;      /* it began in another process: there are jobs that are not known here */
    bool tells_requests;  /* the runtime names the request in its answers */

    /* the connection */
    char hello_id[ARCP__MESSAGE_ID_SIZE];
    unsigned attempt;     /* since a connection was of any use */
    uint64_t welcomed_at; /* the session's progress at the last welcome */
    int64_t welcome_ns;
    unsigned broken;       /* see ARCP__BROKEN_MAX */
    int64_t wait_until_ns; /* WAITING: the next attempt; HELLO...: the handshake's deadline */
    int64_t give_up_ns;    /* no attempt after this */
    int64_t sent_ns, received_ns, pinged_ns;
    bool reading;
    bool bye_sent;
    arcp_failure trouble; /* why this connection will be, or was, lost */
    arcp_failure failure; /* why the session ended */

    /* numbering */
    uint64_t last_seq;   /* received */
    uint64_t handed_seq; /* handed over */
    uint64_t acked_seq;
    int64_t acked_ns;

    /* requests and jobs */
    arcp__client_request *requests; /* utlist */
    arcp__client_request *unsent;   /* of them: those before it are sent; NULL: all are */
    arcp__client_request *by_id;    /* hash */
    uint64_t finished;              /* requests that were sent and are over */
    arcp__timer_heap timers;
    arcp_job *jobs; /* hash */
    void *owner;    /* what jobs are told as theirs */
    arcp_job *past; /* utlist by past_prev, past_next: the oldest first */
    size_t past_bytes;
    arcp__gone_jobs *gone; /* owned; made when the first job goes */

    /* output */
    arcp__client_item *items;  /* utlist */
    arcp__client_item *closed; /* for CLOSED, so that its telling cannot fail */
    arcp_buf frames;           /* 32-bit sizes and frames; secret while a hello is among them */
    size_t frames_taken;

    /* input */
    arcp_json json;
    arcp_buf compact; /* a frame that had white space in it; secret: welcomes, credentials */
    arcp_buf ids;     /* unescaped ids of the frame; never grows, so that spans into it stay */
    arcp_buf scratch; /* anything else that is unescaped; secret */
};

static inline int64_t arcp__client_ms(int64_t ms)
{
    return ms > INT64_MAX / ARCP_NS_PER_MS ? ARCP_TIME_NEVER : ms * ARCP_NS_PER_MS;
}

/* now + ns, which is not negative, without overflow. The instant may lie before zero. */
static inline int64_t arcp__client_after(int64_t now_ns, int64_t ns)
{
    int64_t sum_ns = 0;
    return __builtin_add_overflow(now_ns, ns, &sum_ns) ? ARCP_TIME_NEVER : sum_ns;
}

static inline bool arcp__client_session_has(const arcp__client_session *session,
                                            arcp_feature feature)
{
    return (session->features & ARCP_FEATURE_BIT(feature)) != 0;
}

/* ---- client_options.c ---- */

ARCP_MUST_CHECK arcp_status arcp__client_session_options_copy(const arcp_client_options *from,
                                                              arcp__client_session_options *out,
                                                              arcp_error *err);
void arcp__client_session_options_fini(arcp__client_session_options *options);

/* ---- client_frames.c: what a client sends ---- */

void arcp__client_message_id(arcp__client_session *session, char out[ARCP__MESSAGE_ID_SIZE]);
/* Queues a frame. ARCP_E_NO_MEMORY leaves the queue as it was. */
ARCP_MUST_CHECK arcp_status arcp__client_send(arcp__client_session *session, const char *type,
                                              arcp_span id, arcp_span job_id, arcp_span trace_id,
                                              arcp_span payload, arcp_span extensions);
ARCP_MUST_CHECK arcp_status arcp__client_send_hello(arcp__client_session *session);
ARCP_MUST_CHECK arcp_status arcp__client_send_resume(arcp__client_session *session);
ARCP_MUST_CHECK arcp_status arcp__client_send_ping(arcp__client_session *session);
ARCP_MUST_CHECK arcp_status arcp__client_send_pong(arcp__client_session *session,
                                                   const arcp__client_frame *ping);
ARCP_MUST_CHECK arcp_status arcp__client_send_ack(arcp__client_session *session,
                                                  uint64_t event_seq);
ARCP_MUST_CHECK arcp_status arcp__client_send_simple(arcp__client_session *session,
                                                     const char *type);

/* Payloads of requests. */
void arcp__client_payload_submit(const arcp_submit_options *options, arcp_span key, arcp_buf *out);
void arcp__client_payload_subscribe(const arcp_subscribe_options *options, arcp_buf *out);
void arcp__client_payload_cancel(arcp_span job_id, arcp_span reason, arcp_buf *out);
void arcp__client_payload_list(const arcp_list_options *options, arcp_buf *out);
void arcp__client_payload_job(arcp_span job_id, arcp_buf *out);

/* ---- client_items.c ---- */

/* A new event item with room for `bytes`, queued by arcp__client_item_queue. */
ARCP_MUST_CHECK arcp__client_item *arcp__client_item_new(arcp_client_event_type type, arcp_job *job,
                                                         size_t bytes);
/* Copies into the item's room. */
arcp_span arcp__client_item_place(arcp__client_item *item, arcp_span text);
void arcp__client_item_queue(arcp__client_session *session, arcp__client_item *item);
/* Session events. CLOSED never fails. */
arcp_status arcp__client_tell(arcp__client_session *session, arcp_client_event_type type,
                              const arcp_failure *failure, int64_t retry_in_ms);
void arcp__client_notice(arcp__client_session *session, arcp_status status, const char *format, ...)
    ARCP_PRINTF(3, 4);

/* ---- client_requests.c ---- */

/* Sends what has not been sent yet, now that the session is live. */
void arcp__client_requests_flush(arcp__client_session *session);
/* Grows with every numbered event that came, and every sent request that is over. */
uint64_t arcp__client_progress(const arcp__client_session *session);
/* The connection is gone: what can be repeated counts as not sent. */
void arcp__client_requests_unsend(arcp__client_session *session);
/* The runtime closed the connection because of a frame of ours: what it may have been ends with
 * that, and is not sent again. ARCP_E_LIMIT: a frame was too large. */
void arcp__client_requests_blame(arcp__client_session *session, const arcp_error *why);
/* Ends all requests. */
void arcp__client_requests_fail(arcp__client_session *session, const arcp_failure *failure);
/* Ends those whose deadline has passed. */
void arcp__client_requests_expire(arcp__client_session *session);
/* Queues the reply and frees the request. `failure` is NULL for success. job and page are
 * taken. */
void arcp__client_request_finish(arcp__client_session *session, arcp__client_request *request,
                                 const arcp_failure *failure, arcp_job *job, arcp_job_page *page);
void arcp__client_request_free(arcp__client_session *session, arcp__client_request *request);
bool arcp__client_requests_pending(const arcp__client_session *session,
                                   arcp__client_request_kind kind);

/* ---- client_ask.c ---- */

/* A request in the tables with its deadline set; nothing is sent. NULL when out of memory. */
arcp__client_request *arcp__client_request_new(arcp__client_session *session, arcp_time now,
                                               arcp__client_request_kind kind,
                                               arcp_reply_fn on_reply, void *user);
void arcp__client_payload_ping(arcp__client_session *session, arcp__client_request *request);

/* ---- client_frame.c: reading what a runtime sends ---- */

/* Scans the frame and reads its envelope, leniently: what has a wrong shape counts as left
 * out. ARCP_E_INVALID_REQUEST for what is no frame. */
ARCP_MUST_CHECK arcp_status arcp__client_frame_read(arcp__client_session *session, arcp_span text,
                                                    arcp__client_frame *out, arcp_error *err);
/* A string member that is an id; empty when it is absent, no string or too long. Lives until
 * the next frame. */
arcp_span arcp__client_frame_id(arcp__client_session *session, arcp_json_ref object,
                                const char *member);
/* The job a frame is about: the payload's, else the envelope's. */
arcp_span arcp__client_frame_job(arcp__client_session *session, const arcp__client_frame *frame);

/* ---- client_binding.c: which request an answer belongs to ---- */

typedef struct arcp__client_binding {
    arcp__client_request *request; /* NULL: none of ours */
    bool names_request;            /* the frame says which request it answers */
} arcp__client_binding;

/* By request_id, reply_to, correlation_id or echoed id; any kind of request. */
arcp__client_binding arcp__client_bind_by_name(arcp__client_session *session,
                                               const arcp__client_frame *frame);
/* For an answer of one kind: by name, else trace id, else job id, else order. */
arcp__client_binding arcp__client_bind_reply(arcp__client_session *session,
                                             const arcp__client_frame *frame,
                                             arcp__client_request_kind kind);
/* The submit that was not sent again and whose trace this is; NULL when there is none. */
arcp__client_request *arcp__client_bind_repeated(arcp__client_session *session,
                                                 const arcp__client_frame *frame);
/* The subscribe that waits for its answer about the frame's job; NULL when there is none, or
 * the runtime names what it answers. */
arcp__client_request *arcp__client_bind_subscribe(arcp__client_session *session,
                                                  const arcp__client_frame *frame);
/* The cancel that a job's end answers where the runtime sends no job.cancelled; NULL when
 * there is none, or the runtime names what it answers. */
arcp__client_request *arcp__client_bind_cancelled(arcp__client_session *session,
                                                  const arcp__client_frame *frame);
/* The submit under a key of the program's that an answer about a job which exists already may
 * belong to: by trace id, else the oldest; NULL when there is none. */
arcp__client_request *arcp__client_bind_keyed(arcp__client_session *session,
                                              const arcp__client_frame *frame);
/* For a job.error that names a job: whether it refuses something (`names_request`), and what. */
arcp__client_binding arcp__client_bind_refusal(arcp__client_session *session,
                                               const arcp__client_frame *frame);
/* For an error: by name, else job id, else trace id, else the oldest request. */
arcp__client_binding arcp__client_bind_error(arcp__client_session *session,
                                             const arcp__client_frame *frame);

/* ---- client_over.c: jobs of which the runtime tells nothing more ---- */

/* After a keyed submit was answered with a job that is new to this session. */
ARCP_MUST_CHECK arcp_status arcp__client_over_probe(arcp__client_session *session,
                                                    const arcp_job *job);
/* After a job.subscribed with history. */
ARCP_MUST_CHECK arcp_status arcp__client_over_fence(arcp__client_session *session,
                                                    const arcp__client_frame *frame,
                                                    const arcp_job *job);
/* What an answer to, a refusal of, or silence after a request of the client's own tells. The last
 * takes the request. */
ARCP_MUST_CHECK arcp_status arcp__client_over_answered(arcp__client_session *session,
                                                       const arcp__client_request *request);
ARCP_MUST_CHECK arcp_status arcp__client_over_refused(arcp__client_session *session,
                                                      const arcp__client_request *request,
                                                      const arcp_failure *failure);
ARCP_MUST_CHECK arcp_status arcp__client_over_expire(arcp__client_session *session,
                                                     arcp__client_request *request);
/* The program no longer subscribes to the job. */
void arcp__client_over_forget(arcp__client_session *session, arcp_span job_id);

/* ---- client_handshake.c ---- */

ARCP_MUST_CHECK arcp_status arcp__client_on_welcome(arcp__client_session *session,
                                                    const arcp__client_frame *frame);
/* session.error; before the welcome job.error too. */
ARCP_MUST_CHECK arcp_status arcp__client_on_session_error(arcp__client_session *session,
                                                          const arcp__client_frame *frame);

/* ---- client_replies.c ---- */

ARCP_MUST_CHECK arcp_status arcp__client_on_accepted(arcp__client_session *session,
                                                     const arcp__client_frame *frame);
ARCP_MUST_CHECK arcp_status arcp__client_on_subscribed(arcp__client_session *session,
                                                       const arcp__client_frame *frame);
ARCP_MUST_CHECK arcp_status arcp__client_on_cancelled(arcp__client_session *session,
                                                      const arcp__client_frame *frame);
ARCP_MUST_CHECK arcp_status arcp__client_on_jobs(arcp__client_session *session,
                                                 const arcp__client_frame *frame);
ARCP_MUST_CHECK arcp_status arcp__client_on_pong(arcp__client_session *session,
                                                 const arcp__client_frame *frame);

/* ---- client_events.c ---- */

ARCP_MUST_CHECK arcp_status arcp__client_on_job_event(arcp__client_session *session,
                                                      const arcp__client_frame *frame);
ARCP_MUST_CHECK arcp_status arcp__client_on_job_end(arcp__client_session *session,
                                                    const arcp__client_frame *frame);
/* The record of a job, made when there is none; NULL when out of memory. */
ARCP_MUST_CHECK arcp_job *arcp__client_session_job(arcp__client_session *session, arcp_span id);
arcp_job *arcp__client_session_find_job(arcp__client_session *session, arcp_span id);
/* Makes the job known to the program and releases what was held for it. `by_reply`: the
 * reply that is queued already does. */
ARCP_MUST_CHECK arcp_status arcp__client_session_announce(arcp__client_session *session,
                                                          arcp_job *job, bool by_reply);
/* Announces the jobs whose events wait for a request that is no longer there. */
ARCP_MUST_CHECK arcp_status arcp__client_session_announce_held(arcp__client_session *session);
/* A submit or a subscription waits for its answer: a job that is not known may be its. */
bool arcp__client_session_waits_for_jobs(const arcp__client_session *session);

/* ---- client_past.c ---- */

#define ARCP__PAST_BYTES_MAX (8u << 20) /* outcomes of jobs that are over and not held */

/* A job that is over and has no handle: kept for a while, or forgotten. May free it. */
void arcp__client_past_add(arcp__client_session *session, arcp_job *job);
/* Somebody gets a handle of it again. */
void arcp__client_past_take_back(arcp__client_session *session, arcp_job *job);
/* A job that this session has seen end, and forgotten. */
bool arcp__client_past_is_gone(const arcp__client_session *session, arcp_span id);
/* Ends the submit that was answered with such a job. */
void arcp__client_past_answer(arcp__client_session *session, arcp__client_request *request,
                              arcp_span id);

/* ---- client_page.c ---- */

ARCP_MUST_CHECK arcp_status arcp__client_job_page_new(const arcp_json *json, arcp_json_ref payload,
                                                      arcp_job_page **out);

/* ---- client_liveness.c ---- */

int64_t arcp__client_liveness_deadline(const arcp__client_session *session);
void arcp__client_liveness_tick(arcp__client_session *session);
int64_t arcp__client_ack_deadline(const arcp__client_session *session);
void arcp__client_ack_tick(arcp__client_session *session);

/* ---- client_session.c ---- */

/* The connection cannot be used any more: cut it; what to do then follows from the state. */
void arcp__client_break(arcp__client_session *session, arcp_status status, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* The session is over, for this reason (NULL: as the program asked). */
void arcp__client_finish(arcp__client_session *session, const arcp_failure *failure);

#endif
