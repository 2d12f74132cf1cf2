/* Purses: what the jobs of one principal that begin on one UTC day may spend together, as a budget
 * above the topmost of them. Rows of the policy say which principals have one (`spend`). A
 * job draws on the purse of the day on which it began.
 *
 * Purses outlive jobs and restarts: what was spent is in rows of the table JOBS,
 *
 *     purse/2026-11-24/PRINCIPAL   {"spent":{"USD":"1.5"}}
 *     hold/call_...                {"purse":"purse/2026-11-24/PRINCIPAL","held":{"USD":"0.5"}}
 *
 * A call through a gateway is sent when the row of its hold is durable. After a restart, what such
 * a row holds counts as spent: the call may have cost all of it. */
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
/* After all rows: deletes those of past days. */
void arcp__purses_restored(arcp__jobs *jobs);

#endif
