/* Encrypts secrets for the store: AES-256-GCM with a key from a file. */
#ifndef ARCP_RUNTIME_SEAL_H
#define ARCP_RUNTIME_SEAL_H

#include <arcp/buf.h>
#include <arcp/error.h>

typedef struct arcp__seal arcp__seal;

/* Reads the key (32 bytes) from `path`, or creates the file with mode 0600 if it does not exist.
 * ARCP_E_USAGE: other users can read it, or it has another size; ARCP_E_IO; ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__seal_open(const char *path, arcp__seal **out, arcp_error *err);
/* Wipes the key; NULL is accepted. */
void arcp__seal_free(arcp__seal *seal);

/* Appends the encrypted `value` as base64 text, which can be opened only with the same `label`.
 * False on failure (no memory, no random bits). */
bool arcp__seal_close_value(const arcp__seal *seal, arcp_span label, arcp_span value,
                            arcp_buf *out);
/* Appends the decrypted value; false if the text was not sealed with this key and label. */
bool arcp__seal_open_value(const arcp__seal *seal, arcp_span label, arcp_span sealed,
                           arcp_buf *out);

#endif
