/* Lines for the operator, on standard error. Private to the program. */
#ifndef ARCP_ARCP_WORKER_SAY_H
#define ARCP_ARCP_WORKER_SAY_H

#include <arcp/visibility.h>

/* A line that standard error does not take at once is dropped: its reader must not be able to stop
 * the worker. */
void arcp__say(const char *format, ...) ARCP_PRINTF(1, 2);

#endif
