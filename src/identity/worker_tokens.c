/* The tokens of workers. They are a table of their own, so that none of them opens a session and no
 * token of a session is a worker's. */
#include <openssl/sha.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "identity/identity.h"

struct arcp__worker_tokens {
    arcp__worker_token *rows;
    size_t count;
};

static void free_token(const arcp__worker_token *token)
{
    for (size_t i = 0; i < token->agent_count; i++) {
        arcp__free(token->agents[i]);
    }
    arcp__free(token->agents);
    arcp__free(token->name);
}

void arcp__worker_tokens_free(arcp__worker_tokens *tokens)
{
    if (tokens != NULL) {
        for (size_t i = 0; i < tokens->count; i++) {
            free_token(&tokens->rows[i]);
        }
        arcp__free(tokens->rows);
        arcp__free(tokens);
    }
}

static bool copy_row(const arcp__worker_token_row *from, arcp__worker_token *out)
{
    (void)SHA256((const unsigned char *)from->token, strlen(from->token), out->hash);
    out->max_jobs = from->max_jobs;
    out->name = arcp__copy_cstr(from->name, strlen(from->name));
    out->agents = arcp__alloc_array(from->agent_count + 1, sizeof *out->agents);
    if (out->name == NULL || out->agents == NULL) {
        return false;
    }
    for (; out->agent_count < from->agent_count; out->agent_count++) {
        const char *glob = from->agents[out->agent_count];
        out->agents[out->agent_count] = arcp__copy_cstr(glob, strlen(glob));
        if (out->agents[out->agent_count] == NULL) {
            return false;
        }
    }
    return true;
}

arcp_status arcp__worker_tokens_new(const arcp__worker_token_row *rows, size_t count,
                                    arcp__worker_tokens **out, arcp_error *err)
{
    arcp__worker_tokens *tokens = arcp__alloc(sizeof *tokens);
    arcp__worker_token *copies = arcp__alloc_array(count + 1, sizeof *copies);
    bool is_made = true;
    if (tokens == NULL || copies == NULL) {
        arcp__free(tokens);
        arcp__free(copies);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    tokens->rows = copies;
    for (size_t i = 0; is_made && i < count; i++) {
        is_made = copy_row(&rows[i], &tokens->rows[tokens->count++]);
    }
    if (!is_made) {
        arcp__worker_tokens_free(tokens);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = tokens;
    return ARCP_OK;
}

const arcp__worker_token *arcp__worker_tokens_by_hash(const arcp__worker_tokens *tokens,
                                                      const uint8_t hash[32])
{
    const arcp__worker_token *found = NULL;
    for (size_t i = 0; tokens != NULL && i < tokens->count; i++) {
        const arcp__worker_token *row = &tokens->rows[i];
        if (arcp_bytes_equal_constant_time(
                arcp_span_make((const char *)hash, sizeof row->hash),
                arcp_span_make((const char *)row->hash, sizeof row->hash))) {
            found = row;
        }
    }
    return found;
}

const arcp__worker_token *arcp__worker_tokens_find(const arcp__worker_tokens *tokens,
                                                   arcp_span token)
{
    uint8_t hash[32];
    (void)SHA256((const unsigned char *)token.data, token.size, hash);
    return token.size == 0 ? NULL : arcp__worker_tokens_by_hash(tokens, hash);
}
