/* What the engine asks the hosts of agents about confinement, and what they report: whether
 * an agent may run with a lease in a sandbox of this host, and what a sandbox denied.
 *
 * The engine knows no sandbox. Its owner compiles a plan from the lease when a job is about to be
 * made, and answers with texts that the engine shows, and with the plan itself, which the engine
 * only keeps:
 *
 *     admit ── the order is refused ──> nothing: such an answer has no plan
 *       │
 *       └── admitted ──> job->live->enforcement->plan, until the job's `live` is freed ──> release
 *
 * The host of an agent reads the plan when it carries out START_AGENT, and may use it until
 * FORGET_AGENT, the last effect about the job. The engine calls `release` exactly once for each
 * plan: after FORGET_AGENT, when the job is not made or ends before its agent was started, or in
 * arcp__engine_free. */
#ifndef ARCP_JOB_AGENT_HOST_H
#define ARCP_JOB_AGENT_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/lease.h>

/* ---- admission ---- */

/* A job that is about to be made. All members are borrowed for the call; a host that keeps the
 * lease takes a reference. */
typedef struct arcp__admit_request {
    void *host;              /* of the agent's registration */
    arcp_span job_id;        /* its id if it is made */
    arcp_span agent;         /* as it is shown: name or name@version */
    const arcp_lease *lease; /* effective, after all policies; has the expiry */
    arcp_span cwd;           /* absolute; empty: none */
    bool cwd_is_fresh;       /* the directory is made for this job, and does not exist yet */
    arcp_span endpoint; /* URL that the job's credential is for; empty: none, or not issued yet */
    uint64_t max_runtime_sec; /* 0: none */
} arcp__admit_request;

/* The texts of an answer. */
typedef enum arcp__admit_text {
    ARCP__ADMIT_MESSAGE, /* refused: for people */
    ARCP__ADMIT_DETAILS, /* refused: a JSON object, or empty */
    /* The others are used only if the job is admitted; LEVEL and LINES also to explain a plan that
     * is refused. */
    ARCP__ADMIT_LEVEL,   /* "full"; empty: the agent is not confined, nothing is shown or audited */
    ARCP__ADMIT_SUMMARY, /* of the lines: "3 exact, 1 refused" */
    ARCP__ADMIT_SHA256,  /* of the plan's text, in hex */
    ARCP__ADMIT_LINES,   /* for the event: a JSON array; of more than 100 lines those not exact */
    ARCP__ADMIT_BASE,    /* for the event: a JSON array; empty: none */
    ARCP__ADMIT_INEXACT, /* for the audit log: a JSON array of the lines that are not exact */
    ARCP__ADMIT_CWD, /* the agent's directory as its program sees it, "/job"; empty: as requested */
    ARCP__ADMIT_WARNING, /* a line for the job's log, level warn; empty: none */
    ARCP__ADMIT_TEXTS
} arcp__admit_text;

/* The engine passes it zero-initialised and frees the texts. A text that has failed makes the
 * answer INTERNAL_ERROR. */
typedef struct arcp__admit_answer {
    /* ARCP_OK: admitted. ARCP_E_PERMISSION_DENIED: a line of the lease is enforced less exactly
     * than required; the details are {capability, pattern, verdict, note, min}.
     * ARCP_E_AGENT_NOT_AVAILABLE: this machine cannot confine agents; the details are {level,
     * missing}. Any other status becomes INTERNAL_ERROR. */
    arcp_status status;
    arcp_buf texts[ARCP__ADMIT_TEXTS];
    void *plan;    /* admitted: the host's own; NULL: nothing to release */
    bool is_shown; /* admitted: the job's first event tells about its enforcement */
} arcp__admit_answer;

struct arcp__job;
struct arcp__job_message;
struct arcp__denial;

/* What takes the reports of `settle`. They are borrowed for the call. */
typedef struct arcp__settle_sink {
    void (*message)(void *user, const struct arcp__job_message *message);
    void (*denied)(void *user, const struct arcp__denial *denial);
    void *user;
} arcp__settle_sink;

/* What a running agent uses now. */
typedef struct arcp__agent_usage {
    uint64_t pid, cpu_ms, memory_bytes; /* 0: unknown */
} arcp__agent_usage;

/* What the engine's owner provides for all hosts. The functions are called from within the engine's
 * inputs, and do not call the engine. `admit` and `release` do not block; `admit` looks at no file
 * but, at most once a second for each agent, for a program that was not there before. */
