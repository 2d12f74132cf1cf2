/* For implementers of a provisioner, which issues the upstream credentials of jobs (§9.8).
 *
 * A provisioner requests values (keys, tokens) from an upstream (an LLM gateway, a paid API), each
 * for one job, and revokes them. Every call is asynchronous: its completion comes later, on the
 * loop's thread, never from inside the call. Every accepted call completes exactly once and in
 * bounded time, for which the provisioner has timeouts of its own. It does not retry: the runtime
 * decides when to call again, also after a restart.
 *
 * The runtime records each step in its store: the alias of a value before it requests the value,
 * and the value before it passes it on. After a crash or a timeout it revokes by alias what may
 * have been issued. A provisioner therefore must
 *  - send the alias to the upstream with every issue and rotate,
 *  - be able to revoke by alias alone (without an upstream id),
 *  - return ARCP_PROVISION_REFUSED only when nothing can have been issued.
 *
 * Values are secrets: a provisioner wipes its copies when the completion has returned, and writes
 * neither values nor the text of an upstream's responses into messages or logs.
 *
 * One thread, its loop's, makes all calls. Draft §9.8, §14. */
#ifndef ARCP_SYS_PROVISIONER_H
#define ARCP_SYS_PROVISIONER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_provisioner arcp_provisioner;

#define ARCP_CREDENTIAL_ALIAS_MAX 48u    /* bytes of an alias: letters, digits, '_' and '.' */
#define ARCP_CREDENTIAL_VALUE_MAX 16384u /* bytes of a value */
#define ARCP_CREDENTIAL_TEXT_MAX  2048u  /* of an upstream id, an endpoint, a scheme, a profile */

/* Limits that an upstream enforces itself; a credential's `constraints` list them (§9.8.3). */
enum {
    ARCP_ENFORCES_BUDGET = 1, /* a spending limit in the provisioner's currency */
    ARCP_ENFORCES_MODELS = 2, /* a list of allowed models */
    ARCP_ENFORCES_EXPIRY = 4, /* an end of validity */
    /* model.use, tool.call and every currency of cost.budget as they are in the lease, and each
     * call for itself; the terms need neither a currency nor models. */
    ARCP_ENFORCES_LEASE = 8
};

/* For which jobs and limits a provisioner issues values; constant as long as it exists. */
typedef struct arcp_provisioner_terms {
    size_t struct_size;
    /* Globs of the names of agents whose jobs get a value. None: all agents. */
    const char *const *agents;
    size_t agent_count;
    /* The names of all models of the upstream. A job gets a value for those that its lease allows,
     * and no value if it allows none. NULL: models are not considered. */
    const char *const *models;
    size_t model_count;
    const char *currency; /* of the upstream's limit, such as "USD"; NULL: there is no limit */
    unsigned enforces;    /* ARCP_ENFORCES_... */
} arcp_provisioner_terms;

static inline arcp_provisioner_terms arcp_provisioner_terms_init(void)
{
    arcp_provisioner_terms terms;
    memset(&terms, 0, sizeof terms);
    terms.struct_size = sizeof terms;
    return terms;
}

/* A request to the upstream. Everything is borrowed during the call only. */
typedef struct arcp_provision_request {
    size_t struct_size;
    uint64_t call_id;        /* the caller's; the result has the same one */
    arcp_span alias;         /* the runtime's name of the value, never used twice */
    arcp_span credential_id; /* the credential's id for clients; rotations keep it */
    arcp_span upstream_id; /* revoke, rotate, usage, keep: the upstream's name of the value; empty:
                              only the alias is known */
    arcp_span value;       /* revoke, usage, keep: the value, if it is still known */
    arcp_span job_id, principal, agent;
    arcp_span trace_id, traceparent; /* W3C trace context */
    /* Limits of the value, at issue and rotate. */
    arcp_span budget;        /* decimal text, in the terms' currency; empty: the job has none */
    const arcp_span *models; /* models of the terms' list that the lease allows */
    size_t model_count;
    bool has_models;      /* false: the terms have no list */
    arcp_span expires_at; /* RFC 3339; empty: never */
    uint64_t ttl_sec;     /* time until expires_at, rounded down, at least 1; 0: never expires */
} arcp_provision_request;

