/* arcpd's side of the audit log: from the runtime's records to the file, and back what the
 * file's state means for the runtime. */
#ifndef ARCP_ARCPD_AUDIT_TRAIL_H
#define ARCP_ARCPD_AUDIT_TRAIL_H

#include <arcp/runtime.h>

#include "arcpd/config.h"
#include "audit/audit_log.h"

typedef struct arcp__audit_trail arcp__audit_trail;

/* Opens the log that the configuration names, relative to `directory`; NULL in *out when it
 * names none. Failures go to `log`, as a runtime's would. */
ARCP_MUST_CHECK arcp_status
arcp__audit_trail_open(struct uv_loop_s *loop, const arcp__config *config, const char *directory,
                       void (*log)(void *user, arcp_log_level level, const char *text),
                       void *log_user, arcp__audit_trail **out, arcp_error *err);

/* Who is told when records cannot be kept; NULL: nobody any more. */
void arcp__audit_trail_attach(arcp__audit_trail *trail, arcp_runtime *runtime);

/* Takes a record of the runtime. NULL is accepted as a trail, here and below. */
void arcp__audit_trail_append(arcp__audit_trail *trail, const char *record);

/* A runtime's audit_barrier; `user` is the trail, or NULL. */
void arcp__audit_trail_barrier(void *user, bool must_wait);

/* Records what tokens, agents and policies the daemon works with from now on, or why a
 * reload was refused (`refusal`). `cause`: start, or SIGHUP. */
void arcp__audit_trail_policy(arcp__audit_trail *trail, const char *cause,
                              const arcp__config *config, const arcp_error *refusal);

/* New settings; and the file may have been moved away (SIGHUP). */
void arcp__audit_trail_reload(arcp__audit_trail *trail, const arcp_settings *settings);

/* False: there is no log. */
bool arcp__audit_trail_stats(arcp__audit_trail *trail, arcp__audit_stats *out);

/* Writes what is left and closes the file. The loop runs on until its handles are closed. */
void arcp__audit_trail_close(arcp__audit_trail *trail);

#endif
