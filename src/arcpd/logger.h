/* Logs to standard error, decisions to the audit file. */
#ifndef ARCP_ARCPD_LOGGER_H
#define ARCP_ARCPD_LOGGER_H

#include <arcp/runtime.h>

#include "arcpd/config.h"

typedef struct arcp__logger {
    int level;
    arcp__log_format format;
    int audit; /* file descriptor, or -1 */
    bool audit_failed;
} arcp__logger;

/* Opens the audit file for appending, mode 0600; `path` is relative to the directory. An
 * empty path means none. */
ARCP_MUST_CHECK arcp_status arcp__logger_open_audit(arcp__logger *logger, const char *directory,
                                                    const char *path, arcp_error *err);
void arcp__logger_fini(arcp__logger *logger);

/* One line; `user` is the logger. */
void arcp__logger_log(void *user, arcp_log_level level, const char *text);

#endif
