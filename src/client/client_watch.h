/* What the runtime reports as it happens. Private to src/client. */
#ifndef ARCP_CLIENT_CLIENT_WATCH_H
#define ARCP_CLIENT_CLIENT_WATCH_H

#include <arcp/watch.h>

struct arcp__client_session;
struct arcp__client_request;

/* What the runtime has agreed to report; after a resume the client asks for it again. */
typedef struct arcp__client_watch {
    bool jobs, figures;
    char *principals; /* owned; with `jobs`: whose, "" for the own ones */
} arcp__client_watch;

/* Checks a watch or unwatch, and writes the payload. `given` is NULL for an unwatch. */
ARCP_MUST_CHECK arcp_status arcp__client_watch_prepare(struct arcp__client_request *request,
                                                       const arcp_watch_options *given,
                                                       arcp_error *err);
/* A watch or unwatch of the program was answered: notes what is watched now. */
void arcp__client_watch_answered(struct arcp__client_session *session,
                                 struct arcp__client_request *request);
/* The session was resumed: requests what was watched before. */
void arcp__client_watch_again(struct arcp__client_session *session);
/* That request has ended: with its response, or with an error. */
void arcp__client_watch_is_back(struct arcp__client_session *session, const arcp_error *error);
/* A message of another vendor or of arcpd that answers no request: delivers it if it reports what
 * is watched. */
void arcp__client_watch_report(struct arcp__client_session *session);

#endif
