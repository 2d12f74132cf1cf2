/* Agent names (§7.5): name ["@" version]. */
#ifndef ARCP_CORE_AGENT_NAME_H
#define ARCP_CORE_AGENT_NAME_H

#include <arcp/error.h>

/* Splits `text` and checks the grammar: name [a-z0-9][a-z0-9._-]*, version
 * [a-zA-Z0-9.+_-]+, each at most 128 bytes. `version` is empty when there is no suffix.
 * ARCP_E_INVALID_REQUEST quotes the text. The spans borrow from `text`. */
ARCP_MUST_CHECK arcp_status arcp__agent_name_parse(arcp_span text, arcp_span *name,
                                                   arcp_span *version, arcp_error *err);

#endif
