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
    uint64_t lost;            /* lines, since one could be written */
} arcp__logger;

/* One line to standard error; `user` is the logger. Where that is a pipe or a socket whose reader
 * does not read, lines are dropped and counted rather than waited for: nobody's jobs stand still
 * for it. The next line that is written has the number before it. */
void arcp__logger_log(void *user, arcp_log_level level, const char *text);
/* The same with fields: a JSON object, or "". As JSON they are members of the line; as text they
 * stand before the message as [name=value ...], a value in quotes if it has blanks, quotes,
 * brackets, = or \, so that nothing that an agent or a peer says can imitate them. */
void arcp__logger_log_fields(void *user, arcp_log_level level, const char *text,
                             const char *fields);

#endif
