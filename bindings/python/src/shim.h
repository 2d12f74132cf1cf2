/* libarcp and libarcp-client as the Python package calls them: pointers and lengths instead of
 * spans, one error, decimals as text. What changes in the C interface changes here and nowhere in
 * Python.
 *
 * The part between the two marks is read twice: by the C compiler, and by cffi (build_ffi.py),
 * which knows neither macros nor inline functions. */
#ifndef ARCP_PYTHON_SHIM_H
#define ARCP_PYTHON_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- for cffi: begin --- */

typedef struct arcp_lease arcp_lease;
typedef struct arcp_budget arcp_budget;
typedef struct arcp_authority arcp_authority;
typedef struct arcp_client arcp_client;
typedef struct arcp_job arcp_job;
typedef struct arcp_job_page arcp_job_page;

/* Borrowed bytes. */
typedef struct py_text {
    const char *data;
    size_t size;
} py_text;

/* Bytes that the caller gives back with py_owned_free, which wipes them. */
typedef struct py_owned {
    char *data;
    size_t size;
} py_owned;

void py_owned_free(py_owned *owned);

/* Why a call failed. Written only then; details are the caller's to free. */
typedef struct py_error {
    const char *status; /* name of the status; static */
    bool retryable;
    int64_t offset;    /* byte offset in the text that was read; -1: none */
    char code[64];     /* as the peer wrote it; "" for what failed here */
    char message[256]; /* one line */
    py_owned details;  /* JSON; empty: none */
} py_error;

/* What every function below that takes a py_error returns. */
enum py_result { PY_OK, PY_FAILED, PY_DEADLINE, PY_CLOSED };

/* ---- leases ---- */

int py_lease_parse(py_text lease, py_text constraints, arcp_lease **out, py_error *error);
void py_lease_unref(arcp_lease *lease);
int py_lease_text(arcp_lease *lease, py_owned *lease_json, py_owned *constraints_json);
/* In ns since 1970; INT64_MAX for a lease that does not expire. */
int64_t py_lease_expires_ns(arcp_lease *lease);
int py_lease_lint(arcp_lease *lease, int64_t wall_ns, py_owned *json);

/* Why one lease is not within another. */
typedef struct py_violation {
    const char *reason; /* name of the reason; static; NULL: it is within */
    char message[256];  /* one line */
    py_owned details;   /* JSON: capability, child_pattern, witness, reason */
    py_owned witness;   /* its exact bytes */
} py_violation;

int py_lease_subset(arcp_lease *child, arcp_lease *parent, py_violation *out, py_error *error);
int py_lease_assert_subset(arcp_lease *child, arcp_lease *parent, py_error *error);
int py_lease_narrow(arcp_lease *request, arcp_lease *ceiling, bool absent_is_open, arcp_lease **out,
                    py_owned *dropped_json, py_error *error);

/* ---- the gate ---- */

typedef struct py_authority_options {
    arcp_budget *budget; /* NULL: one is made from the lease */
    arcp_authority *parent;
    int64_t wall_ns, mono_ns, expiry_grace_ns;
    py_text cwd;
    bool model_use_required;
} py_authority_options;

int py_authority_new(arcp_lease *lease, const py_authority_options *options, arcp_authority **out,
                     py_error *error);
void py_authority_unref(arcp_authority *authority);
/* A reference of the caller's. */
arcp_budget *py_authority_budget(arcp_authority *authority);
int py_lease_derive(arcp_authority *parent, arcp_lease *request, arcp_lease **out, py_error *error);

/* `pattern` lives as long as the authority's lease, `currency` as its budget. */
typedef struct py_decision {
    bool allowed;
    const char *code;   /* static; of a denial */
    const char *reason; /* static; of a denial */
    py_text pattern, currency;
    py_owned canonical;
    py_owned message, details; /* of a denial */
} py_decision;

/* One question: at what time, which capability, which target. The target of `is_delegate` is an
 * agent's name; `version` may then be given. */
typedef struct py_question {
    int64_t wall_ns, mono_ns;
    py_text capability, target, version;
    bool is_delegate;
} py_question;

