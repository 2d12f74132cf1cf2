/* The messages between a worker, which runs the programs of agents, and the runtime: as structs and
 * as bytes. No I/O. worker_core.h has the worker's side.
 *
 *     head, a JSON object      {"type":"items","job":"job_01J...","first":7,"count":2}
 *     a line feed
 *     body, bytes              {"type":"job.event",...}\n{"type":"job.event",...}\n
 *
 * On a stream of bytes the size of head, line feed and body is before it: four bytes, big-endian. A
 * WebSocket message needs none.
 *
 * What the other side sends is checked here: the type, who may send it, the members, and the body
 * by the rule of its type. A message that fails is the end of the link. Members that this release
 * does not know are ignored; the two sides agree on a version before anything depends on one. */
#ifndef ARCP_WORKER_WORKER_FRAME_H
#define ARCP_WORKER_WORKER_FRAME_H

#include "json/json.h"

/* The versions of the protocol that this release speaks. */
#define ARCP__WORKER_V_LOW  1u
#define ARCP__WORKER_V_HIGH 1u

#define ARCP__WORKER_HEAD_MAX   65536u
#define ARCP__WORKER_BODY_MAX   1048576u /* unless one line is longer */
#define ARCP__WORKER_PREFIX     4u       /* bytes of a size on a stream */
#define ARCP__WORKER_OPEN_MAX   1024u    /* numbers in one `kept` */
#define ARCP__WORKER_OFFERS_MAX 256u
#define ARCP__WORKER_TAIL_MAX   2048u /* of standard error, in `exited` */

typedef enum arcp__worker_kind {
#define ARCP_WORKER_MESSAGE(id, name, side, body) ARCP__WORKER_##id,
#include "worker/worker_message.def"
#undef ARCP_WORKER_MESSAGE
    ARCP__WORKER_KINDS
} arcp__worker_kind;

/* Who sends a message. */
typedef enum arcp__worker_side {
    ARCP__WORKER_SIDE_WORKER = 1,
    ARCP__WORKER_SIDE_RUNTIME = 2,
    ARCP__WORKER_SIDE_BOTH = 3
} arcp__worker_side;

/* What the body of a message may be. */
typedef enum arcp__worker_body {
    ARCP__WORKER_BODY_NONE,
    ARCP__WORKER_BODY_BYTES, /* any */
    ARCP__WORKER_BODY_LINE,  /* one, without a line feed */
    ARCP__WORKER_BODY_LINES, /* `count` of them, each with its line feed */
    ARCP__WORKER_BODY_ROWS   /* JSON objects, each with its line feed */
} arcp__worker_body;

/* What the items of one message are. */
typedef enum arcp__worker_item {
    ARCP__WORKER_ITEM_LINE,     /* of output */
    ARCP__WORKER_ITEM_TOO_LONG, /* a line that exceeded the limit; it has no body */
    ARCP__WORKER_ITEM_RECORD,   /* of the sandbox */
    ARCP__WORKER_ITEMS_COUNT
} arcp__worker_item;

typedef enum arcp__worker_refusal {
    ARCP__WORKER_BUSY,
    ARCP__WORKER_UNKNOWN_AGENT,
    ARCP__WORKER_UNABLE, /* this machine cannot enforce the lease */
    ARCP__WORKER_CANNOT_START,
    ARCP__WORKER_REFUSALS
} arcp__worker_refusal;

/* Why a program has ended. */
typedef enum arcp__worker_end {
    ARCP__WORKER_END_ITSELF,
    ARCP__WORKER_END_KILLED,   /* as the runtime said, or because the worker stops */
    ARCP__WORKER_END_DEADLINE, /* the job's own, while the runtime was away */
    ARCP__WORKER_END_ALONE,    /* the runtime was away for too long */
    ARCP__WORKER_ENDS
} arcp__worker_end;

/* What a job does after a new link, as the runtime says. */
typedef enum arcp__worker_resumption {
    ARCP__WORKER_GO_ON,
    ARCP__WORKER_END,        /* is killed; its exit is awaited */
    ARCP__WORKER_FORGET_JOB, /* it has ended for the runtime, which awaits nothing of it */
    ARCP__WORKER_RESUMPTIONS
} arcp__worker_resumption;

/* One agent that a worker can run. */
typedef struct arcp__worker_offer {
    arcp_span name, version;
    arcp_span mode; /* "arcp", "plain", "serve" */
    uint64_t max_jobs;
    bool shows_errors;   /* the submitter may see its standard error */
    arcp_span cwd;       /* in which its programs run; empty: a directory of the job in `work` */
    bool is_confined;    /* in sandboxes, by what `abilities` says */
    bool is_late;        /* a process may have been started before its lease is known */
    bool terminates_tls; /* to hosts of which a lease grants a part */
    uint8_t hash[32];    /* of its row in the configuration */
} arcp__worker_offer;

