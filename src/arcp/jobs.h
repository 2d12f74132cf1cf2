/* What commands that name, list and show jobs share. */
#ifndef ARCP_ARCP_JOBS_H
#define ARCP_ARCP_JOBS_H

#include "cli/cli.h"

/* ---- job_find.c ---- */

#define ARCP__JOB_LAST "@last" /* the word for the newest job */

/* Calls `each` for every job that the options select, in the order of the runtime (oldest first),
 * until it returns false. The row is valid during the call. The errors of arcp_client_list. */
ARCP_MUST_CHECK arcp_status arcp__jobs_each(arcp_client *client, const arcp_list_options *options,
                                            bool (*each)(void *user, const arcp_job_row *row),
                                            void *user, arcp_error *err);

/* Whether the word is an id as arcpd makes them, which needs no search. */
bool arcp__job_id_is_whole(arcp_span word);

/* Appends the id of the job that the word names: an id, the beginning (also without "job_") or the
 * end of one id, or ARCP__JOB_LAST. A word that no listed job has is appended as it is.
 * ARCP_E_USAGE for a word that several jobs have; ARCP_E_JOB_NOT_FOUND when there is no last job;
 * the errors of arcp_client_list. */
ARCP_MUST_CHECK arcp_status arcp__job_find(arcp_client *client, const char *word, arcp_buf *id,
                                           arcp_error *err);

/* The same; prints the error, and sets *exit_status. */
ARCP_MUST_CHECK bool arcp__job_resolve(arcp__program *program, arcp_client *client,
                                       const char *word, arcp_buf *id, int *exit_status);

/* ---- job_history.c ---- */

/* Subscribes to a job, and discards its result. `from`: with history, after this number of the
 * owning session (0: from the start); NULL: without. The caller unrefs *out. */
ARCP_MUST_CHECK arcp_status arcp__job_attach(arcp_client *client, arcp_span id,
                                             const uint64_t *from, arcp_job **out, arcp_error *err);
/* Ends the subscription, and gives the handle back. */
ARCP_MUST_CHECK arcp_status arcp__job_detach(arcp_client *client, arcp_job **job, arcp_error *err);

/* The number of the newest event, in the owning session, when the job was attached to without
 * history; false: this runtime does not tell. 0: there is none. */
ARCP_MUST_CHECK bool arcp__job_newest_seq(const arcp_job *job, uint64_t *out);

typedef struct arcp__history {
    arcp_client *client;
    arcp_span id;
    bool follows; /* until the job has ended */
    /* The callbacks return false to end the reading. `opened` and `caught_up` may be NULL. */
    bool (*opened)(void *user,
                   arcp_job *job); /* before the first event; valid during the reading */
    bool (*event)(void *user, const arcp_client_event *event); /* JOB_EVENT or JOB_ENDED */
    bool (*caught_up)(void *user); /* all events that were kept have been passed on */
    void *user;
} arcp__history;

/* Reads the events of a job from the first one that is kept. Blocks. The errors of
 * arcp_client_subscribe and arcp_job_next_event; ARCP_E_INVALID_REQUEST for a running job of a
 * runtime that does not tell where its events end. */
ARCP_MUST_CHECK arcp_status arcp__history_read(const arcp__history *history, arcp_error *err);

/* ---- job_row.c: what a row of a listing says ---- */

/* The members of a row, or of a descriptor, that a table shows. Spans borrow from the scanned JSON,
 * or from `room`, which the caller frees. */
typedef struct arcp__job_facts {
    arcp_span job_id, agent, status, created_at, parent_job_id, trace_id;
    arcp_span principal, code, started_at, ended_at; /* in rows of the view */
    arcp_buf shown_status; /* with the place of a queued job: "pending 3" */
    arcp_buf cost; /* "USD 0.25, EUR 1": what was spent of each budget; empty: it has none */
    arcp_buf room;
} arcp__job_facts;

void arcp__job_facts_read(const arcp_json *json, arcp__job_facts *out);
void arcp__job_facts_fini(arcp__job_facts *facts);

/* Appends how long ago an instant was, in its largest unit: "0s", "59m", "3h", "12d". Nothing for a
 * text that is no instant; an instant after `now` is "0s". */
void arcp__append_age(arcp_span instant, int64_t now_wall_ns, arcp_buf *out);

/* Appends the time between two instants: "0.3s", "59.9s", "12m", "3h". Nothing unless both are
 * instants. */
void arcp__append_took(arcp_span begun, arcp_span ended, arcp_buf *out);

/* Appends a duration in its largest unit: "0.3s", "59.9s", "12m", "3h". */
void arcp__append_ms(uint64_t ms, arcp_buf *out);
/* Appends a size in a unit in which it has at most five digits: "9999B", "1544K". */
void arcp__append_bytes(uint64_t bytes, arcp_buf *out);

#endif
