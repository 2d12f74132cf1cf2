/* Shared by the files of src/credential. */
#ifndef ARCP_CREDENTIAL_CREDENTIAL_STATE_H
#define ARCP_CREDENTIAL_CREDENTIAL_STATE_H

#include "base/arena.h"
#include "base/hash.h"
#include "context/context.h"
#include "core/trace.h"
#include "credential/credential.h"

typedef enum arcp__credential_state {
    ARCP__CREDENTIAL_INTENT,  /* the upstream was asked, or may have been, under this alias */
    ARCP__CREDENTIAL_LIVE,    /* issued; its job has it or will get it */
    ARCP__CREDENTIAL_REVOKING /* to be revoked, until the upstream confirms it */
} arcp__credential_state;

#define ARCP__CREDENTIAL_ALIAS_SIZE (ARCP__ID_SIZE + 12)

/* One value requested from an upstream: a row of the table CREDENTIALS until its revocation is
 * confirmed. A rotation makes another one with the same id. The spans point into the arena, each
 * with a NUL behind it; one that is not set is empty. */
struct arcp__credential {
    char alias[ARCP__CREDENTIAL_ALIAS_SIZE]; /* the key of its row */
    char id[ARCP__ID_SIZE];
    uint64_t generation;      /* 1 for the first */
    uint64_t last_generation; /* the highest generation requested under this id; in the row of the
                                 live one, so that no alias is used twice */
    arcp__credential_state state;
    arcp_span state_name; /* while a row is read or written */
    arcp__arena arena;
    UT_hash_handle hh;
    char job_id[ARCP__ID_SIZE];
    char session_id[ARCP__ID_SIZE]; /* that the job runs on */
    char trace_id[ARCP__TRACE_ID_SIZE + 1];
    arcp_span provisioner, principal, agent, traceparent;

    /* The request. */
    char budget[ARCP_DECIMAL_TEXT_MAX]; /* "" for none */
    char expires_at[32];                /* "" for none */
    int64_t expires_wall_ns;
    arcp_span *models; /* spans into the terms, in the arena; NULL: no list */
    size_t model_count;

    /* The upstream's response. */
    arcp_span upstream_id, sealed, scheme, endpoint, profile;
    arcp_span constraints;   /* a JSON object */
    uint8_t fingerprint[32]; /* of the value */
    bool has_fingerprint;

    arcp__credential_slot *slot; /* the slot that it is in; NULL: no job needs it any more */
    uint64_t call_id;            /* of the call under way; 0: none */
    arcp__provision_verb verb;   /* of that call */
    char call_traceparent[ARCP__TRACEPARENT_SIZE + 1]; /* of that call, once it is made */
    int64_t call_wall_ns;                              /* of that call, once it is made */
    UT_hash_handle hh_call;
    arcp__timer timer;       /* LIVE: rotation; REVOKING: the next attempt */
    arcp__timer usage_timer; /* LIVE */
    arcp_decimal reported;   /* by the agent itself, since the value was issued */
    int64_t rotates_wall_ns; /* LIVE: when its value is to be replaced; 0: never */

    int64_t requested_wall_ns;    /* when the value was requested; before that, when the intent was
                                     stored */
    int64_t next_attempt_wall_ns; /* 0: none is planned */
    uint64_t attempts;
    bool is_stuck;
    char last_error[160];
};

/* ---- credential_row.c ---- */
extern const char *const arcp__credential_state_names[];
/* NULL: no credential has this alias. */
arcp__credential *arcp__credential_find(const arcp__credentials *credentials, const char *alias);
/* The name given to the upstream: the id, or "id.N" for generations after the first. */
void arcp__credential_alias(const char *id, uint64_t generation,
                            char out[ARCP__CREDENTIAL_ALIAS_SIZE]);
/* A new credential, listed under its alias, which must be unused. NULL when out of memory. */
arcp__credential *arcp__credential_new(arcp__credentials *credentials, const char *id,
                                       uint64_t generation);
void arcp__credential_free(arcp__credentials *credentials, arcp__credential *credential);
/* Copies a text into the credential's arena. */
arcp_span arcp__credential_copy(const arcp__credentials *credentials, arcp__credential *credential,
                                arcp_span text);
/* Writes its row. */
void arcp__credential_store(arcp__credentials *credentials, arcp__credential *credential);

/* ---- credential_call.c ---- */
/* Sets the limits of the request from lease and budget. False: the lease leaves nothing to
 * request. */
bool arcp__credential_limit(arcp__credentials *credentials, arcp__credential *credential,
                            const arcp_lease *lease, const arcp_budget *budget);
/* Calls the provisioner unless a call is under way, whose result decides what comes next. */
void arcp__credential_call(arcp__credentials *credentials, arcp__credential *credential,
                           arcp__provision_verb verb);
/* Ends a call and returns its credential; NULL: this call is not under way. */
arcp__credential *arcp__credential_end_call(arcp__credentials *credentials,
                                            const arcp_provision_result *result);

/* ---- credential.c ---- */
/* No job needs it any more. While it is being requested, the result of the request revokes it. */
void arcp__credential_abandon(arcp__credentials *credentials, arcp__credential *credential);
/* When its value is to be replaced; an instant that has passed: in the next turn. */
void arcp__credential_rotate_at(const arcp__credentials *credentials, arcp__credential *credential,
                                int64_t wall_ns);
void arcp__credential_plan_usage(arcp__credentials *credentials, arcp__credential *credential);

/* ---- credential_restart.c ---- */
/* The provisioner got its value. If it does not accept that, another one takes its place. */
void arcp__credential_kept(arcp__credentials *credentials, arcp__credential *credential,
                           const arcp_provision_result *result);

/* ---- credential_show.c ---- */
/* Appends the value in the clear; `out` must be secret. */
bool arcp__credential_unseal(const arcp__credentials *credentials,
                             const arcp__credential *credential, arcp_buf *out);
bool arcp__credential_can_unseal(const arcp__credentials *credentials,
                                 const arcp__credential *credential);

#endif
