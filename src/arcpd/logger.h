/* Logs to standard error, decisions to the audit trail. */
#ifndef ARCP_ARCPD_LOGGER_H
#define ARCP_ARCPD_LOGGER_H

#include <arcp/runtime.h>

#include "arcpd/audit_trail.h"
#include "arcpd/config.h"

typedef struct arcp__logger {
    int level;
    arcp__log_format format;
    arcp__audit_trail *audit; /* NULL: none */
} arcp__logger;

/* One line; `user` is the logger. */
void arcp__logger_log(void *user, arcp_log_level level, const char *text);
/* The same with fields: a JSON object, or "". As JSON they are members of the line; as text they
 * stand before the message as [name=value ...], a value in quotes if it has blanks, quotes,
 * brackets, = or \, so that nothing that an agent or a peer says can imitate them. */
void arcp__logger_log_fields(void *user, arcp_log_level level, const char *text,
                             const char *fields);

#endif
