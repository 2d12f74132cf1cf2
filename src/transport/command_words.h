/* Splits a command line into words as a shell does, without expansions. */
#ifndef ARCP_TRANSPORT_COMMAND_WORDS_H
#define ARCP_TRANSPORT_COMMAND_WORDS_H

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

/* Splits at blanks. 'Single quotes' preserve all bytes, "double quotes" all except a backslash
 * before \ " $ or `; outside of quotes a backslash preserves the next byte. `$`, `*`, `;` and the
 * like are ordinary bytes. *out is a NULL-terminated array in one block, which the caller frees
 * with arcp__free. ARCP_E_USAGE: no word, or a quote that is not closed. */
ARCP_MUST_CHECK arcp_status arcp__command_words(arcp_span text, char ***out, arcp_error *err);

#endif
