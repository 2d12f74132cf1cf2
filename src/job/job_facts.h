/* What is shown of a job beside its status and its lease (docs/protocol.md, The view): facts that
 * are kept with an ended job and in its row; and details, which are two JSON objects with the
 * members that x-vendor.arcpd.job shows:
 *
 *     the start    when its agent is started: its input, and the verdicts of its sandbox
 *     the end      when it has ended: how often each line of its lease was used, and the last
 *                  operations that it was denied; not written when there are none
 *
 * A short start is one of the facts, because a row and a few bytes cost less than a stream. A long
 * start and the end are the records of a stream, "d:" and the job's id, which is dropped with the
 * job; a running job has them in memory. In a store that ends with the process, they are written
 * when the job ends. */
#ifndef ARCP_JOB_JOB_FACTS_H
#define ARCP_JOB_JOB_FACTS_H

#include <arcp/buf.h>
#include <arcp/decimal.h>
#include <arcp/error.h>
#include <arcp/json.h>

#include "context/context.h"
#include "core/lease_amount.h"

struct arcp__job;
struct arcp__jobs;

/* Bytes of a start that is kept in memory and in the row of an ended job. */
#define ARCP__DETAILS_START_MAX 512u
/* Bytes of an input that are kept, and of the targets of denied operations. */
#define ARCP__DETAILS_INPUT_MAX  4096u
#define ARCP__DETAILS_TARGET_MAX 1024u
/* Denied operations that are kept of a job, the last ones. */
#define ARCP__REFUSED_KEPT 20u

#define ARCP__DETAILS_KEY_SIZE (ARCP__ID_SIZE + 2)

/* Reported costs in one currency. */
typedef struct arcp__currency_sum {
    char currency[ARCP__CURRENCY_BYTES_MAX + 1];
    arcp_decimal amount;
} arcp__currency_sum;

/* The end of the standard error of an agent (job_stderr.c). */
typedef struct arcp__stderr {
    struct arcp__stderr *prev, *next; /* of those that run, or that have exited; oldest first */
    struct arcp__job *job;
    arcp_buf text; /* whole lines, each with a line feed */
    bool is_shown; /* the submitter may read it */
    bool has_exited;
} arcp__stderr;
/* Those of all jobs. */
typedef struct arcp__stderrs {
    arcp__stderr *running, *exited;
    size_t running_count;
    size_t bytes, bytes_max;
} arcp__stderrs;
#define ARCP__STDERR_ALL_MAX 67108864u

typedef struct arcp__job_facts {
    int64_t
        started_wall_ns; /* of its agent; 0: it was not started, or that is not known any more */
    int64_t expires_wall_ns; /* of its lease; ARCP_TIME_NEVER: never */
    uint64_t children;       /* that it delegated to */
    uint64_t denials;
    char *progress;            /* owned JSON: {"current":1,"total":3}; NULL: none was reported */
    arcp__currency_sum *costs; /* owned; NULL: none */
    size_t cost_count;
    arcp__stderr *errors; /* owned; NULL: nothing of its standard error is kept */
    uint64_t error_lines; /* of its standard error, as far as this process has read it */
    char *start;          /* owned: the start of its details; NULL: there is none, or in a stream */
    bool has_details;     /* a stream of them may be in the store */
} arcp__job_facts;

/* An operation that was denied. */
typedef struct arcp__job_refused {
    char *capability, *target; /* owned; may be shortened */
    const char *layer;         /* static: "gate", "broker", ... */
    arcp_status code;
    int64_t at_wall_ns;
} arcp__job_refused;

typedef struct arcp__job_details {
    arcp__job_refused *refused; /* owned ring of ARCP__REFUSED_KEPT; NULL: nothing was denied */
    uint64_t refused_count;     /* ever */
} arcp__job_details;

/* Writes the input of a job that waits; nothing once it was started, because its details have it.
 */
void arcp__job_write_details_start(const struct arcp__job *job, arcp_json_writer *writer);
/* Writes the members of the end of a running job's details, as they are now. */
void arcp__job_write_details_end(const struct arcp__jobs *jobs, const struct arcp__job *job,
                                 arcp_json_writer *writer);
/* A line of the agent's standard error, without its line feed; `is_shown`: the submitter may read
 * it. */
void arcp__job_stderr_add(struct arcp__jobs *jobs, struct arcp__job *job, arcp_span line,
                          bool is_shown);
/* Writes the key of the stream. */
void arcp__job_details_key(const struct arcp__job *job, char key[ARCP__DETAILS_KEY_SIZE]);
/* The code that an ended job failed with; NULL: it did not. */
const char *arcp__job_code(const struct arcp__job *job);

#endif
