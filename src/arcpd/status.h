/* What arcpd tells those who watch it, besides the runtime's own figures, and /metrics, /healthz
 * and /readyz, where they get it: GET and HEAD only, no TLS, no authentication, so that it belongs
 * on loopback or behind what has both. */
#ifndef ARCP_ARCPD_STATUS_H
#define ARCP_ARCPD_STATUS_H

#include <arcp/runtime.h>

#include "arcpd/audit_trail.h"
#include "arcpd/config.h"
#include "arcpd/trace_export.h"
#include "web/server.h"

#define ARCP__STATUS_CONNECTIONS_MAX 32u
#define ARCP__STATUS_HEAD_BYTES_MAX  8192u

typedef struct arcp__status {
    arcp__web_server *server; /* NULL: not configured */
    const arcp_runtime *runtime;
    arcp__audit_trail *audit;   /* may be NULL */
    arcp__trace_export *traces; /* likewise */
    char store_path[4096];      /* of the database; empty: none */
    int64_t started_wall_ns;
    bool reload_failed; /* the last one */
} arcp__status;

/* ADDRESS:PORT, as http.listen has to be written. ARCP_E_USAGE says what would be right. */
ARCP_MUST_CHECK arcp_status arcp__status_listen_parse(const char *listen, arcp__authority *out,
                                                      arcp_error *err);

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
