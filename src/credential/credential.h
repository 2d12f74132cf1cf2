/* Upstream credentials of jobs (§9.8): which jobs get one, its life, and who may see it.
 *
 * Nothing here knows a session, a link or a job. Callers describe the session and the job by value
 * (arcp__credential_viewer, arcp__credential_spec). A job, or an admission, has a slot for its
 * credential; changes are reported to the slot's owner through arcp__credential_ops. */
#ifndef ARCP_CREDENTIAL_CREDENTIAL_H
#define ARCP_CREDENTIAL_CREDENTIAL_H

#include <arcp/gate.h>
#include <arcp/sys/provisioner.h>

#include "context/context.h"
#include "log/log.h"

typedef struct arcp__credential arcp__credential; /* one upstream value (§9.8) */

/* What the owner of the engine provides. The functions return at once. */
typedef struct arcp__credential_options {
    const char *provisioner; /* its name, stored with each credential that it issued; borrowed */
    const arcp_provisioner_terms *terms; /* borrowed; NULL: there is no provisioner */
    bool can_measure;                    /* it can report usage */
    bool can_keep;                       /* it gets the values that outlive a restart */
    /* Appends `value` sealed for the store, as text without quotes or control characters, bound to
     * `alias`; `unseal` reverses it. False: it failed. */
    bool (*seal)(void *user, arcp_span alias, arcp_span value, arcp_buf *out);
    bool (*unseal)(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out);
    arcp_status (*translate)(void *user, const arcp_upstream_error *error); /* may be NULL */
    void *user;
} arcp__credential_options;

typedef enum arcp__provision_verb {
    ARCP__PROVISION_ISSUE,
    ARCP__PROVISION_ROTATE,
    ARCP__PROVISION_REVOKE,
    ARCP__PROVISION_USAGE,
    ARCP__PROVISION_KEEP
} arcp__provision_verb;

/* The credential of a job, or of an admission. */
typedef struct arcp__credential_slot {
    void *owner;                   /* for arcp__credential_ops */
    arcp__credential *live;        /* being requested until `answered`; then the job's */
    arcp__credential *replacement; /* being requested, to replace `live` */
    const arcp_lease *lease;       /* the job's, borrowed; NULL: still an admission */
    arcp_budget *budget;           /* borrowed; NULL: none */
} arcp__credential_slot;

/* Called from within the functions below; `owner` is the slot's. */
typedef struct arcp__credential_ops {
    /* The first value was issued or, with `error`, will not be; the slot is then empty. */
    void (*answered)(void *user, void *owner, const arcp_error *error);
    /* The job has a new value; `body` is the body of the status event that reports it. */
    void (*rotated)(void *user, void *owner, arcp_span body);
    /* The upstream counted `amount` more than the agent reported. */
    void (*spent)(void *user, void *owner, arcp_span currency, arcp_decimal amount);
    /* After a restart: the slot of a job that goes on, or waits; NULL: it has ended. */
    arcp__credential_slot *(*slot_of)(void *user, const char *job_id);
} arcp__credential_ops;

typedef struct arcp__credentials {
    arcp__context *context;
    arcp__log *log;
    const arcp__credential_options *options;
    const arcp__credential_ops *ops;
    void *user;     /* of ops */
    int timer_kind; /* of the timers for arcp__credential_due */
    bool makes_spans;
    arcp__credential *all;   /* by alias; owned */
    arcp__credential *calls; /* by call id */
    uint64_t next_call_id;
    uint64_t stuck_count;
    arcp_buf request_value; /* the value in a request to the provisioner; secret */
} arcp__credentials;

void arcp__credentials_fini(arcp__credentials *credentials);
/* Issued, or perhaps issued, and not known to be revoked. */
size_t arcp__credentials_count(const arcp__credentials *credentials);

/* ---- which jobs get one, and how it is requested ---- */

/* The properties of a session that decide what its jobs get and what it sees. */
typedef struct arcp__credential_viewer {
    const char *principal;
    bool is_anonymous;
    bool has_feature;     /* it negotiated provisioned_credentials */
    bool is_connected;    /* it has a link */
    bool link_is_private; /* no third party can read its traffic */
} arcp__credential_viewer;

typedef struct arcp__credential_spec {
    const char *job_id;
    const char *session_id;
    const char *principal;
    const char *trace_id;
    arcp_span agent_name; /* without a version */
    arcp_span traceparent;
    const arcp_lease *lease;
    arcp_budget *budget; /* of the job, in its tree; NULL: it has none */
} arcp__credential_spec;

