/* Upstream credentials of jobs (§9.8): who gets one, its life, who sees it.
 *
 * Nothing here knows a session, a link or a job. Who asks or looks comes in by value. A job, or
 * what waits to become one, has a slot; what is its owner's to do comes back by
 * arcp__credential_ops. */
#ifndef ARCP_CREDENTIAL_CREDENTIAL_H
#define ARCP_CREDENTIAL_CREDENTIAL_H

#include <arcp/gate.h>
#include <arcp/sys/provisioner.h>

#include "context/context.h"
#include "log/log.h"

typedef struct arcp__credential arcp__credential; /* one upstream value (§9.8) */

/* What jobs' credentials need from outside. Functions answer at once. */
typedef struct arcp__credential_options {
    const char *provisioner;             /* its name, kept with what it issued; borrowed */
    const arcp_provisioner_terms *terms; /* borrowed; NULL: there is no provisioner */
    bool can_measure;                    /* it has usage */
    /* Appends `value` sealed for the store, as text without quotes or controls, bound to
     * `alias`; and the other way round. False: it cannot be done. */
    bool (*seal)(void *user, arcp_span alias, arcp_span value, arcp_buf *out);
    bool (*unseal)(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out);
    arcp_status (*translate)(void *user, const arcp_upstream_error *error); /* may be NULL */
    void *user;
} arcp__credential_options;

typedef enum arcp__provision_verb {
    ARCP__PROVISION_ISSUE,
    ARCP__PROVISION_ROTATE,
    ARCP__PROVISION_REVOKE,
    ARCP__PROVISION_USAGE
} arcp__provision_verb;

/* What a job has of credentials, or what waits to become a job. */
typedef struct arcp__credential_slot {
    void *owner;                   /* for arcp__credential_ops */
    arcp__credential *live;        /* asked for until `answered`; then the job's */
    arcp__credential *replacement; /* asked for, to take its place */
    const arcp_lease *lease;       /* the job's, borrowed; NULL: it is no job yet */
    arcp_budget *budget;           /* likewise; NULL: it has none */
} arcp__credential_slot;

/* Called from within the functions below; `owner` is the slot's. */
typedef struct arcp__credential_ops {
    /* The first value was issued, or (`error`) will not be: the slot is empty then. */
    void (*answered)(void *user, void *owner, const arcp_error *error);
    /* The job has another value: `body` is that of the status event which says so. */
    void (*rotated)(void *user, void *owner, arcp_span body);
    /* The upstream counted so much more than the agent reported. */
    void (*spent)(void *user, void *owner, arcp_span currency, arcp_decimal amount);
} arcp__credential_ops;

typedef struct arcp__credentials {
    arcp__context *context;
    arcp__log *log;
    const arcp__credential_options *options;
    const arcp__credential_ops *ops;
    void *user;     /* of ops */
    int timer_kind; /* of timers that arcp__credential_due takes */
    bool makes_spans;
    arcp__credential *all;   /* by alias; owned */
    arcp__credential *calls; /* by call id */
    uint64_t next_call_id;
    uint64_t stuck_count;
    arcp_buf asking; /* the value in a request to the provisioner; secret */
} arcp__credentials;

void arcp__credentials_fini(arcp__credentials *credentials);
/* Issued, or perhaps issued, and not known to be revoked. */
size_t arcp__credentials_count(const arcp__credentials *credentials);

/* ---- who gets one, and how it is asked for ---- */

/* A session, as far as it decides what it gets and sees. */
typedef struct arcp__credential_viewer {
    const char *principal;
    bool is_anonymous;
    bool has_feature;     /* it negotiated provisioned_credentials */
    bool is_connected;    /* it has a link */
    bool link_is_private; /* which nobody else reads */
} arcp__credential_viewer;

typedef struct arcp__credential_wish {
    const char *job_id;
    const char *session_id;
    const char *principal;
    const char *trace_id;
    arcp_span agent_name; /* without a version */
    arcp_span traceparent;
    const arcp_lease *lease;
    arcp_budget *budget; /* of the job, in its tree; NULL: it has none */
} arcp__credential_wish;

/* Whether such a job of this session is to get a value (§9.8; docs/protocol.md, Authority). */
bool arcp__credential_is_wanted(const arcp__credentials *credentials,
                                const arcp__credential_viewer *viewer,
                                const arcp__credential_wish *wish);
/* Writes the intent down and asks when it is durable: for the slot's first value, or for one in
 * place of that. Nothing, when the lease leaves nothing to ask for. The slot's owner is told the
 * answer. */
void arcp__credential_ask(arcp__credentials *credentials, const arcp__credential_wish *wish,
                          arcp__credential_slot *slot);
/* The job (its slot is empty) begins with what waited for it. */
void arcp__credential_give(arcp__credential_slot *from, arcp__credential_slot *job);
/* The owner ended: what the slot has is revoked, at once or when it was answered. */
void arcp__credential_take_back(arcp__credentials *credentials, arcp__credential_slot *slot);

/* ---- inputs ---- */

void arcp__credential_due(arcp__credentials *credentials, arcp__timer *timer);
/* What a PROVISION effect with this call id asks for. It borrows until
 * arcp__credential_asked, which wipes what was secret in it. */
arcp__provision_verb arcp__credential_request(arcp__credentials *credentials, uint64_t call_id,
                                              arcp_provision_request *out);
void arcp__credential_asked(arcp__credentials *credentials);
/* The provisioner answered a call; one that is not under way is ignored. */
void arcp__credential_answered(arcp__credentials *credentials, const arcp_provision_result *result);
/* A row of the table CREDENTIALS; when all are there, everything that an earlier run left is
 * revoked. */
arcp_status arcp__credential_restore(arcp__credentials *credentials, const arcp_json *json,
                                     arcp_span key, arcp_error *err);
void arcp__credentials_restored(arcp__credentials *credentials);

void arcp__credentials_dump(const arcp__credentials *credentials, arcp__dump *dump);

/* ---- what a job's agent says ---- */

/* What it reports itself is not charged a second time. */
void arcp__credential_note_spend(const arcp__credentials *credentials,
                                 const arcp__credential_slot *slot, arcp_span currency,
                                 arcp_decimal amount);
/* An error of it that is the upstream's: the code it has here, ARCP_OK when it stays. */
arcp_status arcp__credential_translate(const arcp__credentials *credentials,
                                       const arcp__credential_slot *slot, const arcp_json *json,
                                       arcp_json_ref error);

/* ---- credential_show.c: who sees a value. A slot may be NULL: it has none ---- */

/* Whether a hello over this link may negotiate the feature. */
bool arcp__credentials_are_offered(const arcp__credentials *credentials, bool is_anonymous,
                                   bool link_is_private);
/* The member `credentials`, when the job has any and the viewer may see them (NULL: its agent,
 * which may): the writer's buffer becomes secret. */
void arcp__credentials_write(const arcp__credentials *credentials,
                             const arcp__credential_viewer *viewer,
                             const arcp__credential_slot *slot, arcp_json_writer *writer);
/* Adds them, when they are shown, to an answer whose payload is its last member: it becomes
 * secret. */
void arcp__credentials_reveal(const arcp__credentials *credentials,
                              const arcp__credential_viewer *viewer,
                              const arcp__credential_slot *slot, arcp_buf *frame);
/* The end of a record, from `skip` on, with the value in it when it is that of a rotation: it is
 * appended to `out`, which becomes secret. False: it is shown as it is. */
bool arcp__credential_reveal_rotated(const arcp__credentials *credentials,
                                     const arcp__credential_viewer *viewer, arcp_span record,
                                     size_t skip, arcp_buf *out);

#endif
