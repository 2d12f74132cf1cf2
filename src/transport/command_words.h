/* A command line in words, as a shell splits it; nothing is expanded. */
#ifndef ARCP_TRANSPORT_COMMAND_WORDS_H
#define ARCP_TRANSPORT_COMMAND_WORDS_H

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

/* Splits at blanks; 'single quotes' keep everything, "double quotes" everything but
 * backslash before \ " $ and `, a backslash elsewhere keeps the next byte. `$`, `*`, `;`
 * and the like are ordinary bytes. *out is a NULL-terminated array in one block that
 * the caller frees with arcp__free. ARCP_E_USAGE: no word, or a quote that does not end. */
ARCP_MUST_CHECK arcp_status arcp__command_words(arcp_span text, char ***out, arcp_error *err);

#endif
