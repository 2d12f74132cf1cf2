/* Who may come in: tokens from the configuration, from a file that is read again on
 * SIGHUP, or one that arcpd made for itself. */
#ifndef ARCP_ARCPD_TOKENS_H
#define ARCP_ARCPD_TOKENS_H

#include <arcp/buf.h>

#include "arcpd/config.h"

/* Only hashes are kept; comparing looks at every row. */
typedef struct arcp__tokens {
    struct arcp__token_row {
        unsigned char hash[32];
        char *principal;
    } * rows;
    size_t count;
    bool no_auth;
    bool has_own; /* the operator gave tokens */
    uint64_t next_anonymous;
} arcp__tokens;

void arcp__tokens_fini(arcp__tokens *tokens);

/* Makes the table anew from the configuration, its token file, and, when there is none of
 * either and authentication is on, the token in `state_directory`/token (made with mode
 * 0600 when it is not there, for the principal `local`). On failure the old table stays. */
ARCP_MUST_CHECK arcp_status arcp__tokens_load(arcp__tokens *tokens, const arcp__config *config,
                                              const char *state_directory, arcp_error *err);

/* An arcp_verify_fn over a table. */
arcp_status arcp__tokens_verify(void *user, arcp_span token, arcp_buf *principal,
                                bool *is_anonymous);

#endif