/* Whether such a job of this session gets a credential (§9.8; docs/protocol.md, Authority). */
bool arcp__credential_is_wanted(const arcp__credentials *credentials,
                                const arcp__credential_viewer *viewer,
                                const arcp__credential_spec *spec);
/* Stores the intent and, when that is durable, requests the slot's first value or a replacement.
 * Does nothing when the lease leaves nothing to request. The result comes by
 * arcp__credential_ops. */
void arcp__credential_ask(arcp__credentials *credentials, const arcp__credential_spec *spec,
                          arcp__credential_slot *slot);
/* Moves the credential of an admission into the empty slot of its job. */
void arcp__credential_move(arcp__credential_slot *from, arcp__credential_slot *job);
/* The owner has ended: revokes what the slot has, at once or when its request is answered. */
void arcp__credential_release(arcp__credentials *credentials, arcp__credential_slot *slot);

/* ---- inputs ---- */

void arcp__credential_due(arcp__credentials *credentials, arcp__timer *timer);
/* The request of the PROVISION effect with this call id. It borrows until
 * arcp__credential_request_sent, which wipes the secret in it. */
arcp__provision_verb arcp__credential_request(arcp__credentials *credentials, uint64_t call_id,
                                              arcp_provision_request *out);
void arcp__credential_request_sent(arcp__credentials *credentials);
/* The provisioner's response to a call; ignored when that call is not under way. */
void arcp__credential_answered(arcp__credentials *credentials, const arcp_provision_result *result);
/* Restores a row of the table CREDENTIALS. When all rows are restored, arcp__credentials_take_back
 * gives the issued values back to the jobs that go on, and arcp__credentials_restored revokes
 * everything else that an earlier run left. */
arcp_status arcp__credential_restore(arcp__credentials *credentials, const arcp_json *json,
                                     arcp_span key, arcp_error *err);
void arcp__credentials_take_back(arcp__credentials *credentials);
void arcp__credentials_restored(arcp__credentials *credentials);

void arcp__credentials_dump(const arcp__credentials *credentials, arcp__dump *dump);

/* ---- what a job's agent reports ---- */

/* Notes a cost that the agent reported, so that the upstream's count does not charge it again. */
void arcp__credential_note_spend(const arcp__credentials *credentials,
                                 const arcp__credential_slot *slot, arcp_span currency,
                                 arcp_decimal amount);
/* The costs that were noted since the value was issued; they are stored with the job. */
arcp_decimal arcp__credential_reported(const arcp__credential_slot *slot);
void arcp__credential_restore_reported(const arcp__credential_slot *slot, arcp_decimal reported);
/* Translates an agent's error that comes from the upstream; ARCP_OK: it keeps its code. */
arcp_status arcp__credential_translate(const arcp__credentials *credentials,
                                       const arcp__credential_slot *slot, const arcp_json *json,
                                       arcp_json_ref error);

/* The URL that the issued value of the slot is for; empty: none. */
arcp_span arcp__credential_endpoint(const arcp__credential_slot *slot);

/* ---- credential_show.c: who may see a value. A slot may be NULL: none ---- */

/* Whether a hello over this link may negotiate the feature. */
bool arcp__credentials_are_offered(const arcp__credentials *credentials, bool is_anonymous,
                                   bool link_is_private);
/* Writes the member `credentials` if the job has one and the viewer may see it (NULL: the job's
 * agent, which may); the writer's buffer then becomes secret. */
void arcp__credentials_write(const arcp__credentials *credentials,
                             const arcp__credential_viewer *viewer,
                             const arcp__credential_slot *slot, arcp_json_writer *writer);
/* Adds that member to a response whose payload is its last member; the frame then becomes
 * secret. */
void arcp__credentials_reveal(const arcp__credentials *credentials,
                              const arcp__credential_viewer *viewer,
                              const arcp__credential_slot *slot, arcp_buf *frame);
/* If the record reports a rotation whose value the viewer may see, appends the record from `skip`
 * on, with the value added, to `out`, which becomes secret. False: the record is shown
 * unchanged. */
bool arcp__credential_reveal_rotated(const arcp__credentials *credentials,
                                     const arcp__credential_viewer *viewer, arcp_span record,
                                     size_t skip, arcp_buf *out);

#endif