int py_authorize(arcp_authority *authority, const py_question *question, py_decision *out);
int py_explain(arcp_authority *authority, const py_question *question, bool as_json, py_owned *out,
               bool *allowed);

/* ---- budgets ---- */

int py_budget_new(arcp_lease *lease, arcp_budget *parent, arcp_budget **out, py_error *error);
void py_budget_unref(arcp_budget *budget);
/* A reference of the caller's; NULL: the node has no parent. */
arcp_budget *py_budget_parent(arcp_budget *budget);

/* A counter of the node, as text: exact, without exponent. */
typedef struct py_counter {
    py_text currency;
    char initial[44], spent[44], remaining[44];
} py_counter;

/* False: the node has no counter of this number. */
bool py_budget_counter(arcp_budget *budget, size_t i, py_counter *out);
/* False: no node counts the currency. */
bool py_budget_available(arcp_budget *budget, py_text currency, char *decimal44);
/* False when a counter is used up; its currency is written then. */
bool py_budget_is_open(arcp_budget *budget, py_text *currency);

typedef struct py_report {
    arcp_budget *budget; /* a reference of the caller's */
    py_text currency;    /* lives with that node */
    char remaining[44];
    bool exhausted;
} py_report;

/* Amounts are JSON numbers; digits beyond the 18th round up. `*count` is how many reports there
 * are, of which at most `reports_max` are written. `held` is empty for a plain spend. */
int py_budget_spend(arcp_budget *budget, py_text currency, py_text held, py_text amount,
                    py_report *reports, size_t reports_max, size_t *count, py_error *error);
int py_budget_reserve(arcp_budget *budget, py_text currency, py_text amount, bool *reserved,
                      py_error *error);
int py_budget_release(arcp_budget *budget, py_text currency, py_text held, py_error *error);

/* ---- the client ---- */

/* Durations are in ms; 0 and empty texts: the library's default. */
typedef struct py_client_options {
    py_text url, token, name, version, tls_ca_file;
    py_text session_id, resume_token; /* session_id not empty: a session to resume */
    uint64_t last_event_seq;
    uint32_t features; /* bits; 0: all */
    int64_t connect_timeout_ms, connect_retry_ms, request_timeout_ms, give_up_ms;
    size_t unread_bytes_max, frame_bytes_max;
    bool no_reconnect, observe;
} py_client_options;

/* Blocks, as everything below that takes a timeout (in ms; INT64_MAX: none; -1: that of requests).
 */
int py_client_connect(const py_client_options *options, arcp_client **out, py_error *error);
void py_client_close(arcp_client *client);
void py_client_free(arcp_client *client);
/* Makes the blocking calls of the client return. */
void py_client_interrupt(arcp_client *client);

uint32_t py_client_features(arcp_client *client);
/* NULL: there is no such feature. */
const char *py_feature_name(uint32_t number);
int py_client_welcome(arcp_client *client, py_owned *json, py_error *error);

typedef struct py_session_state {
    py_owned session_id, resume_token;
    uint64_t last_event_seq;
} py_session_state;

int py_client_session_state(arcp_client *client, py_session_state *out, py_error *error);

typedef struct py_submit_options {
    py_text agent, input, lease, constraints, idempotency_key, traceparent, tracestate;
    uint64_t max_runtime_sec;
    int fd; /* where a streamed result is written; -1: collected, up to bytes_max */
    uint64_t bytes_max;
    bool outcome_only;
    void *tag; /* a number that becomes py_event.number of its events */
} py_submit_options;

int py_client_submit(arcp_client *client, const py_submit_options *options, int64_t timeout_ms,
                     arcp_job **out, py_error *error);

typedef struct py_subscribe_options {
    py_text job_id;
    bool history, has_from;
    uint64_t from;
    int fd;
    uint64_t bytes_max;
    void *tag;
} py_subscribe_options;

int py_client_subscribe(arcp_client *client, const py_subscribe_options *options,
                        int64_t timeout_ms, arcp_job **out, py_error *error);
int py_client_unsubscribe(arcp_client *client, py_text job_id, py_error *error);
int py_client_cancel(arcp_client *client, py_text job_id, py_text reason, int64_t timeout_ms,
                     py_error *error);
