/* Who may come in: the verifiers of tokens that the configuration asks for, and whether
 * they are enough for where we listen. */
#ifndef ARCP_ARCPD_TOKENS_H
#define ARCP_ARCPD_TOKENS_H

#include <arcp/token.h>

#include "arcpd/config.h"
#include "identity/identity.h"

typedef struct arcp__verifiers {
    arcp_token_verifier **items; /* owned, and so are they until a runtime takes them */
    size_t count;
} arcp__verifiers;

void arcp__verifiers_fini(arcp__verifiers *verifiers);
/* Somebody took them over: forgets them. */
void arcp__verifiers_taken(arcp__verifiers *verifiers);

/* Whether the operator gave tokens, or a way to verify them. */
bool arcp__config_has_tokens(const arcp__config *config);

/* Reads every file that the configuration names for tokens. On failure `out` is untouched.
 * Without tokens of the operator's, and with authentication, the one in `state_directory`/
 * token is taken (made with mode 0600 when it is not there) for the principal `local`. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_make(const arcp__config *config,
                                                 const char *state_directory, arcp__verifiers *out,
                                                 arcp_error *err);
/* Whether the configured ones can be made, and what they have; makes nothing on disk. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_check(const arcp__config *config,
                                                  arcp__token_facts *facts, arcp_error *err);
arcp__token_facts arcp__verifiers_look(const arcp__verifiers *verifiers);

/* Whether a ws:// or wss:// URL always means this machine. */
bool arcp__listen_is_loopback(const char *text);
/* Beyond loopback only with tokens of the operator's own. ARCP_E_USAGE names the URL. */
ARCP_MUST_CHECK arcp_status arcp__listen_is_safe(const arcp__config *config,
                                                 const arcp__text_list *listen, arcp_error *err);

#endif
