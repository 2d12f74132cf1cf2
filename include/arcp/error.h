/* Statuses and error descriptions.
 *
 * Every function that can fail returns an arcp_status; most also describe the failure in an
 * arcp_error of the caller. There is no global or per-thread "last error". Draft §12;
 * docs/errors.md. */
#ifndef ARCP_ERROR_H
#define ARCP_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum arcp_status {
    ARCP_OK = 0,
#define ARCP_STATUS(name, number, wire, text, default_retryable) ARCP_E_##name = (number),
#include <arcp/status.def>
#undef ARCP_STATUS
    ARCP_STATUS_COUNT
} arcp_status;

#define ARCP_ERROR_CODE_MAX    64
#define ARCP_ERROR_MESSAGE_MAX 256
#define ARCP_NO_OFFSET         SIZE_MAX

struct arcp_buf;

/* Why a call failed. Belongs to the caller, of fixed size, with nothing to free. Zero-initialise it
 * (`arcp_error err = {0};`); functions write it only when they fail, and then replace everything
 * but the pointer `details`. Texts are NUL-terminated UTF-8. */
typedef struct arcp_error {
    arcp_status status; /* ARCP_E_INTERNAL_ERROR for a code that is not one of the draft's */
    bool retryable;
    size_t offset;                  /* byte offset in the text that was read, or ARCP_NO_OFFSET */
    char code[ARCP_ERROR_CODE_MAX]; /* as the peer wrote it, cut; "" for a local failure */
    char message[ARCP_ERROR_MESSAGE_MAX]; /* one line, no secret */
    /* A buffer of the caller's (arcp/buf.h) for the details that some errors have (§12); NULL when
     * they are not wanted. A failure clears it and writes its details there, as JSON text. */
    struct arcp_buf *details;
} arcp_error;

/* The details as NUL-terminated JSON text; "" when there are none, or no buffer for them. Valid
 * until the buffer changes. */
ARCP_API const char *arcp_error_details(const arcp_error *err);

/* Describes a failure and returns `status`, so that a caller can write
 * `return arcp_error_set(err, ARCP_E_..., "...")`. `err` may be NULL. The
 * message is cut at a UTF-8 boundary when it is too long; control bytes become
 * '?'. retryable becomes the status's default; offset becomes ARCP_NO_OFFSET; code and details
 * become empty. */
ARCP_API arcp_status arcp_error_set(arcp_error *err, arcp_status status, const char *format, ...)
    ARCP_PRINTF(3, 4);

/* As arcp_error_set, and notes the byte offset at which the text was refused. */
ARCP_API arcp_status arcp_error_set_at(arcp_error *err, arcp_status status, size_t offset,
                                       const char *format, ...) ARCP_PRINTF(4, 5);

/* Writes the details of a failure that arcp_error_set has described; `json` is JSON text. Does
 * nothing when `err` is NULL or has no buffer; a buffer without memory has failed. */
ARCP_API void arcp_error_set_details(arcp_error *err, arcp_span json);

/* Makes `err` (may be NULL) describe what `from` describes, details too, and returns the status.
 * `err` keeps its own buffer: an error is not copied by assignment. */
ARCP_API arcp_status arcp_error_copy(arcp_error *err, const arcp_error *from);

/* The status's own name ("INVALID_REQUEST", "NO_MEMORY"); static. */
ARCP_API const char *arcp_status_name(arcp_status status);

/* One line of plain English; static. */
ARCP_API const char *arcp_status_text(arcp_status status);

/* The code that stands for the status on the wire: one of the draft's fifteen
 * (§12), INTERNAL_ERROR for local conditions; NULL for ARCP_OK. Static. */
ARCP_API const char *arcp_status_wire_code(arcp_status status);

/* The status of a wire code; ARCP_E_INTERNAL_ERROR for a code that is not one of
 * the fifteen (the caller keeps the text). */
ARCP_API arcp_status arcp_status_from_wire(arcp_span code);

/* Whether `code` is one of the fifteen. */
ARCP_API bool arcp_status_is_wire_code(arcp_span code);

/* Whether a request that failed with the status may succeed later, unless the error says otherwise:
 * true for INTERNAL_ERROR, TIMEOUT and HEARTBEAT_LOST, and for local conditions that may pass. */
ARCP_API bool arcp_status_is_retryable_by_default(arcp_status status);

/* The `retryable` that may go on the wire for `status` when the caller wants
 * `wanted`: INTERNAL_ERROR is always true, LEASE_EXPIRED and BUDGET_EXHAUSTED
 * are always false (§12), otherwise `wanted` wins. */
ARCP_API bool arcp_status_retryable(arcp_status status, bool wanted);

#ifdef __cplusplus
}
#endif
#endif