/* ---- the structs ----
 *
 * Spans borrow: those of a message that was read from its bytes and from the reader. Numbers of
 * items, of bytes and of lines of standard error begin with 1 (bytes with 0), and a `last` is 0
 * while there is none. */

typedef struct arcp__worker_hello {
    uint64_t v_low, v_high;
    arcp_span version, token, name;
    arcp_span instance; /* random, for the life of the worker */
    arcp_span boot_id, work;
    arcp_span program;  /* its file (arcp__worker_program_id); empty: unknown */
    uint64_t drains_ms; /* since when it takes no new jobs; 0: it takes them */
    uint64_t pid, capacity;
    arcp_span abilities;              /* of its sandboxes: a JSON object; empty: none */
    const arcp__worker_offer *offers; /* not those of arcpd's own rows */
    size_t offer_count;
} arcp__worker_hello;

/* A row of hello: a job that the worker has. */
typedef struct arcp__worker_job_row {
    arcp_span job, store;
    uint64_t items_first, items_last; /* that may not be forgotten yet, and that there were; what is
                                         open is below the first */
    uint64_t stored;                  /* the last number that the runtime has reported as durable */
    uint64_t bytes_first, bytes_last;
    uint64_t errors_first, errors_last;
    uint64_t at; /* of the last line that it has */
    bool has_exited;
} arcp__worker_job_row;

typedef struct arcp__worker_items {
    arcp_span job;
    uint64_t first, count;
    arcp__worker_item what; /* other than lines: one at a time */
} arcp__worker_items;

typedef struct arcp__worker_output {
    arcp_span job;
    uint64_t first;
} arcp__worker_output;

typedef struct arcp__worker_errors {
    arcp_span job;
    uint64_t first, count;
} arcp__worker_errors;

typedef struct arcp__worker_log {
    arcp_span job;
    uint64_t dropped; /* bytes before these that there was no room for */
} arcp__worker_log;

typedef struct arcp__worker_started {
    arcp_span job;
    uint64_t pid;
} arcp__worker_started;

typedef struct arcp__worker_refused {
    arcp_span job;
    arcp__worker_refusal why;
    arcp_span message; /* for the operator */
} arcp__worker_refused;

typedef struct arcp__worker_exited {
    arcp_span job;
    uint64_t items, bytes, errors; /* the last numbers; the exit counts when they have come */
    bool by_signal, is_known, has_run_out;
    bool is_shared; /* a served process has ended, with all of its jobs */
    uint64_t code;  /* exit status, or the signal's number */
    arcp__worker_end why;
    uint64_t user_us, system_us, memory_bytes;
    arcp_span failed_step, failure; /* of the sandbox; empty: it was made */
} arcp__worker_exited;              /* the body is the end of its standard error */

typedef struct arcp__worker_got {
    arcp_span job;
    uint64_t at;
} arcp__worker_got;

typedef struct arcp__worker_usage {
    uint64_t room; /* jobs that it would still take */
} arcp__worker_usage;

/* A row of usage. */
typedef struct arcp__worker_usage_row {
    arcp_span job;
    uint64_t pid, cpu_ms, memory_bytes;
} arcp__worker_usage_row;

typedef struct arcp__worker_welcome {
    uint64_t v;
    arcp_span store; /* the id of the store, whose jobs the link is about */
    uint64_t keep_ms;
    uint64_t grace_ms;         /* that programs have to end when the worker is stopped */
    uint64_t line_bytes;       /* of any line on the link */
    uint64_t agent_line_bytes; /* of one that a program writes; a row of `start` has it, too */
    uint64_t unkept_bytes, unkept_total_bytes;
    arcp_span gateways_url; /* where the worker passes calls of its jobs on to; empty: nowhere */
} arcp__worker_welcome;

/* A row of welcome, for a job that hello named. */
typedef struct arcp__worker_resume_row {
    arcp_span job;
    arcp__worker_resumption what;
} arcp__worker_resume_row;

typedef struct arcp__worker_start {
    arcp_span job, agent;
    arcp_span
        row; /* the agent's row of the configuration, a JSON object; empty: the worker's own */
    uint64_t expires_ms, deadline_ms; /* from now on; 0: none */
    /* Without a row: what was decided about the job by what the worker has offered. */
    bool is_confined; /* it was accepted for a sandbox */
    bool is_cold;     /* it must have a process of its own from the start */
    /* And the runtime's settings: lease.on_expiry and budget.on_exhaustion are deny, and
     * jobs.cancel_grace_ms. */
    bool outlasts_expiry, outlasts_budget;
    uint64_t cancel_grace_ms;
    /* The job's key for the gateways, secret, and which there are, in bits of
     * gateway/gateway.h; empty and 0: it has none. */
    arcp_span gateway_key;
    uint64_t gateways;
    arcp_span gateways_url; /* as in welcome */
} arcp__worker_start;       /* the body is the line job.start */

