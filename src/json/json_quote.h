/* Writing the inside of a JSON string. */
#ifndef ARCP_JSON_JSON_QUOTE_H
#define ARCP_JSON_JSON_QUOTE_H

#include <arcp/buf.h>

/* Appends `text` with the shortest escape for whatever must have one; what is not UTF-8
 * becomes U+FFFD, byte by byte. No quotes around it. */
void arcp__json_append_escaped(arcp_span text, arcp_buf *out);

#endif
