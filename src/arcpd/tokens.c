#include "arcpd/arcpd.h"

#include <arcp/secret.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/random.h"
#include "file/private_file.h"
#include "runtime/runtime_owner.h"
#include "transport/url.h"

#define TOKEN_BYTES_MIN 16u
#define TOKEN_BYTES_MAX 511u
#define FILE_BYTES_MAX  (TOKEN_BYTES_MAX + 3) /* with CR LF; a file of this size is too long */

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- the token that arcpd creates ---- */

/* Reads the token from the state directory, and creates it if it does not exist. */
static arcp_status own_token(const char *state_directory, arcp_token_verifier **out,
                             arcp_error *err)
{
    char path[4096];
    unsigned char bytes[32];
    arcp_buf fresh = arcp_buf_secret_init();
    arcp_buf token = arcp_buf_secret_init();
    const arcp__private_file file = {
        .what = "the token file", .path = path, .bytes_max = FILE_BYTES_MAX, .closed_to = 077};
    if (snprintf(path, sizeof path, "%s/token", state_directory) >= (int)sizeof path) {
        return arcp_error_set(err, ARCP_E_USAGE, "the state directory's path is too long");
    }
    arcp__random(bytes, sizeof bytes);
    arcp__base64_encode(arcp_span_make((const char *)bytes, sizeof bytes), ARCP__BASE64_URL,
                        &fresh);
    arcp_wipe(bytes, sizeof bytes);
    arcp_buf_append_byte(&fresh, '\n');
    arcp_status status =
        fresh.failed ? no_memory(err)
                     : arcp__private_file_read_or_make(&file, arcp_buf_span(&fresh), &token, err);
    arcp_buf_fini(&fresh);
    const bool is_whole = token.size < FILE_BYTES_MAX;
    while (token.size != 0 &&
           (token.data[token.size - 1] == '\n' || token.data[token.size - 1] == '\r')) {
        token.size--;
    }
    if (status == ARCP_OK &&
        (!is_whole || token.size < TOKEN_BYTES_MIN || token.size > TOKEN_BYTES_MAX ||
         memchr(token.data, '\n', token.size) != NULL)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "the token file %s must contain one line of 16 to 511 bytes; "
                                "remove it to get a new token",
                                path);
    }
    if (status == ARCP_OK) {
        arcp_buf_append_byte(&token, '\0');
        const arcp_token_row row = {token.data, "local"};
        status = token.failed ? no_memory(err) : arcp_token_verifier_new_table(&row, 1, out, err);
    }
    arcp_buf_fini(&token);
    return status;
}

/* ---- verifiers ---- */

void arcp__verifiers_fini(arcp__verifiers *verifiers)
{
    for (size_t i = 0; i < verifiers->count; i++) {
        arcp_token_verifier_free(verifiers->items[i]);
    }
    arcp__free(verifiers->items);
    *verifiers = (arcp__verifiers){NULL, 0};
}

arcp_status arcp__verifiers_install(arcp__verifiers *verifiers, const arcp__config *config,
                                    arcp_runtime *runtime, arcp_error *err)
{
    const bool has_local = geteuid() == 0 || arcp__operator_socket_intruder(config) == NULL;
    arcp__runtime_set_local_operator(runtime, has_local ? ARCP__LOCAL_OPERATOR : NULL);
    const arcp_status status =
        arcp_runtime_set_token_verifiers(runtime, verifiers->items, verifiers->count, err);
    verifiers->count = 0;
    arcp__verifiers_fini(verifiers);
    return status;
}

bool arcp__config_has_tokens(const arcp__config *config)
{
    return config->token_count != 0 || config->token_file != NULL || config->jwt_count != 0;
}

/* Makes the configured verifiers, in an array with space for one more. */
static arcp_status make_configured(const arcp__config *config, arcp__verifiers *out,
                                   arcp_error *err)
{
    arcp_status status = ARCP_OK;
    out->items = arcp__alloc_array(config->jwt_count + 3, sizeof(arcp_token_verifier *));
    if (out->items == NULL) {
        return no_memory(err);
    }
    if (config->token_count != 0) {
        status = arcp__token_table_new(config->tokens, config->token_count, &out->items[out->count],
                                       err);
        out->count += status == ARCP_OK;
    }
    if (status == ARCP_OK && config->token_file != NULL) {
        status = arcp_token_verifier_new_file(config->token_file, &out->items[out->count], err);
        out->count += status == ARCP_OK;
    }
    for (size_t i = 0; status == ARCP_OK && i < config->jwt_count; i++) {
        arcp_jwt_options jwt = config->jwt[i];
        jwt.struct_size = sizeof jwt;
        status = arcp_token_verifier_new_jwt(&jwt, &out->items[out->count], err);
        out->count += status == ARCP_OK;
    }
    return status;
}

arcp__token_facts arcp__verifiers_facts(const arcp__verifiers *verifiers)
{
    arcp__token_facts facts = {.token_bytes_min = SIZE_MAX};
    for (size_t i = 0; i < verifiers->count; i++) {
        arcp__token_table_look(verifiers->items[i], &facts);
    }
    return facts;
}

arcp_status arcp__verifiers_check(const arcp__config *config, arcp__token_facts *facts,
                                  arcp_error *err)
{
    arcp__verifiers made = {NULL, 0};
    const arcp_status status = make_configured(config, &made, err);
    *facts = arcp__verifiers_facts(&made);
    facts->principal = NULL;
    arcp__verifiers_fini(&made);
    return status;
}

arcp_status arcp__verifiers_make(const arcp__config *config, const char *state_directory,
                                 arcp__verifiers *out, arcp_error *err)
{
    arcp__verifiers fresh = {NULL, 0};
    arcp_status status = make_configured(config, &fresh, err);
    if (status == ARCP_OK && config->no_auth) {
        status = arcp_token_verifier_new_anonymous(&fresh.items[fresh.count], err);
        fresh.count += status == ARCP_OK;
    } else if (status == ARCP_OK && !arcp__config_has_tokens(config) && !config->use_stdio) {
        status = own_token(state_directory, &fresh.items[fresh.count], err);
        fresh.count += status == ARCP_OK;
    }
    if (status != ARCP_OK) {
        arcp__verifiers_fini(&fresh);
        return status;
    }
    *out = fresh;
    return ARCP_OK;
}

/* ---- safety of listeners ---- */

bool arcp__listen_is_loopback(const char *text)
{
    arcp__url url;
    arcp_error error = {0};
    return arcp__url_parse(arcp_span_cstr(text), &url, &error) == ARCP_OK &&
           arcp__authority_is_loopback(&url.authority);
}

arcp_status arcp__listen_is_safe(const arcp__config *config, const arcp__text_list *listen,
                                 arcp_error *err)
{
    for (size_t i = 0; i < listen->count; i++) {
        const char *url = listen->items[i];
        if (arcp__listen_is_loopback(url)) {
            continue;
        }
        /* A reload checks the listeners of the start, which the new file may not contain. */
        const arcp__config_places none = {NULL, NULL, 0};
        const arcp__config_name name = arcp__config_name_of(
            listen == &config->listen ? &config->places : &none, "listen[%zu]", i);
        if (config->no_auth) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "%s: no_auth is allowed on loopback only, and %s is not loopback",
                                  name.text, url);
        }
        if (!arcp__config_has_tokens(config)) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "%s: refusing to listen on %s without configured tokens: set "
                                  "tokens, token_file or jwt, or listen on 127.0.0.1",
                                  name.text, url);
        }
    }
    return ARCP_OK;
}
