/* The verifiers that need no key: configured tokens (a table, or a file with one), anonymous
 * access, and a function of the embedding program. */
#include "identity/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <string.h>
#include <unistd.h>

#include <arcp/buf.h>
#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/random.h"
#include "core/role.h"

#define READ_BYTES 4096u

typedef struct table_row {
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char *principal;
    arcp_role role;
} table_row;

typedef struct table_verifier {
    arcp_token_verifier base;
    table_row *rows;
    size_t count;
    size_t token_bytes_min; /* kept because the rows have only hashes */
} table_verifier;

/* ---- the table ---- */

static void verify_table(arcp_token_verifier *base, arcp_token_request *request)
{
    const table_verifier *table = (const table_verifier *)base;
    arcp_token_response response = arcp_token_response_init();
    const arcp_span token = arcp_token_request_token(request);
    unsigned char hash[SHA256_DIGEST_LENGTH];
    const table_row *found = NULL;
    (void)SHA256((const unsigned char *)token.data, token.size, hash);
    for (size_t i = 0; i < table->count; i++) {
        if (arcp_bytes_equal_constant_time(
                arcp_span_make((const char *)hash, sizeof hash),
                arcp_span_make((const char *)table->rows[i].hash, sizeof hash))) {
            found = &table->rows[i];
        }
    }
    if (token.size == 0) {
        response.why = "the token is empty";
    } else if (found == NULL) {
        response.why = "it is not in the table";
    } else {
        response.status = ARCP_OK;
        response.principal = arcp_span_cstr(found->principal);
        response.role = found->role;
    }
    arcp_token_request_respond(request, &response);
}

static void free_table(arcp_token_verifier *base)
{
    table_verifier *table = (table_verifier *)base;
    for (size_t i = 0; i < table->count; i++) {
        arcp__free(table->rows[i].principal);
    }
    arcp__free(table->rows);
    arcp__free(table);
}

static const arcp_token_verifier_ops table_ops = {.struct_size = sizeof(arcp_token_verifier_ops),
                                                  .name = "tokens",
                                                  .verify = verify_table,
                                                  .free = free_table};

static table_verifier *table_new(void)
{
    table_verifier *table = arcp__alloc(sizeof *table);
    if (table != NULL) {
        table->base.ops = &table_ops;
        table->token_bytes_min = SIZE_MAX;
    }
    return table;
}

