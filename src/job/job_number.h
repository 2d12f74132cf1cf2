/* What a job's agent has said, when its host numbers that: items (lines of output, lines that were
 * too long, records of its sandbox) and lines of a plain program's standard error from 1 on, and
 * bytes of a plain program's output. A host whose agents outlive it, a worker
 * (worker/worker_core.h), sends again what the runtime does not have; each number has its effect
 * once:
 *
 *     ...............................|#####################|
 *      has had its effect; only       is next, in order
 *      authorize is decided again    `item`
 *
 * Items of which the effect comes later are open: the worker keeps those until that is durable. */
#ifndef ARCP_JOB_JOB_NUMBER_H
#define ARCP_JOB_JOB_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/span.h>

struct arcp__jobs;
struct arcp__job;
struct arcp__denial;
struct arcp__kept_line;
struct arcp__stream;

#define ARCP__WORKER_NAME_SIZE 64u

/* Items of a job that are open at the same time. */
#define ARCP__OPEN_ITEMS_MAX 1024u

/* An item that was taken, and whose effect comes later. */
typedef struct arcp__open_item {
    uint64_t number;
    uint64_t done_id; /* the batch with its effect; 0: it has none yet */
} arcp__open_item;

/* Numbers that were taken, and the batch with the last effect of them; 0: they had none. */
typedef struct arcp__taken {
    uint64_t batch_id;
    uint64_t item, bytes, errors;
} arcp__taken;

/* In job->live; NULL there: its host does not number. */
/* "sk-arcp-" and 32 random bytes in base64url, with the NUL. */
#define ARCP__JOB_KEY_PREFIX "sk-arcp-"
#define ARCP__JOB_KEY_SIZE   52u

typedef struct arcp__job_numbers {
    uint64_t item, bytes, errors; /* taken up to these; bytes: as far as the job's records go */
    uint64_t bytes_seen;          /* taken so far; the last of them may still be in plain_output */
    /* As of the last effect; as of a batch that is under way, if one is; and what the store has. */
    arcp__taken changed, flying, durable;
    arcp__open_item *open; /* owned; ascending */
    size_t open_count, open_capacity;
    uint64_t answering; /* the item that is being acted upon; 0: none */
    bool is_unstored;   /* its answer is not: it need not wait for the store */
    bool is_left_open;  /* its effect comes later */
    uint64_t unsent; /* an item whose answer is not stored and may not be handed out yet; 0: none */
    uint64_t stamp;  /* arcp__batch_stamp before that */
    /* After a restart: items that the store had, and those below the first that the worker was not
     * allowed to forget. Between these, and among the open ones, what comes again has had no effect
     * that is known; up to `retaken` it has had one now. */
    uint64_t restored, resumed, retaken;
    /* Of a job on a worker (job_worker.c); "": its agent ends with the runtime. */
    char worker[ARCP__WORKER_NAME_SIZE];
    char instance[ARCP__WORKER_NAME_SIZE]; /* "": its start was not sent */
    char boot_id[ARCP__WORKER_NAME_SIZE];  /* of the worker's machine */
    bool is_here;                          /* the worker is connected, and has its agent */
    bool is_hosted;                        /* the engine's owner knows of its agent */
    uint64_t end_id;                       /* the batch with its end */
    struct arcp__stream *line_stream, *piece_stream; /* owned; NULL: nothing was stored */
    struct arcp__kept_line *lines, *last_line;       /* owned: that the worker may not have */
    uint64_t got, trimmed;                           /* lines that it has, and that were trimmed */
    int64_t cancel_until_ns;                         /* after a restart */
    /* By which its worker calls the gateways; the text is secret, and is there until the start was
     * sent. All zero: it has none. */
    char gateway_key[ARCP__JOB_KEY_SIZE];
    uint8_t gateway_digest[32];
} arcp__job_numbers;

/* What the host of a job need not keep any more. */
typedef struct arcp__job_kept {
    uint64_t items, bytes, errors;       /* up to these, */
    uint64_t open[ARCP__OPEN_ITEMS_MAX]; /* except these items, in ascending order */
    size_t open_count;
    uint64_t stored; /* the last item that the store has */
} arcp__job_kept;

void arcp__job_get_kept(const struct arcp__jobs *jobs, struct arcp__job *job, arcp__job_kept *out);

/* ---- for hosts (engine/engine.h): number 0, there is none ---- */

void arcp__job_agent_line(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t item,
                          arcp_span text);
void arcp__job_agent_line_too_long(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t item);
void arcp__job_agent_denied(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t item,
                            const struct arcp__denial *denial);
void arcp__job_agent_log(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t item,
                         const char *level, arcp_span text);
/* An item that only its host uses. */
void arcp__job_agent_noted(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t item);
/* Output up to the byte with the number `end` - 1. */
void arcp__job_plain_output(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t end,
                            arcp_span bytes);
/* A line of a plain program's standard error; `is_shown`: the submitter may read it. */
void arcp__job_plain_error(struct arcp__jobs *jobs, struct arcp__job *job, uint64_t line,
                           arcp_span text, bool is_shown);

#endif
