/* Which jobs a listing shows: the filters of session.list_jobs (§6.6) and of x-vendor.arcpd.jobs.
 */
#ifndef ARCP_SESSION_JOB_FILTER_H
#define ARCP_SESSION_JOB_FILTER_H

#include "base/timestamp.h"
#include "job/job.h"

/* A principal's name has at most 256 bytes (arcp/sys/token.h). */
#define ARCP__FILTER_GLOB_SIZE 260u
/* Bytes of a text that is looked for. */
#define ARCP__FILTER_TEXT_MAX 256u

/* As requested. Empty: absent. */
typedef struct arcp__job_filter_texts {
    arcp_json_ref statuses; /* an array of strings */
    arcp_span agent, created_after, created_before;
    arcp_span ended_after, principal, parent, code, text;
} arcp__job_filter_texts;

/* Borrows from the texts. */
typedef struct arcp__job_filter {
    uint32_t statuses; /* a bit per arcp_job_status; 0: all */
    arcp_span agent, parent, code, text;
    char principal[ARCP__FILTER_GLOB_SIZE]; /* a glob; "": any */
    bool may_be_id, may_be_trace;           /* the text: whether it may be a part of one */
    bool has_time;                          /* any of the following */
    bool has_created_after, has_created_before, has_ended_after;
    arcp__instant created_after, created_before, ended_after;
} arcp__job_filter;

/* ARCP_E_INVALID_REQUEST names the member. [arcp:6.6-2] */
ARCP_MUST_CHECK arcp_status arcp__job_filter_read(arcp__context *context,
                                                  const arcp__job_filter_texts *texts,
                                                  arcp__job_filter *out, arcp_error *err);
bool arcp__job_filter_matches(const arcp__job_filter *filter, const arcp__job *job);

/* A cursor is the id of a job. */
ARCP_MUST_CHECK arcp_status arcp__job_cursor_check(arcp_span cursor, arcp_error *err);

#endif
