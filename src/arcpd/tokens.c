#include "arcpd/tokens.h"

#include <arcp/secret.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"

typedef struct arcp__token_row token_row;

void arcp__tokens_fini(arcp__tokens *tokens)
{
    for (size_t at = 0; at < tokens->count; at++) {
        arcp__free(tokens->rows[at].principal);
    }
    arcp__free(tokens->rows);
    tokens->rows = NULL;
    tokens->count = 0;
}

static arcp_status add_row(arcp__tokens *tokens, arcp_span token, arcp_span principal,
                           arcp_error *err)
{
    token_row *rows = arcp__realloc_array(tokens->rows, tokens->count + 1, sizeof(*rows));
    if (rows == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    tokens->rows = rows;
    token_row *row = &rows[tokens->count];
    (void)SHA256((const unsigned char *)token.data, token.size, row->hash);
    row->principal = arcp__copy_cstr(principal.data, principal.size);
    if (row->principal == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    tokens->count++;
    return ARCP_OK;
}

/* ---- the token file ---- */

static arcp_status read_line(arcp__tokens *tokens, const char *path, size_t number, arcp_span line,
                             arcp_error *err)
{
    while (line.size != 0 && strchr(" \t\r\n", line.data[line.size - 1]) != NULL) {
        line.size--;
    }
    if (line.size == 0 || line.data[0] == '#') {
        return ARCP_OK;
    }
    const char *equals = memrchr(line.data, '=', line.size);
    if (equals == NULL || equals == line.data || equals == line.data + line.size - 1) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s:%zu: a line must be TOKEN=PRINCIPAL", path,
                              number);
    }
    size_t token_size = (size_t)(equals - line.data);
    return add_row(tokens, arcp_span_first(line, token_size), arcp_span_from(line, token_size + 1),
                   err);
}

static arcp_status read_file(arcp__tokens *tokens, const char *path, arcp_error *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "token file %s cannot be read: %s", path,
                              strerror(errno));
    }
    char *line = NULL;
    size_t capacity = 0;
    size_t number = 0;
    arcp_status status = ARCP_OK;
    for (ssize_t size = getline(&line, &capacity, file); size >= 0 && status == ARCP_OK;
         size = getline(&line, &capacity, file)) {
        status = read_line(tokens, path, ++number, arcp_span_make(line, (size_t)size), err);
    }
    if (line != NULL) {
        arcp_wipe(line, capacity);
    }
    arcp__free(line); /* getline's memory is the allocator's, as ours is */
    (void)fclose(file);
    return status;
}

/* ---- the token of this machine ---- */

static arcp_status make_token(const char *path, arcp_buf *token, arcp_error *err)
{
    unsigned char bytes[32];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
        return arcp_error_set(err, ARCP_E_IO, "the system has no random numbers");
    }
    arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof(bytes)), ARCP__BASE64_URL,
                        token);
    arcp_wipe(bytes, sizeof(bytes));
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return arcp_error_set(err, ARCP_E_IO, "the token file %s cannot be made: %s", path,
                              strerror(errno));
    }
    arcp_span text = arcp_buf_span(token);
    bool written = !token->failed && write(file, text.data, text.size) == (ssize_t)text.size &&
                   write(file, "\n", 1) == 1 && fsync(file) == 0;
    (void)close(file);
    if (!written) {
        (void)unlink(path);
        return arcp_error_set(err, ARCP_E_IO, "the token file %s cannot be written: %s", path,
                              strerror(errno));
    }
    return ARCP_OK;
}

static arcp_status read_token(int file, const char *path, arcp_buf *token, arcp_error *err)
{
    struct stat about;
    char bytes[512];
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || (about.st_mode & 077) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the token file %s must be a file that only its owner can read "
                              "(chmod 600)",
                              path);
    }
    ssize_t size = read(file, bytes, sizeof(bytes));
    while (size > 0 && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r')) {
        size--;
    }
    if (size < 16) {
        arcp_wipe(bytes, sizeof(bytes));
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the token file %s holds no token; remove it to get a new one", path);
    }
    arcp_buf_append(token, arcp_span_make(bytes, (size_t)size));
    arcp_wipe(bytes, sizeof(bytes));
    return arcp_buf_status(token);
}

static arcp_status own_token(arcp__tokens *tokens, const char *state_directory, arcp_error *err)
{
    char path[4096];
    arcp_buf token = ARCP_BUF_INIT;
    if (snprintf(path, sizeof(path), "%s/token", state_directory) >= (int)sizeof(path)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the state directory's path is too long");
    }
    arcp_status status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0) {
        status = read_token(file, path, &token, err);
        (void)close(file);
    } else if (errno == ENOENT) {
        status = make_token(path, &token, err);
    } else {
        status = arcp_error_set(err, ARCP_E_IO, "the token file %s cannot be read: %s", path,
                                strerror(errno));
    }
    if (status == ARCP_OK) {
        status = add_row(tokens, arcp_buf_span(&token), ARCP_SPAN_LITERAL("local"), err);
    }
    if (token.data != NULL) {
        arcp_wipe(token.data, token.size);
    }
    arcp_buf_fini(&token);
    return status;
}

arcp_status arcp__tokens_load(arcp__tokens *tokens, const arcp__config *config,
                              const char *state_directory, arcp_error *err)
{
    arcp__tokens fresh = {.no_auth = config->no_auth, .next_anonymous = tokens->next_anonymous};
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < config->token_count; at++) {
        status = add_row(&fresh, arcp_span_cstr(config->tokens[at].token),
                         arcp_span_cstr(config->tokens[at].principal), err);
    }
    if (status == ARCP_OK && config->token_file != NULL) {
        status = read_file(&fresh, config->token_file, err);
    }
    fresh.has_own = fresh.count != 0;
    if (status == ARCP_OK && !fresh.has_own && config->token_file == NULL && !config->no_auth &&
        !config->use_stdio) {
        status = own_token(&fresh, state_directory, err);
    }
    if (status != ARCP_OK) {
        arcp__tokens_fini(&fresh);
        return status;
    }
    arcp__tokens_fini(tokens);
    *tokens = fresh;
    return ARCP_OK;
}

arcp_status arcp__tokens_verify(void *user, arcp_span token, arcp_buf *principal,
                                bool *is_anonymous)
{
    arcp__tokens *tokens = user;
    unsigned char hash[32];
    const token_row *found = NULL;
    (void)SHA256((const unsigned char *)token.data, token.size, hash);
    for (size_t at = 0; at < tokens->count; at++) {
        if (arcp_bytes_equal_constant_time(
                arcp_span_make((const char *)hash, sizeof(hash)),
                arcp_span_make((const char *)tokens->rows[at].hash, sizeof(hash)))) {
            found = &tokens->rows[at];
        }
    }
    if (found != NULL && token.size != 0) {
        arcp_buf_append_cstr(principal, found->principal);
        return ARCP_OK;
    }
    if (tokens->no_auth) {
        /* A principal of its own: anonymous sessions see nothing of each other. */
        unsigned char bytes[16];
        if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
            return ARCP_E_UNAUTHENTICATED;
        }
        arcp_buf_append_cstr(principal, "anonymous-");
        arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof(bytes)), ARCP__BASE64_URL,
                            principal);
        *is_anonymous = true;
        return ARCP_OK;
    }
    return ARCP_E_UNAUTHENTICATED;
}
