/* What is allowed and a risk, or would fail later: said at the start, at a reload and by
 * --check-config. */
#ifndef ARCP_ARCPD_CONFIG_WARNINGS_H
#define ARCP_ARCPD_CONFIG_WARNINGS_H

#include "arcpd/tokens.h"

/* One line without its end. */
typedef void (*arcp__config_warn_fn)(void *user, const char *text);

typedef enum arcp__config_moment {
    ARCP__CONFIG_START, /* and a reload: the runtime itself says what it cannot start */
    ARCP__CONFIG_CHECK
} arcp__config_moment;

/* Calls `warn` for each warning. `tokens` are those of the configuration's verifiers. Looks at
 * files and users, and changes nothing. */
void arcp__config_warn(const arcp__config *config, const arcp__token_facts *tokens,
                       arcp__config_moment moment, arcp__config_warn_fn warn, void *user);

#endif
