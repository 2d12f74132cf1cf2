/* What the files of the gateway share. Private to this folder's gateway*.c. */
#ifndef ARCP_GATEWAY_GATEWAY_PARTS_H
#define ARCP_GATEWAY_GATEWAY_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "base/ulid.h"
#include "gateway/gateway_job.h"

#define ARCP__GATEWAY_DIGEST_SIZE 32u

/* A server of the gateway. It is freed when its server is. */
typedef struct arcp__gateway_site {
    arcp__gateway *gateway;
    arcp__gateway_job *job;  /* whose connections it has; NULL: keys say whose a call is */
    arcp__gateway_kind kind; /* of a job's */
    arcp__web_server *server;
} arcp__gateway_site;

/* A message or a denial that waits for the runtime; its texts follow it in memory. */
typedef struct arcp__gateway_note {
    struct arcp__gateway_note *prev, *next;
    bool is_denial;
    arcp__job_message message;
    arcp__job_call call; /* of the message, if it has one */
    arcp__gateway_denial denial;
} arcp__gateway_note;

/* A connection from a sandbox that waits for the gateway's thread. */
typedef struct arcp__gateway_arrival {
    struct arcp__gateway_arrival *next;
    arcp__gateway_kind kind;
    int fd;
} arcp__gateway_arrival;

/* The id of a call whose hold is durable. */
typedef struct arcp__gateway_stored {
    struct arcp__gateway_stored *next;
    char call_id[40];
} arcp__gateway_stored;

typedef struct arcp__gateway_key arcp__gateway_key;     /* gateway_key.c */
typedef struct arcp__gateway_owner arcp__gateway_owner; /* likewise: the keys of one job */

struct arcp__gateway_job_parts {
    arcp__gateway_job job;
    arcp__gateway_site *sites[ARCP__GATEWAY_KINDS]; /* of the gateway's thread */
    arcp__gateway_call *calls;                      /* of the gateway's thread */
    arcp__gateway_events events;                    /* of the runtime's thread */

    /* Under the gateway's lock. */
    arcp__gateway_owner *keys; /* NULL: it is closed */
    bool is_queued, is_noticed, ends_calls, is_closed, is_idle, is_released;
    uint64_t call_count;
    uint32_t holds;
    arcp__gateway_arrival *arrivals;
    arcp__gateway_stored *stored;
    arcp__gateway_note *notes;
    struct arcp__gateway_job_parts *next_queued;
    struct arcp__gateway_job_parts *previous_noticed, *next_noticed;
};

typedef struct arcp__gateway_job_parts arcp__gateway_job_parts;

struct arcp__gateway {
    /* Of the gateway's thread. */
    uv_loop_t loop;
    uv_async_t async;
    uv_prepare_t before_waiting;  /* wakes the runtime, after what the turn has sent to clients */
    bool must_wake;               /* the runtime has notes to take */
    arcp__gateway_site *listener; /* NULL: closed */
    arcp__web_names names;        /* of the listener */
    arcp__web_client *client;
    void *services[ARCP__GATEWAY_KINDS];       /* NULL: none */
    void *configurations[ARCP__GATEWAY_KINDS]; /* each with a reference */
    arcp__gateway_limits limits;
    uint64_t buffered;
    arcp__ulid_source ids;

    /* Constant after the start. */
    pthread_t thread;
    const arcp__web_client_ops *client_ops;
    const arcp__job_gates *gates;
    const arcp__gateway_service *kinds[ARCP__GATEWAY_KINDS];
    char address[ARCP__GATEWAY_URL_MAX];
    char url[ARCP__GATEWAY_URL_MAX];
    char local_url[ARCP__GATEWAY_URL_MAX];
    bool has_url, has_tls; /* it was configured; the listener has TLS */

    pthread_mutex_t lock;
    pthread_cond_t changed;          /* a job has become idle, or the thread has started */
    uv_async_t *wake;                /* of the runtime */
    arcp__gateway_key *keys;         /* by digest */
    arcp__gateway_owner *owners;     /* by job id */
    arcp__gateway_job_parts *queued; /* for the gateway's thread */
    arcp__gateway_job_parts *noticed;
    arcp__gateway_limits new_limits;
    void *new_configurations[ARCP__GATEWAY_KINDS]; /* each with a reference; NULL: no change */
    bool has_new_limits, is_over;
    atomic_bool is_leaving;
    size_t job_count;
    arcp__gateway_counts counts;
};

static inline arcp__gateway_job_parts *arcp__gateway_parts(const arcp__gateway_job *job)
{
    return job->parts;
}

static inline const arcp__gateway_service *arcp__gateway_service_of(const arcp__gateway *gateway,
                                                                    arcp__gateway_kind kind)
{
    return gateway->kinds[kind];
}

/* ---- gateway.c ---- */

void arcp__gateway_count_call(arcp__gateway *gateway, bool is_refused);

/* ---- gateway_key.c ---- */

/* The job with this key, which is open; NULL: none, and *is_early says whether it is the key of one
 * that is not open yet. The gateway's thread. */
arcp__gateway_job *arcp__gateway_find(arcp__gateway *gateway, arcp_span key, bool *is_early);
arcp__gateway_job *arcp__gateway_find_digest(arcp__gateway *gateway,
                                             const unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE],
                                             bool *is_early);
/* False when memory is missing. */
ARCP_MUST_CHECK bool arcp__gateway_digest(arcp_span key,
                                          unsigned char out[ARCP__GATEWAY_DIGEST_SIZE]);
/* The keys that were issued for the job work from now on, and so does one of its own: the one with
 * the digest `known`, or else a new one, which is written to `own` (NULL: it has none). False when
 * memory is missing, or another job has that key. Called with the lock held. */
ARCP_MUST_CHECK bool arcp__gateway_keys_open(arcp__gateway_job_parts *parts,
                                             const unsigned char *known,
                                             char own[ARCP__GATEWAY_KEY_MAX]);
/* All keys of the job are dead. Does nothing the second time. Called with the lock held. */
void arcp__gateway_keys_close(arcp__gateway_job_parts *parts);
/* Frees what is left, when the gateway is freed. */
void arcp__gateway_keys_free(arcp__gateway *gateway);

/* ---- gateway_job.c ---- */

/* Does what was requested of a job, which is freed if it was released. The gateway's thread. */
void arcp__gateway_job_handle(arcp__gateway_job_parts *parts);
/* Counts a call; false: the job is closed, or has too many. The gateway's thread. */
ARCP_MUST_CHECK bool arcp__gateway_job_enter(arcp__gateway_job *job, bool *is_closed);
void arcp__gateway_job_leave(arcp__gateway_job *job);

/* ---- gateway_call.c ---- */

/* Opens a server for the listener (`listen` is not NULL) or for a job's connections. */
ARCP_MUST_CHECK arcp_status arcp__gateway_site_open(arcp__gateway *gateway,
                                                    const arcp__gateway_site *site,
                                                    const arcp__authority *listen,
                                                    const arcp__gateway_options *options,
                                                    arcp__gateway_site **out, arcp_error *err);
void arcp__gateway_site_close(arcp__gateway_site **site);
/* Ends a call now. It may be freed afterwards. */
void arcp__gateway_call_stop(arcp__gateway_call *call, arcp_status why);

/* ---- gateway_refusal.c ---- */

/* The form of errors that the sender of this request reads. */
arcp__gateway_form arcp__gateway_form_of(const arcp__web_head *head);
/* Writes an error response: its body and its header lines. */
void arcp__gateway_refusal_write(arcp__gateway_form form, int status, const char *code,
                                 arcp_span message, arcp_buf *body, arcp_buf *headers);

#endif
