/* What a runtime reports as it happens: jobs that change, and its figures (docs/protocol.md, The
 * view). Reports are events of the client (arcp/client.h). */
#ifndef ARCP_WATCH_H
#define ARCP_WATCH_H

#include <arcp/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the runtime is asked to report. */
typedef struct arcp_watch_options {
    size_t struct_size;
    bool jobs;           /* jobs that begin or change: events JOBS_CHANGED */
    bool figures;        /* figures of each second: events FIGURES; needs a role */
    arcp_span principal; /* jobs: glob of the principals whose jobs are watched, "*" for all; needs
                          * a role. Empty: the client's own principal */
} arcp_watch_options;

static inline arcp_watch_options arcp_watch_options_init(void)
{
    arcp_watch_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Has the runtime report the jobs that begin or change, or its figures of each second, and waits
 * until it does. Reports are events of the client: the blocking form reads them with
 * arcp_client_next_event, also without observe_all, and must read on until arcp_client_unwatch.
 *
 *  - A program that watches jobs first, and then asks for the view "jobs", misses nothing. A job is
 *    reported at most every 250 ms, and not when it is removed. Times, memory and CPU time that
 *    pass without an event are no changes.
 *  - When the connection was lost and the session is resumed, the client asks again by itself. Then
 *    JOBS_CHANGED with `reload` follows, because changes may have been missed meanwhile.
 *  - The runtime ends the watch of a client that does not read: when 1 MiB waits for it,
 *    WATCH_ENDED with ARCP_E_LIMIT follows. If after a resume the runtime refuses the watch,
 *    WATCH_ENDED has its code, such as PERMISSION_DENIED for a role that was taken away. The
 *    program may watch again.
 *
 * What the options ask for is added to what is watched already; `principal` then holds for all jobs
 * that are watched. ARCP_E_USAGE when the options ask for nothing; otherwise as arcp_client_view.
 * Feature x-vendor.arcpd.view. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_watch(arcp_client *client,
                                                       const arcp_watch_options *options,
                                                       int64_t timeout_ms, arcp_error *err);

/* Ends the watch of jobs and figures, and waits until the runtime has ended it. Reports that it had
 * sent before may still be unread. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_unwatch(arcp_client *client, int64_t timeout_ms,
                                                         arcp_error *err);

/* The same on a loop, as the other requests there. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_watch_start(arcp_client *client,
                                                             const arcp_watch_options *options,
                                                             arcp_reply_fn on_reply, void *user,
                                                             arcp_error *err);
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_unwatch_start(arcp_client *client,
                                                               arcp_reply_fn on_reply, void *user,
                                                               arcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