typedef struct arcp__agent_hosts {
    /* Fills in the answer; one that is left as it is admits without confinement. NULL: all jobs
     * are. Asked for each order that becomes a job, just before that, and once more for an order
     * that has to wait for its credential, before that is requested, so that a refused order costs
     * none. An order whose idempotency key has a job already is not asked about. */
    void (*admit)(void *user, const arcp__admit_request *request, arcp__admit_answer *answer);
    void (*release)(void *user, void *plan); /* never NULL if `admit` is not */
    void *user;
    /* The job is about to end: its last event comes after this call. The host of its agent, if that
     * was started, ends what the runtime does for the job elsewhere (calls through gateways), and
     * reports to `sink` what came of it and is not recorded yet. It may wait for that, for a second
     * at most. Called once for each job. NULL: there is nothing to wait for. */
    void (*settle)(void *user, struct arcp__job *job, const arcp__settle_sink *sink);
    /* Says what the agent of a job, which was started, uses; figures of the last second will do.
     * NULL: unknown. */
    void (*usage)(void *user, struct arcp__job *job, arcp__agent_usage *out);
    /* How many bytes of memory the runtime's process uses. NULL: unknown. */
    uint64_t (*memory_bytes)(void *user);
    /* What sandboxes of this machine enforce: "full", "landlock" or "none"; "off" where agents run
     * without them. Static. NULL: unknown. */
    const char *(*enforcement)(void *user);
} arcp__agent_hosts;

/* ---- how an agent ended ---- */

typedef enum arcp__agent_ended_by {
    ARCP__AGENT_ENDED_BY_ITSELF, /* or by the engine */
    ARCP__AGENT_ENDED_BY_STOP,   /* by its worker, which was stopped */
    ARCP__AGENT_ENDED_BY_ABSENCE /* by its worker, because the runtime was away for too long */
} arcp__agent_ended_by;

typedef struct arcp__agent_exit {
    bool by_signal;
    int code;              /* exit status, or the signal's number */
    arcp_span stderr_tail; /* empty unless it may be shown */
    /* The sandbox could not be made, so that the agent's program never ran: the step that failed
     * ("mount"), and a text for people ("mount /srv/x: Operation not permitted"). Empty: it was
     * made, or there is none. */
    arcp_span failed_step, failure;
    bool has_run_out; /* the kernel has killed a process of it at the limit of its memory */
    /* The process ran other jobs, too, and has ended without the job's result: a failure, whatever
     * its exit status is. */
    bool is_shared;
    arcp__agent_ended_by ended_by; /* other than itself: a failure, whatever its exit status is */
} arcp__agent_exit;

/* ---- what a sandbox denied ---- */

/* ARCP_DENIAL_LAYER(id, name): what denied. */
#define ARCP__DENIAL_LAYERS(ARCP_DENIAL_LAYER)                                                     \
    ARCP_DENIAL_LAYER(BROKER, "broker")                                                            \
    ARCP_DENIAL_LAYER(EGRESS, "egress")                                                            \
    ARCP_DENIAL_LAYER(GATEWAY, "gateway")

typedef enum arcp__denial_layer {
#define ARCP_DENIAL_LAYER(id, name) ARCP__DENIAL_##id,
    ARCP__DENIAL_LAYERS(ARCP_DENIAL_LAYER)
#undef ARCP_DENIAL_LAYER
        ARCP__DENIAL_LAYER_COUNT
} arcp__denial_layer;

const char *arcp__denial_layer_name(arcp__denial_layer layer); /* static */

/* An operation that was denied to the program of a job. The texts may hold any bytes: the engine
 * escapes and cuts them. */
typedef struct arcp__denial {
    arcp__denial_layer layer;
    arcp_status code;     /* as the gate's: PERMISSION_DENIED, LEASE_EXPIRED, BUDGET_EXHAUSTED */
    arcp_span capability; /* "fs.read" */
    arcp_span target;  /* canonical path, URL, name of a tool; empty: of various operations, which
                          are only counted */
    arcp_span reason;  /* a word, "NO_MATCH", or one line; may be empty */
    arcp_span program; /* the process's name; empty: unknown */
    uint64_t pid;      /* inside the sandbox; 0: unknown */
    uint64_t count;    /* how often; at least 1 */
} arcp__denial;

/* The denials of a job so far. */
typedef struct arcp__denials {
    uint64_t *hashes;       /* owned; of the distinct operations, at most ARCP__DENIALS_KEPT */
    size_t count;           /* of hashes */
    uint64_t without_event; /* that no event tells about yet */
    uint64_t unaudited;     /* that no audit line tells about yet */
} arcp__denials;

/* Distinct operations per job that are audited one by one; more are only counted. */
#define ARCP__DENIALS_KEPT 1024u

/* ---- the engine's own ---- */

/* What is known of a job's confinement, in job->live->enforcement. */
typedef struct arcp__enforcement {
    const arcp__agent_hosts *hosts;
    void *plan;       /* NULL: none */
    bool is_confined; /* the answer had a level */
    bool is_revoked;  /* REVOKE_AGENT was queued */
    bool is_shown;
    arcp_buf texts[ARCP__ADMIT_TEXTS]; /* of the answer, until the job starts */
} arcp__enforcement;

#endif
