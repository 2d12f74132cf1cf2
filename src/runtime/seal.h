/* Sealing what is secret before it goes to the store: AES-256-GCM under a key in a file. */
#ifndef ARCP_RUNTIME_SEAL_H
#define ARCP_RUNTIME_SEAL_H

#include <arcp/buf.h>
#include <arcp/error.h>

typedef struct arcp__seal arcp__seal;

/* Reads the key (32 bytes) from `path`; makes the file, mode 0600, when there is none.
 * ARCP_E_USAGE: others may read it, or it is no key; ARCP_E_IO; ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__seal_open(const char *path, arcp__seal **out, arcp_error *err);
/* Wipes the key; NULL is accepted. */
void arcp__seal_free(arcp__seal *seal);

/* Appends `value` sealed as base64 text that opens only together with `label`. False when
 * it cannot be done (memory, no random bits). */
bool arcp__seal_close_value(const arcp__seal *seal, arcp_span label, arcp_span value,
                            arcp_buf *out);
/* Appends the value again; false when the text was not sealed by this key for this label. */
bool arcp__seal_open_value(const arcp__seal *seal, arcp_span label, arcp_span sealed,
                           arcp_buf *out);

#endif
