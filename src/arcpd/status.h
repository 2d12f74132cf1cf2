/* What arcpd tells those who watch it, besides the runtime's own figures. */
#ifndef ARCP_ARCPD_STATUS_H
#define ARCP_ARCPD_STATUS_H

#include <arcp/runtime.h>

#include "arcpd/audit_trail.h"
#include "arcpd/config.h"
#include "arcpd/status_server.h"
#include "arcpd/trace_export.h"

typedef struct arcp__status {
    arcp__status_server *server; /* NULL: not configured */
    const arcp_runtime *runtime;
    arcp__audit_trail *audit;   /* may be NULL */
    arcp__trace_export *traces; /* likewise */
    char store_path[4096];      /* of the database; empty: none */
    int64_t started_wall_ns;
    bool reload_failed; /* the last one */
} arcp__status;

/* Listens where http.listen says, if it does. `directory`: the state's, where the default store
 * is. */
ARCP_MUST_CHECK arcp_status arcp__status_open(arcp__status *status, uv_loop_t *loop,
                                              const arcp__config *config, const char *directory,
                                              const arcp_runtime *runtime, arcp__audit_trail *audit,
                                              arcp_error *err);
void arcp__status_close(arcp__status *status);

/* Appends every metric of the daemon. */
void arcp__status_write_metrics(const arcp__status *status, arcp_buf *out);

#endif
