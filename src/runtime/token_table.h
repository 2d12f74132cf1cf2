/* What an operator is warned of about tokens that are known beforehand. */
#ifndef ARCP_RUNTIME_TOKEN_TABLE_H
#define ARCP_RUNTIME_TOKEN_TABLE_H

#include <arcp/token.h>

typedef struct arcp__token_facts {
    size_t token_bytes_min;    /* of the shortest token; SIZE_MAX: there is none */
    const char *principal;     /* of the first token; lives with its verifier; NULL: none */
    bool has_other_principals; /* than that one */
} arcp__token_facts;

/* Adds what a verifier of arcp_token_verifier_new_table or _new_file has; nothing for another. */
void arcp__token_table_look(const arcp_token_verifier *verifier, arcp__token_facts *facts);

#endif