static arcp_status add_row(table_verifier *table, arcp_span token, arcp_span principal,
                           arcp_role role, arcp_error *err)
{
    if (token.size == 0 || principal.size == 0 || principal.size > ARCP_PRINCIPAL_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "a token and a principal of 1 to %u bytes are needed",
                              ARCP_PRINCIPAL_BYTES_MAX);
    }
    table_row *rows = arcp__realloc_array(table->rows, table->count + 1, sizeof *rows);
    if (rows == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    table->rows = rows;
    table_row *row = &rows[table->count];
    (void)SHA256((const unsigned char *)token.data, token.size, row->hash);
    row->role = role;
    row->principal = arcp__copy_cstr(principal.data, principal.size);
    if (row->principal == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    table->count++;
    table->token_bytes_min =
        token.size < table->token_bytes_min ? token.size : table->token_bytes_min;
    return ARCP_OK;
}

void arcp__token_table_look(const arcp_token_verifier *verifier, arcp__token_facts *facts)
{
    if (verifier->ops != &table_ops) {
        return;
    }
    const table_verifier *table = (const table_verifier *)verifier;
    if (table->token_bytes_min < facts->token_bytes_min) {
        facts->token_bytes_min = table->token_bytes_min;
    }
    for (size_t i = 0; i < table->count; i++) {
        const char *principal = table->rows[i].principal;
        facts->principal = facts->principal == NULL ? principal : facts->principal;
        facts->has_other_principals =
            facts->has_other_principals || strcmp(principal, facts->principal) != 0;
    }
}

bool arcp__token_table_origin(const arcp_token_verifier *verifier, arcp_span token, uint8_t out[32])
{
    if (verifier->ops != &table_ops) {
        return false;
    }
    (void)SHA256((const unsigned char *)token.data, token.size, out);
    return true;
}

bool arcp__token_table_knows(const arcp_token_verifier *verifier, const uint8_t hash[32],
                             const char *principal, arcp_role role)
{
    const table_verifier *table = (const table_verifier *)verifier;
    bool is_known = false;
    for (size_t i = 0; verifier->ops == &table_ops && i < table->count; i++) {
        const table_row *row = &table->rows[i];
        is_known = is_known || (memcmp(row->hash, hash, sizeof row->hash) == 0 &&
                                strcmp(row->principal, principal) == 0 && row->role == role);
    }
    return is_known;
}

static arcp_status hand_out(table_verifier *table, arcp_status status, arcp_token_verifier **out)
{
    if (status == ARCP_OK) {
        *out = &table->base;
    } else {
        free_table(&table->base);
    }
    return status;
}

arcp_status arcp_token_verifier_new_table(const arcp_token_row *rows, size_t count,
                                          arcp_token_verifier **out, arcp_error *err)
{
    table_verifier *table = table_new();
    if (table == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < count; i++) {
        status = add_row(table, arcp_span_cstr(rows[i].token), arcp_span_cstr(rows[i].principal),
                         ARCP_ROLE_NONE, err);
    }
    return hand_out(table, status, out);
}

arcp_status arcp__token_table_new(const arcp__token_row *rows, size_t count,
                                  arcp_token_verifier **out, arcp_error *err)
{
    table_verifier *table = table_new();
    if (table == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < count; i++) {
        status = add_row(table, arcp_span_cstr(rows[i].token), arcp_span_cstr(rows[i].principal),
                         rows[i].role, err);
    }
    return hand_out(table, status, out);
}

/* ---- roles ---- */

arcp_role arcp__role_from_name(arcp_span name)
{
    for (arcp_role role = ARCP_ROLE_VIEWER; role <= ARCP_ROLE_OPERATOR; role++) {
        if (arcp_span_equal(name, arcp_span_cstr(arcp__role_name(role)))) {
            return role;
        }
    }
    return ARCP_ROLE_NONE;
}

/* ---- the file ---- */

bool arcp__token_take_role(arcp_span *line, arcp_role *role)
{
    static const char prefix[] = "role=";
    const size_t prefix_size = sizeof prefix - 1;
    size_t start = line->size;
    *role = ARCP_ROLE_NONE;
    while (start != 0 && line->data[start - 1] != ' ' && line->data[start - 1] != '\t') {
        start--;
    }
    const arcp_span word = arcp_span_from(*line, start);
    if (start == 0 || !arcp_span_starts_with(word, arcp_span_make(prefix, prefix_size))) {
        return true;
    }
    *role = arcp__role_from_name(arcp_span_from(word, prefix_size));
    while (start != 0 && (line->data[start - 1] == ' ' || line->data[start - 1] == '\t')) {
        start--;
    }
    *line = arcp_span_first(*line, start);
    return *role != ARCP_ROLE_NONE;
}

static arcp_status read_lines(table_verifier *table, const char *path, arcp_span text,
                              arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t number = 1; text.size != 0 && status == ARCP_OK; number++) {
        const char *end = memchr(text.data, '\n', text.size);
        arcp_span line = end == NULL ? text : arcp_span_first(text, (size_t)(end - text.data));
        text = arcp_span_from(text, line.size + 1);
        while (line.size != 0 && strchr(" \t\r\n", line.data[line.size - 1]) != NULL) {
            line.size--;
        }
        if (line.size == 0 || line.data[0] == '#') {
            continue;
        }
        arcp_role role = ARCP_ROLE_NONE;
        if (!arcp__token_take_role(&line, &role)) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "%s:%zu: the role of a token must be viewer or operator", path,
                                  number);
        }
        const char *equals = line.size == 0 ? NULL : memrchr(line.data, '=', line.size);
        const size_t token_size = equals == NULL ? 0 : (size_t)(equals - line.data);
        const arcp_span principal = arcp_span_from(line, token_size + 1);
        if (token_size == 0 || principal.size == 0 || principal.size > ARCP_PRINCIPAL_BYTES_MAX) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "%s:%zu: a line must be TOKEN=PRINCIPAL or "
                                  "TOKEN=PRINCIPAL role=ROLE",
                                  path, number);
        }
        status = add_row(table, arcp_span_first(line, token_size), principal, role, err);
    }
    return status;
}