typedef enum arcp_provision_outcome {
    ARCP_PROVISION_UNKNOWN = 0, /* it may have been done or not (timeout, lost connection) */
    ARCP_PROVISION_DONE = 1,
    ARCP_PROVISION_REFUSED = 2, /* it has certainly not been done */
    ARCP_PROVISION_ABSENT = 3   /* revoke, usage: the upstream does not know the value */
} arcp_provision_outcome;

/* The result of a request. Everything is borrowed from the provisioner during the call only. A
 * result with a struct_size that is not valid, or with another outcome, counts as UNKNOWN. */
typedef struct arcp_provision_result {
    size_t struct_size;
    uint64_t call_id;
    arcp_provision_outcome outcome;
    arcp_status status;  /* unless DONE: the error for the submitter: ARCP_E_INTERNAL_ERROR,
                            ARCP_E_BUDGET_EXHAUSTED or ARCP_E_PERMISSION_DENIED */
    const char *message; /* unless DONE: one line for people, without any secret */
    /* issue and rotate, DONE: */
    arcp_span upstream_id; /* empty: only the alias names the value */
    arcp_span value;       /* not empty */
    arcp_span scheme;      /* empty: "bearer" */
    arcp_span endpoint;    /* not empty: the URL at which the value is to be used */
    arcp_span profile;     /* may be empty */
    uint64_t lifetime_sec; /* the value expires after this time; 0: it is valid until revoked */
    bool replaced;         /* rotate: the previous value is no longer valid and is not revoked */
    /* usage, DONE: */
    arcp_span spent; /* since the issue; decimal text in the terms' currency */
} arcp_provision_result;

/* A result whose outcome is UNKNOWN. */
static inline arcp_provision_result arcp_provision_result_init(void)
{
    arcp_provision_result result;
    memset(&result, 0, sizeof result);
    result.struct_size = sizeof result;
    return result;
}

/* An upstream's error, as an agent or the provisioner received it. */
typedef struct arcp_upstream_error {
    size_t struct_size;
    int http_status; /* 0: unknown */
    arcp_span text;  /* code, message or body, as far as known */
} arcp_upstream_error;

typedef struct arcp_provisioner_callbacks {
    void (*done)(void *user, const arcp_provision_result *result);
    void *user;
} arcp_provisioner_callbacks;

typedef struct arcp_provisioner_ops {
    size_t struct_size;
    const char *name; /* "static", "http"; stored with each credential */
    /* Sets the callbacks; once, before the first call. */
    void (*set_callbacks)(arcp_provisioner *provisioner,
                          const arcp_provisioner_callbacks *callbacks);
    /* Requests a new value under request->alias. If it returns another status than ARCP_OK
     * (ARCP_E_NO_MEMORY, ARCP_E_CLOSED, ARCP_E_IO), nothing was requested, and no completion
     * comes. */
    arcp_status (*issue)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                         arcp_error *err);
    /* Revokes the value named by upstream_id, or by alias if that is empty. DONE: it is not valid
     * any more. ABSENT: the upstream does not know the name. */
    arcp_status (*revoke)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                          arcp_error *err);
    /* Requests a value under request->alias in place of that of request->upstream_id, which stays
     * valid until it is revoked, unless the result has `replaced`. NULL: issue is called
     * instead. */
    arcp_status (*rotate)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                          arcp_error *err);
    /* Requests the amount that was spent with a value. NULL: the upstream cannot report it. */
    arcp_status (*usage)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                         arcp_error *err);
    /* The status for an upstream's error: ARCP_E_BUDGET_EXHAUSTED, ARCP_E_PERMISSION_DENIED or
     * another one with a wire code; ARCP_OK if the error is not known. Returns at once; may be
     * called any number of times. NULL: no error is known. */
    arcp_status (*translate_error)(const arcp_provisioner *provisioner,
                                   const arcp_upstream_error *error);
    /* Cancels pending calls, without completions, and frees the provisioner. The loop must run once
     * more before it is closed. */
    void (*free)(arcp_provisioner *provisioner);
    /* After a restart of the runtime: a job goes on with request->value, which was issued to it
     * under request->alias before. DONE: it is valid. With another outcome the runtime requests
     * another value in its place. NULL: values that were issued stay valid by themselves. */
    arcp_status (*keep)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                        arcp_error *err);
} arcp_provisioner_ops;

/* A provisioner's own struct begins with this one. */
struct arcp_provisioner {
    const arcp_provisioner_ops *ops;
    const arcp_provisioner_terms *terms;
};

#ifdef __cplusplus
}
#endif
#endif