int py_client_ping(arcp_client *client, int64_t timeout_ms, int64_t *round_trip_ns,
                   py_error *error);

typedef struct py_list_options {
    uint32_t statuses; /* bits by py_job_status_name; 0: all */
    py_text agent, created_after, created_before, cursor;
    uint32_t limit;
} py_list_options;

/* Texts live with the page. */
typedef struct py_job_row {
    py_text job_id, agent, status, created_at, parent_job_id, trace_id;
    uint64_t last_event_seq;
} py_job_row;

/* NULL: there is no such status. */
const char *py_job_status_name(uint32_t number);
int py_client_list(arcp_client *client, const py_list_options *options, int64_t timeout_ms,
                   arcp_job_page **out, py_error *error);
size_t py_job_page_count(arcp_job_page *page);
void py_job_page_row(arcp_job_page *page, size_t i, py_job_row *out);
py_text py_job_page_next_cursor(arcp_job_page *page);
void py_job_page_free(arcp_job_page *page);

/* ---- the view ---- */

/* The response to a request x-vendor.arcpd.NAME. */
int py_client_view(arcp_client *client, const char *name, py_text payload, int64_t timeout_ms,
                   py_owned *json, py_error *error);

typedef struct py_watch_options {
    bool jobs, figures;
    py_text principal;
} py_watch_options;

int py_client_watch(arcp_client *client, const py_watch_options *options, int64_t timeout_ms,
                    py_error *error);
int py_client_unwatch(arcp_client *client, int64_t timeout_ms, py_error *error);

/* ---- events ---- */

enum py_event_type {
    PY_CONNECTED,
    PY_DISCONNECTED,
    PY_RESUMED,
    PY_ENDED, /* the client, for good */
    PY_JOB_ADDED,
    PY_JOB_EVENT,
    PY_JOB_ENDED,
    PY_NOTICE,
    PY_JOBS_CHANGED,
    PY_FIGURES,
    PY_WATCH_ENDED
};

/* Lives until the next event of the same job or client is read; `error` is the caller's to free. */
typedef struct py_event {
    int type;
    arcp_job *job;   /* borrowed; NULL: about the session */
    uint64_t number; /* of its submit or subscription; 0: none */
    uint64_t seq;
    py_text kind, ts, body;
    int64_t retry_in_ms;
    bool has_error;
    py_error error;
} py_event;

/* PY_DEADLINE: none came in time. PY_CLOSED: none can come any more. */
int py_client_next(arcp_client *client, int64_t timeout_ms, py_event *out, py_error *error);
int py_job_next(arcp_job *job, int64_t timeout_ms, py_event *out, py_error *error);
/* Waits until the job has ended, dropping its events. */
int py_job_wait(arcp_job *job, int64_t timeout_ms, py_error *error);

/* ---- jobs ---- */

arcp_job *py_job_ref(arcp_job *job);
void py_job_unref(arcp_job *job);
void py_job_set_tag(arcp_job *job, void *tag);

/* What never changes; lives with the job. */
typedef struct py_job_facts {
    py_text id, agent, lease, constraints, trace_id, parent_id;
} py_job_facts;

void py_job_facts_of(arcp_job *job, py_job_facts *out);
const char *py_job_status(arcp_job *job);

/* How a job ended; texts live with the job, `error` is the caller's to free. */
typedef struct py_outcome {
    const char *status; /* of the job; static */
    bool streamed;
    py_text result, bytes, summary;
    uint64_t streamed_bytes;
    bool has_error;
    py_error error;
} py_outcome;

/* False: it has not ended, or its end was not read. */
bool py_job_outcome(arcp_job *job, py_outcome *out);

typedef struct py_job_budget {
    char currency[72];
    char initial[44]; /* "": not known */
    char remaining[44];
} py_job_budget;

bool py_job_budget_at(arcp_job *job, size_t i, py_job_budget *out);

/* The credentials that came with the job, once: a JSON array of {id, value, endpoint, profile,
 * constraints}, all of them texts. */
int py_job_take_credentials(arcp_job *job, py_owned *json);

/* --- for cffi: end --- */

#endif
