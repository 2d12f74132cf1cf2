/* Reading `tokens` and `jwt` of the configuration file. */
#include "arcpd/config_tokens.h"

#include <stddef.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "runtime/jwt_key.h"

/* ---- tokens ---- */

static arcp_status token_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    static const arcp__yaml_field fields[] = {
        {"token", ARCP__YAML_TEXT, offsetof(arcp__config_token, token), 0, 0},
        {"principal", ARCP__YAML_TEXT, offsetof(arcp__config_token, principal), 0, 0},
    };
    return arcp__yaml_field_read(r, fields, ARCP__YAML_FIELD_COUNT(fields), into, key, path, value);
}

arcp_status arcp__yaml_token_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config_token token = {NULL, NULL};
    arcp_status status = arcp__yaml_members(r, node, path, token_member, &token);
    if (status == ARCP_OK && (arcp_span_is_empty(arcp_span_cstr(token.token)) ||
                              arcp_span_is_empty(arcp_span_cstr(token.principal)))) {
        status = arcp__yaml_refuse(r, node, path, "needs token and principal");
    }
    if (status == ARCP_OK) {
        status = arcp__config_add_token(r->config, arcp_span_cstr(token.token),
                                        arcp_span_cstr(token.principal), r->err);
    }
    if (token.token != NULL) {
        arcp_wipe(token.token, strlen(token.token));
    }
    arcp__free(token.token);
    arcp__free(token.principal);
    return status;
}

/* ---- keys for JSON Web Tokens ---- */

static arcp_status jwt_algorithm(arcp__yaml_reader *r, const yaml_node_t *node, const char *path,
                                 arcp_jwt_algorithm *out)
{
    arcp_span text =
        node->type == YAML_SCALAR_NODE ? arcp__yaml_scalar(node) : arcp_span_make(NULL, 0);
    return arcp__jwt_algorithm_parse(text, out)
               ? ARCP_OK
               : arcp__yaml_refuse(r, node, path, "must be HS256, RS256 or ES256");
}

typedef struct jwt_draft {
    arcp__config_jwt *jwt;
    bool has_algorithm;
} jwt_draft;

static const arcp__yaml_field jwt_fields[] = {
    {"key_file", ARCP__YAML_TEXT, offsetof(arcp__config_jwt, key_file), 0, 0},
    {"key_id", ARCP__YAML_TEXT, offsetof(arcp__config_jwt, key_id), 0, 0},
    {"issuer", ARCP__YAML_TEXT, offsetof(arcp__config_jwt, issuer), 0, 0},
    {"audience", ARCP__YAML_TEXT, offsetof(arcp__config_jwt, audience), 0, 0},
    {"principal_claim", ARCP__YAML_TEXT, offsetof(arcp__config_jwt, principal_claim), 0, 0},
    {"leeway_sec", ARCP__YAML_COUNT, offsetof(arcp__config_jwt, leeway_sec), 0,
     ARCP_JWT_LEEWAY_SEC_MAX},
};

static arcp_status jwt_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    jwt_draft *draft = into;
    if (arcp_span_equal_cstr(key, "algorithm")) {
        draft->has_algorithm = true;
        return jwt_algorithm(r, value, path, &draft->jwt->algorithm);
    }
    return arcp__yaml_field_read(r, jwt_fields, ARCP__YAML_FIELD_COUNT(jwt_fields), draft->jwt, key,
                                 path, value);
}

arcp_status arcp__yaml_jwt_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    const arcp_jwt_options defaults = ARCP_JWT_OPTIONS_INIT;
    arcp__config *config = r->config;
    arcp__config_jwt *rows = arcp__realloc_array(config->jwt, config->jwt_count + 1, sizeof(*rows));
    if (rows == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->jwt = rows;
    jwt_draft draft = {.jwt = &rows[config->jwt_count++]};
    *draft.jwt = (arcp__config_jwt){.leeway_sec = defaults.leeway_sec};
    arcp_status status = arcp__yaml_members(r, node, path, jwt_member, &draft);
    if (status == ARCP_OK && (!draft.has_algorithm || draft.jwt->key_file == NULL)) {
        status = arcp__yaml_refuse(r, node, path, "needs algorithm and key_file");
    }
    return status;
}