typedef struct arcp__worker_line {
    arcp_span job;
    uint64_t at;         /* the position in the job's stream of lines; 0: it has none */
    uint64_t answers_to; /* the number of an item; 0: none. "for" on the wire */
} arcp__worker_line;

typedef struct arcp__worker_kept {
    arcp_span job;
    uint64_t items, bytes, errors; /* up to these they may be forgotten, */
    const uint64_t *open;          /* except these items, in ascending order */
    size_t open_count;
    uint64_t stored;
} arcp__worker_kept;

typedef struct arcp__worker_kill {
    arcp_span job;
    bool at_once; /* without SIGTERM before */
} arcp__worker_kill;

typedef struct arcp__worker_of_job {
    arcp_span job;
} arcp__worker_pause, arcp__worker_resume, arcp__worker_forget;

typedef struct arcp__worker_revoke {
    arcp_span job, code; /* LEASE_EXPIRED or BUDGET_EXHAUSTED */
} arcp__worker_revoke;

typedef struct arcp__worker_no_members {
    char none; /* C knows no empty struct */
} arcp__worker_warm, arcp__worker_drain, arcp__worker_bye;

typedef struct arcp__worker_number {
    uint64_t number;
} arcp__worker_ping, arcp__worker_pong;

typedef struct arcp__worker_message {
    arcp__worker_kind kind;
    union {
#define ARCP_WORKER_MESSAGE(id, name, side, body) arcp__worker_##name name;
#include "worker/worker_message.def"
#undef ARCP_WORKER_MESSAGE
    };
    arcp_span body;
} arcp__worker_message;

/* ---- as bytes ---- */

const char *arcp__worker_kind_name(arcp__worker_kind kind); /* static */
const char *arcp__worker_end_name(arcp__worker_end end);    /* static */

/* Appends a message without its size. `message` must be one that the other side takes. */
void arcp__worker_message_write(const arcp__worker_message *message, arcp_buf *out);
/* The same with its size before it. */
void arcp__worker_frame_write(const arcp__worker_message *message, arcp_buf *out);

/* The size of the message that begins with `bytes`, which has at least ARCP__WORKER_PREFIX bytes.
 * ARCP_E_LIMIT: it is larger than any message may be. */
ARCP_MUST_CHECK arcp_status arcp__worker_frame_size(arcp_span bytes, size_t line_bytes_max,
                                                    size_t *out, arcp_error *err);

/* What reading needs. Zero-initialise. */
typedef struct arcp__worker_reader {
    size_t line_bytes_max; /* the longest line of an agent, and the longest job.start */
    arcp_json json, row_json;
    arcp_buf scratch, row_scratch;
    arcp__worker_offer offers[ARCP__WORKER_OFFERS_MAX];
    uint64_t open[ARCP__WORKER_OPEN_MAX];
} arcp__worker_reader;

void arcp__worker_reader_fini(arcp__worker_reader *reader);

/* Reads a message that `from` has sent. The message is valid until the next one is read.
 * ARCP_E_INVALID_REQUEST, ARCP_E_LIMIT, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_message_read(arcp__worker_reader *reader,
                                                      arcp__worker_side from, arcp_span bytes,
                                                      arcp__worker_message *out, arcp_error *err);

/* Rows of a body. Each is valid until the next one is read. */
void arcp__worker_job_row_write(const arcp__worker_job_row *row, arcp_buf *out);
ARCP_MUST_CHECK arcp_status arcp__worker_job_row_read(arcp__worker_reader *reader, arcp_span *rest,
                                                      arcp__worker_job_row *out, arcp_error *err);
void arcp__worker_resume_row_write(const arcp__worker_resume_row *row, arcp_buf *out);
ARCP_MUST_CHECK arcp_status arcp__worker_resume_row_read(arcp__worker_reader *reader,
                                                         arcp_span *rest,
                                                         arcp__worker_resume_row *out,
                                                         arcp_error *err);
void arcp__worker_usage_row_write(const arcp__worker_usage_row *row, arcp_buf *out);
ARCP_MUST_CHECK arcp_status arcp__worker_usage_row_read(arcp__worker_reader *reader,
                                                        arcp_span *rest,
                                                        arcp__worker_usage_row *out,
                                                        arcp_error *err);

#endif
