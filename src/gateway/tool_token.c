/* What authenticates the gateway at a server behind HTTP: headers of the configuration, and an
 * access token by OAuth's client credentials. */
#include <string.h>

#include "base/base64.h"
#include "gateway/tool_parts.h"
#include "json/json.h"

#define TOKEN_BYTES_MAX 16384

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

void arcp__tool_secrets_fini(arcp__tool_secrets *secrets)
{
    arcp_buf_fini(&secrets->headers);
    *secrets = (arcp__tool_secrets){.own_size = 0};
}

arcp_status arcp__tool_secrets_read(arcp__tool_secrets *secrets, const arcp__tool_config *config,
                                    const arcp__tool_server_options *server, arcp_error *err)
{
    arcp_buf headers = arcp_buf_secret_init();
    arcp_status status = ARCP_OK;
    for (size_t i = 0; server->headers != NULL && server->headers[i] != NULL && status == ARCP_OK;
         i++) {
        status = config->expand(server->name, server->headers[i], &headers, err);
        arcp_buf_append_byte(&headers, '\0');
    }
    if (status == ARCP_OK && headers.failed) {
        status = no_memory(err);
    }
    if (status != ARCP_OK) {
        arcp_buf_fini(&headers);
        return status;
    }
    arcp__tool_secrets_fini(secrets);
    secrets->headers = headers;
    secrets->own_size = headers.size;
    return ARCP_OK;
}

/* ---- the token ---- */

/* A value of a form (application/x-www-form-urlencoded). */
static void append_encoded(arcp_span text, arcp_buf *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                              (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
                              byte == '_' || byte == '~';
        if (is_plain) {
            arcp_buf_append_byte(out, (char)byte);
        } else {
            arcp_buf_append_byte(out, '%');
            arcp_buf_append_byte(out, digits[byte >> 4]);
            arcp_buf_append_byte(out, digits[byte & 15]);
        }
    }
}

arcp_status arcp__tool_token_ask(const arcp__tool_config *config,
                                 const arcp__tool_server_options *server, arcp_buf *body,
                                 arcp_buf *headers, arcp_error *err)
{
    const arcp__tool_oauth *oauth = &server->oauth;
    arcp_buf secret = arcp_buf_secret_init();
    arcp_buf pair = arcp_buf_secret_init();
    const arcp_status status = config->expand(server->name, oauth->client_secret, &secret, err);
    append_encoded(arcp_span_cstr(oauth->client_id), &pair);
    arcp_buf_append_byte(&pair, ':');
    append_encoded(arcp_buf_span(&secret), &pair);
    arcp_buf_append_cstr(headers, "Authorization: Basic ");
    arcp__base64_encode(arcp_buf_span(&pair), ARCP__BASE64_STANDARD, headers);
    arcp_buf_append_byte(headers, '\0');
    arcp_buf_append_cstr(headers, "Content-Type: application/x-www-form-urlencoded");
    arcp_buf_append_byte(headers, '\0');
    arcp_buf_append_cstr(headers, "Accept: application/json");
    arcp_buf_append_byte(headers, '\0');
    arcp_buf_append_cstr(body, "grant_type=client_credentials");
    if (oauth->scope != NULL) {
        arcp_buf_append_cstr(body, "&scope=");
        append_encoded(arcp_span_cstr(oauth->scope), body);
    }
    const bool failed = secret.failed || pair.failed || headers->failed || body->failed;
    arcp_buf_fini(&secret);
    arcp_buf_fini(&pair);
    return status == ARCP_OK && failed ? no_memory(err) : status;
}

arcp_status arcp__tool_token_take(arcp__tool_secrets *secrets, arcp_span response, arcp_error *err)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_secret_init();
    arcp_status status = arcp_json_scan(&json, response, NULL, NULL);
    arcp_span token = {NULL, 0};
    if (status == ARCP_OK) {
        const arcp_json_ref value =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("access_token"));
        token = arcp_json_is(&json, value, ARCP_JSON_STRING) ? arcp_json_string(&json, value, &text)
                                                             : token;
    }
    for (size_t i = 0; i < token.size; i++) {
        const bool is_visible = token.data[i] >= '!' && token.data[i] <= '~';
        token = is_visible && token.size <= TOKEN_BYTES_MAX ? token : arcp_span_make(NULL, 0);
    }
    if (token.size != 0) {
        arcp_buf_append_cstr(&secrets->headers, "Authorization: Bearer ");
        arcp_buf_append(&secrets->headers, token);
        arcp_buf_append_byte(&secrets->headers, '\0');
        secrets->has_token = true;
    }
    const bool failed = status == ARCP_E_NO_MEMORY || text.failed || secrets->headers.failed;
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    if (failed) {
        return no_memory(err);
    }
    return token.size != 0 ? ARCP_OK
                           : arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                            "the response for a token has no access_token");
}
