/* For implementers of a provisioner: where a job's upstream credentials come from (§9.8).
 *
 * A provisioner asks an upstream (an LLM gateway, a paid API) for values that are good for
 * one job, and takes them back. Every call is asynchronous: its completion comes later, on
 * the loop's thread, never from inside the call. Every call that was accepted completes
 * exactly once and in bounded time (time-outs are the provisioner's); no retries of its own:
 * the runtime decides when to ask again, also after a restart.
 *
 * The runtime keeps books. Before it asks for a value it has written down the alias it asks
 * under; before it hands a value out it has written down that it exists. What it cannot
 * know after a crash or a time-out it revokes by alias. A provisioner therefore must
 *  - give the alias to the upstream with every issue and rotate,
 *  - be able to revoke by alias alone (no upstream id),
 *  - say ARCP_PROVISION_REFUSED only when certainly nothing was issued.
 *
 * Values are secrets: a provisioner wipes its copies as soon as the completion returned, and
 * neither values nor what an upstream said word by word go into messages or logs.
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

/* What an upstream enforces by itself, so that `constraints` may say so (§9.8.3). */
enum {
    ARCP_ENFORCES_BUDGET = 1, /* a spend cap in the provisioner's currency */
    ARCP_ENFORCES_MODELS = 2, /* a list of allowed models */
    ARCP_ENFORCES_EXPIRY = 4  /* an end of validity */
};

/* What a provisioner's values are good for; constant while it lives. */
typedef struct arcp_provisioner_terms {
    size_t struct_size;
    /* Globs over agents' names: jobs of others get no value. None: all agents. */
    const char *const *agents;
    size_t agent_count;
    /* Every model that the upstream knows, by name. A job gets a value for those that its
     * lease allows, and none at all when it allows none. No list: models do not matter. */
    const char *const *models;
    size_t model_count;
    const char *currency; /* of the upstream's cap, "USD"; NULL: there is no cap */
    unsigned enforces;    /* ARCP_ENFORCES_... */
} arcp_provisioner_terms;

static inline arcp_provisioner_terms arcp_provisioner_terms_init(void)
{
    arcp_provisioner_terms terms;
    memset(&terms, 0, sizeof terms);
    terms.struct_size = sizeof terms;
    return terms;
}

/* What is asked. Everything is borrowed during the call only. */
typedef struct arcp_provision_request {
    size_t struct_size;
    uint64_t call_id;        /* the caller's; handed back */
    arcp_span alias;         /* ours, never used twice */
    arcp_span credential_id; /* as the client knows it; the same over rotations */
    arcp_span upstream_id;   /* the upstream's name for what is revoked or measured; empty:
                                only the alias is known */
    arcp_span value;         /* revoke and usage: the value, when it is still known */
    arcp_span job_id, principal, agent;
    arcp_span trace_id, traceparent; /* W3C trace context */
    /* Limits to be baked in, at issue and rotate. */
    arcp_span budget;        /* decimal text, in the terms' currency; empty: the job has none */
    const arcp_span *models; /* those of the terms' list that the lease allows */
    size_t model_count;
    bool has_models;      /* false: the terms have no list */
    arcp_span expires_at; /* RFC 3339; empty: never */
    uint64_t ttl_sec;     /* until then, rounded down, at least 1; 0: never */
} arcp_provision_request;

typedef enum arcp_provision_outcome {
    ARCP_PROVISION_UNKNOWN = 0, /* it may have happened or not (time-out, connection lost) */
    ARCP_PROVISION_DONE = 1,
    ARCP_PROVISION_REFUSED = 2, /* it certainly did not happen */
    ARCP_PROVISION_ABSENT = 3   /* revoke, usage: the upstream has nothing under that name */
} arcp_provision_outcome;

/* What came of it. Everything is borrowed from the provisioner during the call only. One of another
 * struct_size than this release's, or of an outcome that is none, counts as UNKNOWN. */
typedef struct arcp_provision_result {
    size_t struct_size;
    uint64_t call_id;
    arcp_provision_outcome outcome;
    arcp_status status;  /* not DONE: what the submitter gets: ARCP_E_INTERNAL_ERROR,
                            ARCP_E_BUDGET_EXHAUSTED or ARCP_E_PERMISSION_DENIED */
    const char *message; /* not DONE: one line for people, without any secret */
    /* issue and rotate, DONE: */
    arcp_span upstream_id; /* empty: it is known by the alias only */
    arcp_span value;       /* not empty */
    arcp_span scheme;      /* empty: "bearer" */
    arcp_span endpoint;    /* not empty: where the value may be shown */
    arcp_span profile;     /* may be empty */
    uint64_t lifetime_sec; /* the value ends by itself after this; 0: not before it is revoked */
    bool replaced;         /* rotate: the old value is dead already, nothing is to be revoked */
    /* usage, DONE: */
    arcp_span spent; /* decimal text in the terms' currency, since it was issued */
} arcp_provision_result;

/* Its outcome is UNKNOWN until it is set. */
static inline arcp_provision_result arcp_provision_result_init(void)
{
    arcp_provision_result result;
    memset(&result, 0, sizeof result);
    result.struct_size = sizeof result;
    return result;
}

/* How an upstream refused something, as an agent or the provisioner saw it. */
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
    const char *name; /* "static", "http": kept with what was issued */
    /* Sets the callbacks; once, before the first call. */
    void (*set_callbacks)(arcp_provisioner *provisioner,
                          const arcp_provisioner_callbacks *callbacks);
    /* Asks for a new value under request->alias. Anything but ARCP_OK (ARCP_E_NO_MEMORY,
     * ARCP_E_CLOSED, ARCP_E_IO): nothing was asked, and no completion comes. */
    arcp_status (*issue)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                         arcp_error *err);
    /* Ends the value named by upstream_id, or by alias when that is empty. DONE: it is dead
     * now, or has been before. ABSENT: the upstream does not know the name. */
    arcp_status (*revoke)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                          arcp_error *err);
    /* Asks for a value under request->alias in place of that of request->upstream_id, which
     * stays good until it is revoked, unless the result says `replaced`. NULL: issue serves. */
    arcp_status (*rotate)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                          arcp_error *err);
    /* Requests the amount that was spent with a value. NULL: the upstream cannot report it. */
    arcp_status (*usage)(arcp_provisioner *provisioner, const arcp_provision_request *request,
                         arcp_error *err);
    /* What an upstream's error means here: ARCP_E_BUDGET_EXHAUSTED, ARCP_E_PERMISSION_DENIED
     * or another wire code; ARCP_OK when nothing is known about it. At once; any number of
     * times. NULL: nothing is ever known. */
    arcp_status (*translate_error)(const arcp_provisioner *provisioner,
                                   const arcp_upstream_error *error);
    /* Gives calls under way up, without completions, and frees. The loop must run once more
     * before it is closed. */
    void (*free)(arcp_provisioner *provisioner);
} arcp_provisioner_ops;

/* Back ends begin with this. */
struct arcp_provisioner {
    const arcp_provisioner_ops *ops;
    const arcp_provisioner_terms *terms;
};

#ifdef __cplusplus
}
#endif
#endif