/* Does not use stdio, whose buffers are not wiped. */
static arcp_status read_file(const char *path, arcp_buf *out, arcp_error *err)
{
    const int file =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for the writer of a FIFO */
    if (file < 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "token file %s cannot be read: %s", path,
                              strerror(errno));
    }
    (void)fcntl(file, F_SETFL, 0); /* a pipe's writer may still be writing */
    ssize_t got = 1;
    while (got > 0 && arcp_buf_reserve(out, READ_BYTES)) {
        do {
            got = read(file, out->data + out->size, READ_BYTES);
        } while (got < 0 && errno == EINTR);
        out->size += got > 0 ? (size_t)got : 0;
    }
    const int why = errno;
    (void)close(file);
    if (out->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return got == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "token file %s cannot be read to its end: %s",
                                path, strerror(why));
}

arcp_status arcp_token_verifier_new_file(const char *path, arcp_token_verifier **out,
                                         arcp_error *err)
{
    arcp_buf text = arcp_buf_secret_init();
    arcp_status status = read_file(path, &text, err);
    table_verifier *table = status == ARCP_OK ? table_new() : NULL;
    if (status == ARCP_OK) {
        status = table == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                               : read_lines(table, path, arcp_buf_span(&text), err);
    }
    arcp_buf_fini(&text);
    return table == NULL ? status : hand_out(table, status, out);
}

/* ---- anonymous access ---- */

/* Each anonymous session gets its own principal, so that they see nothing of each other. */
static void verify_anonymous(arcp_token_verifier *base, arcp_token_request *request)
{
    arcp_token_response response = arcp_token_response_init();
    arcp_buf name = arcp_buf_init();
    unsigned char bytes[16];
    (void)base;
    arcp__random(bytes, sizeof bytes);
    arcp_buf_append_cstr(&name, "anonymous-");
    arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof bytes), ARCP__BASE64_URL, &name);
    if (!name.failed) {
        response.status = ARCP_OK;
        response.principal = arcp_buf_span(&name);
        response.is_anonymous = true;
    } else {
        response.status = ARCP_E_INTERNAL_ERROR;
        response.why = "no name could be made";
    }
    arcp_token_request_respond(request, &response);
    arcp_buf_fini(&name);
}

static void free_anonymous(arcp_token_verifier *base)
{
    arcp__free(base);
}

arcp_status arcp_token_verifier_new_anonymous(arcp_token_verifier **out, arcp_error *err)
{
    static const arcp_token_verifier_ops ops = {.struct_size = sizeof ops,
                                                .name = "anonymous",
                                                .verify = verify_anonymous,
                                                .free = free_anonymous};
    arcp_token_verifier *verifier = arcp__alloc(sizeof *verifier);
    if (verifier == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    verifier->ops = &ops;
    *out = verifier;
    return ARCP_OK;
}

/* ---- a function ---- */

typedef struct callback_verifier {
    arcp_token_verifier base;
    void (*verify)(void *user, arcp_token_request *request);
    void (*free_user)(void *user);
    void *user;
} callback_verifier;

static void verify_callback(arcp_token_verifier *base, arcp_token_request *request)
{
    const callback_verifier *verifier = (const callback_verifier *)base;
    verifier->verify(verifier->user, request);
}

static void free_callback(arcp_token_verifier *base)
{
    callback_verifier *verifier = (callback_verifier *)base;
    if (verifier->free_user != NULL) {
        verifier->free_user(verifier->user);
    }
    arcp__free(verifier);
}

arcp_status arcp_token_verifier_new_callback(void (*verify_fn)(void *user,
                                                               arcp_token_request *request),
                                             void (*free_user)(void *user), void *user,
                                             arcp_token_verifier **out, arcp_error *err)
{
    static const arcp_token_verifier_ops ops = {.struct_size = sizeof ops,
                                                .name = "callback",
                                                .verify = verify_callback,
                                                .free = free_callback};
    callback_verifier *verifier = arcp__alloc(sizeof *verifier);
    if (verifier == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *verifier = (callback_verifier){
        .base = {&ops}, .verify = verify_fn, .free_user = free_user, .user = user};
    *out = &verifier->base;
    return ARCP_OK;
}

void arcp_token_verifier_free(arcp_token_verifier *verifier)
{
    if (verifier != NULL) {
        verifier->ops->free(verifier);
    }
}
