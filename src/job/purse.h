/* Purses: what the jobs of one principal that begin on one UTC day may spend together, as a budget
 * above the topmost of them. Rows of the policy say which principals have one (`spend`). A
 * job draws on the purse of the day on which it began.
 *
 * Purses outlive jobs and restarts: what was spent is in rows of the table JOBS,
 *
 *     purse/2026-11-24/PRINCIPAL   {"spent":{"USD":"1.5"}}
 *     hold/call_...                {"purse":"purse/2026-11-24/PRINCIPAL","job":"job_...",
 *                                   "held":{"USD":"0.5"}}
 *
 * The hold of a job on a worker, which outlives the runtime, names the job, whether that draws on a
 * purse or not: it counts for the budgets of the job and of those above it. A call through a
 * gateway is sent when the row of its hold is durable. After a restart, what such a row holds
 * counts as spent: the call may have cost all of it. */
#ifndef ARCP_JOB_PURSE_H
#define ARCP_JOB_PURSE_H

#include "job/job.h"

typedef struct arcp__purse arcp__purse;

/* Finds or makes the purse of a principal for now, with a reference. *out is NULL if it has none.
 */
ARCP_MUST_CHECK arcp_status arcp__purse_take(arcp__jobs *jobs, const arcp__principal *principal,
                                             arcp__purse **out, arcp_error *err);
arcp__purse *arcp__purse_ref(arcp__purse *purse); /* NULL is accepted */
void arcp__purse_unref(arcp__purse *purse);       /* NULL is accepted */
arcp_budget *arcp__purse_budget(const arcp__purse *purse);
/* Whether one of its amounts is used up. False for NULL. */
bool arcp__purse_is_spent(const arcp__purse *purse);
void arcp__purses_free(arcp__jobs *jobs);

/* Something was spent of the job's purse: its row is written with the open batch. */
void arcp__purse_spent(arcp__jobs *jobs, const arcp__job *job);
/* Writes the row of a hold, and makes a HOLD_STORED effect for when it is durable; or deletes it
 * (message->held is empty). */
void arcp__purse_hold(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message);
/* Writes the rows that are due. */
void arcp__purses_store_due(arcp__jobs *jobs);

/* Whether a row of the table JOBS is of a purse. */
bool arcp__purse_has_row(arcp_span key);
/* Restores it. */
ARCP_MUST_CHECK arcp_status arcp__purse_restore_row(arcp__jobs *jobs, arcp_span key,
                                                    arcp_error *err);
/* The hold of a job that may go on, until arcp__holds_spend. */
typedef struct arcp__kept_hold {
    struct arcp__kept_hold *next;
    arcp_span key, row; /* in `bytes` */
    char bytes[];
} arcp__kept_hold;

/* Counts what a hold has, an object with amounts, as spent of the purse with this name, which is
 * stored; unless the budget of the job `charged` (NULL: none), for which it was counted, is below
 * that purse. */
void arcp__purse_spend_hold(arcp__jobs *jobs, arcp_span name, arcp_span key, arcp_json_ref amounts,
                            const arcp__job *charged);
/* Counts all of an object with amounts as spent. */
void arcp__budget_spend_all(arcp__jobs *jobs, arcp_budget *budget, arcp_json_ref amounts);

/* After all rows: deletes those of past days. */
void arcp__purses_restored(arcp__jobs *jobs);

#endif
