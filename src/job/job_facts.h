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

/* The end of the standard error of an agent that has exited. */
typedef struct arcp__stderr_tail {
    struct arcp__stderr_tail *prev, *next; /* of all, oldest first */
    struct arcp__job *job;
    size_t size;
    bool is_shown; /* the submitter may read it */
    char text[];   /* with a NUL */
} arcp__stderr_tail;
/* Those of all jobs. */
typedef struct arcp__stderr_tails {
    arcp__stderr_tail *oldest;
    size_t bytes;
} arcp__stderr_tails;
#define ARCP__STDERR_TAIL_MAX 4096u     /* bytes of one */
#define ARCP__STDERR_ALL_MAX  67108864u /* of all */

typedef struct arcp__job_facts {
    int64_t
        started_wall_ns; /* of its agent; 0: it was not started, or that is not known any more */
    int64_t expires_wall_ns; /* of its lease; ARCP_TIME_NEVER: never */
    uint64_t children;       /* that it delegated to */
    uint64_t denials;
    char *progress;            /* owned JSON: {"current":1,"total":3}; NULL: none was reported */
    arcp__currency_sum *costs; /* owned; NULL: none */
    size_t cost_count;
    arcp__stderr_tail *stderr_tail; /* owned; NULL: none is kept */
    char *start;      /* owned: the start of its details; NULL: there is none, or in a stream */
    bool has_details; /* a stream of them may be in the store */
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

/* Writes the members of the end of a running job's details, as they are now. */
void arcp__job_write_details_end(const struct arcp__jobs *jobs, const struct arcp__job *job,
                                 arcp_json_writer *writer);
/* Writes the key of the stream. */
void arcp__job_details_key(const struct arcp__job *job, char key[ARCP__DETAILS_KEY_SIZE]);
/* The code that an ended job failed with; NULL: it did not. */
const char *arcp__job_code(const struct arcp__job *job);

#endif
