/* Failures as the wire tells them, read leniently. */
#ifndef ARCP_CLIENT_CLIENT_FAILURE_H
#define ARCP_CLIENT_CLIENT_FAILURE_H

#include <stdarg.h>

#include <arcp/client.h>

/* Reads an error object: `detail` for `details`, any type of them, an unknown code, no
 * code at all (INTERNAL_ERROR), no message. Replaces *failure. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__client_failure_read(arcp_failure *failure, const arcp_json *json,
                                                      arcp_json_ref object, arcp_buf *scratch);

/* A local failure. Returns `status`. `failure` may be NULL. */
arcp_status arcp__client_failure_set(arcp_failure *failure, arcp_status status, const char *format,
                                     ...) ARCP_PRINTF(3, 4);

arcp_status arcp__client_failure_set_v(arcp_failure *failure, arcp_status status,
                                       const char *format, va_list arguments) ARCP_PRINTF(3, 0);

/* A copy; without the details when memory is short. Returns the status. */
arcp_status arcp__client_failure_copy(arcp_failure *out, const arcp_failure *from);

/* The local failure that `err` describes. */
arcp_status arcp__client_failure_from_error(arcp_failure *out, const arcp_error *err);

#endif
