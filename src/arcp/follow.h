/* Following a job to its end: what `submit` and `watch` have in common. */
#ifndef ARCP_ARCP_FOLLOW_H
#define ARCP_ARCP_FOLLOW_H

#include "arcp/event_line.h"
#include "arcp/progress.h"
#include "arcp/result_writer.h"
#include "arcp/session_file.h"
#include "cli/program.h"

/* Jobs whose place in the tree of delegations is known. */
#define ARCP__FOLLOW_JOBS_MAX 256

typedef struct arcp__follow {
    arcp__program *program;
    arcp_client *client;
    arcp_job *job;
    arcp__result_writer *writer;
    arcp__session_file *file; /* NULL: nothing is kept, and acknowledging goes by itself */
    bool may_cancel;          /* Ctrl-C asks for it */
    bool quiet_until_end;     /* only the end is wanted: it is replayed history */

    /* its own */
    arcp__progress progress;
    struct {
        char id[64];
        unsigned depth;
    } jobs[ARCP__FOLLOW_JOBS_MAX];
    size_t job_count;
    arcp_event_view view;
    arcp_buf line;
    unsigned interrupts_seen;
    bool cancel_sent;
    uint64_t last_seq; /* handed over */
    uint64_t acked_seq;
    int64_t acked_ns;
    int exit_status;
    bool done;
} arcp__follow;

/* How the program's lines about a job look. */
static inline arcp__line_style arcp__program_style(const arcp__program *program, unsigned depth)
{
    return (arcp__line_style){
        .has_color = program->screen.has_color,
        .has_times = arcp__has(&program->arguments, ARCP__OPTION_TIMESTAMPS),
        .depth = depth,
    };
}

/* Follows until the job has ended, the session is lost, or the user leaves; returns the exit
 * status. The caller has filled the first part of *follow. */
int arcp__follow_run(arcp__follow *follow);

#endif
