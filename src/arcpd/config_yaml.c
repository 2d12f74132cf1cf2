/* Reading the configuration file. Every key has a row in a table; a key without one, or a
 * value of the wrong shape, is an error with file, line and key. */
#include "arcpd/config.h"
#include "arcpd/config_agents.h"
#include "arcpd/config_policy.h"
#include "arcpd/config_tokens.h"
#include "arcpd/trusted_path.h"
#include "arcpd/yaml_reader.h"
#include "base/alloc.h"
#include "engine/peer_profile.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

/* ---- peer profiles ---- */

static arcp_status profile_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    static const arcp__yaml_field fields[] = {
        {"client", ARCP__YAML_TEXT, offsetof(arcp__config_profile, client), 0, 0},
        {"principal", ARCP__YAML_TEXT, offsetof(arcp__config_profile, principal), 0, 0},
        {"profile", ARCP__YAML_TEXT, offsetof(arcp__config_profile, profile), 0, 0},
    };
    return arcp__yaml_field_read(r, fields, ARCP__YAML_FIELD_COUNT(fields), into, key, path, value);
}

static arcp_status profile_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_profile *profiles =
        arcp__realloc_array(config->profiles, config->profile_count + 1, sizeof(*profiles));
    if (profiles == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->profiles = profiles;
    arcp__config_profile *profile = &profiles[config->profile_count++];
    *profile = (arcp__config_profile){NULL, NULL, NULL};
    arcp_status status = arcp__yaml_members(r, node, path, profile_member, profile);
    if (status == ARCP_OK &&
        ((profile->client == NULL && profile->principal == NULL) || profile->profile == NULL)) {
        status = arcp__yaml_refuse(r, node, path, "needs profile, and client or principal");
    }
    if (status == ARCP_OK && arcp__peer_profile_named(arcp_span_cstr(profile->profile)) == NULL) {
        char what[256];
        (void)snprintf(what, sizeof(what), "names no profile: %s", arcp__peer_profile_names());
        status = arcp__yaml_refuse(r, node, path, what);
    }
    return status;
}

/* ---- the rest ---- */

static arcp_status tls_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    static const arcp__yaml_field fields[] = {
        {"certificate", ARCP__YAML_TEXT, offsetof(arcp__config, tls_certificate), 0, 0},
        {"key", ARCP__YAML_TEXT, offsetof(arcp__config, tls_key), 0, 0},
    };
    return arcp__yaml_field_read(r, fields, ARCP__YAML_FIELD_COUNT(fields), into, key, path, value);
}

static arcp_status log_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    char *word = NULL;
    arcp_error why = {0};
    arcp_status status = arcp__yaml_text(r, value, path, &word);
    if (status != ARCP_OK) {
        return status;
    }
    const char *text = word == NULL ? "" : word;
    if (arcp_span_equal_cstr(key, "level")) {
        if (arcp__config_set_log_level(config, text, &why) != ARCP_OK) {
            status = arcp__yaml_refuse(r, value, path, "must be debug, info, warn or error");
        }
    } else if (arcp_span_equal_cstr(key, "format")) {
        config->log_format = strcmp(text, "json") == 0 ? ARCP__LOG_JSON : ARCP__LOG_TEXT;
        if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0) {
            status = arcp__yaml_refuse(r, value, path, "must be text or json");
        }
    } else {
        status = ARCP_E_NOT_FOUND;
    }
    arcp__free(word);
    return status;
}

static arcp_status http_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                               const yaml_node_t *value)
{
    arcp__config *config = into;
    return arcp_span_equal_cstr(key, "listen")
               ? arcp__yaml_text(r, value, path, &config->http_listen)
               : ARCP_E_NOT_FOUND;
}

typedef struct group {
    arcp__config *config;
    arcp_span name;
} group;

static arcp_status setting_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                  const yaml_node_t *value)
{
    group *settings = into;
    arcp_error why = {0};
    if (value->type != YAML_SCALAR_NODE) {
        return arcp__yaml_refuse(r, value, path, "must be a single value");
    }
    arcp_status status = arcp_settings_set(&settings->config->settings, settings->name, key,
                                           arcp__yaml_scalar(value), &why);
    return status == ARCP_OK || status == ARCP_E_NOT_FOUND
               ? status
               : arcp__yaml_refuse(r, value, "", why.message); /* which names the setting */
}

/* The group has settings and keys of its own. */
static arcp_status credentials_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                      const char *path, const yaml_node_t *value)
{
    arcp__config *config = into;
    arcp_status status = arcp__config_credentials_member(r, &config->credentials, key, path, value);
    group settings = {config, ARCP_SPAN_LITERAL("credentials")};
    return status == ARCP_E_NOT_FOUND ? setting_member(r, &settings, key, path, value) : status;
}

static arcp_status read_credentials(arcp__yaml_reader *r, const yaml_node_t *node, const char *path)
{
    arcp_status status = arcp__yaml_members(r, node, path, credentials_member, r->config);
    return status == ARCP_OK ? arcp__config_credentials_check(r, &r->config->credentials, node)
                             : status;
}

static arcp_status audit_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config *config = into;
    group settings = {config, ARCP_SPAN_LITERAL("audit")};
    if (!arcp_span_equal_cstr(key, "path")) {
        return setting_member(r, &settings, key, path, value);
    }
    arcp_status status = arcp__yaml_text(r, value, path, &config->audit_path);
    if (status == ARCP_OK && config->audit_path == NULL) {
        config->audit_path = arcp__copy_cstr("", 0);
        status = config->audit_path == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
    }
    return status;
}

static bool is_settings_group(arcp_span key)
{
    static const char *const groups[] = {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text) #group,
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)            #group,
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
    };
    for (size_t at = 0; at < sizeof(groups) / sizeof(groups[0]); at++) {
        if (arcp_span_equal_cstr(key, groups[at])) {
            return true;
        }
    }
    return false;
}

/* A configuration needs six. */
#define DEPTH_MAX      64u
#define FILE_BYTES_MAX 16777216u

static const arcp__yaml_field top_fields[] = {
    {"listen", ARCP__YAML_TEXTS, offsetof(arcp__config, listen), 0, 0},
    {"origins", ARCP__YAML_TEXTS, offsetof(arcp__config, origins), 0, 0},
    {"hosts", ARCP__YAML_TEXTS, offsetof(arcp__config, hosts), 0, 0},
    {"store", ARCP__YAML_TEXT, offsetof(arcp__config, store), 0, 0},
    {"no_auth", ARCP__YAML_BOOL, offsetof(arcp__config, no_auth), 0, 0},
    {"token_file", ARCP__YAML_TEXT, offsetof(arcp__config, token_file), 0, 0},
};

static arcp_status top_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config *config = into;
    static const struct {
        const char *key;
        arcp_status (*item)(arcp__yaml_reader *r, const char *path, const yaml_node_t *node);
    } lists[] = {{"tokens", arcp__yaml_token_item},
                 {"jwt", arcp__yaml_jwt_item},
                 {"agents", arcp__yaml_agent_item},
                 {"policy", arcp__yaml_policy_item},
                 {"peer_profiles", profile_item}};
    static const struct {
        const char *key;
        arcp__yaml_member_fn member;
    } mappings[] = {
        {"tls", tls_member}, {"log", log_member}, {"audit", audit_member}, {"http", http_member}};
    for (size_t at = 0; at < sizeof(lists) / sizeof(lists[0]); at++) {
        if (arcp_span_equal_cstr(key, lists[at].key)) {
            return arcp__yaml_items(r, value, path, lists[at].item);
        }
    }
    for (size_t at = 0; at < sizeof(mappings) / sizeof(mappings[0]); at++) {
        if (arcp_span_equal_cstr(key, mappings[at].key)) {
            return arcp__yaml_members(r, value, path, mappings[at].member, config);
        }
    }
    if (arcp_span_equal_cstr(key, "tracing")) {
        return arcp__yaml_members(r, value, path, arcp__config_tracing_member, &config->tracing);
    }
    if (arcp_span_equal_cstr(key, "credentials")) {
        return read_credentials(r, value, path);
    }
    if (is_settings_group(key)) {
        group settings = {config, key};
        return arcp__yaml_members(r, value, path, setting_member, &settings);
    }
    return arcp__yaml_field_read(r, top_fields, ARCP__YAML_FIELD_COUNT(top_fields), config, key,
                                 path, value);
}

static arcp_status read_document(arcp__yaml_reader *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    return root == NULL ? ARCP_OK : arcp__yaml_members(r, root, "", top_member, r->config);
}

/* Whether the character at a mark is a tab: columns count characters of UTF-8. */
static bool is_tab(arcp_span text, yaml_mark_t mark)
{
    size_t at = 0;
    for (size_t line = 0; line < mark.line && at < text.size; at++) {
        line += text.data[at] == '\n';
    }
    for (size_t column = 0; column < mark.column && at < text.size; column++) {
        do {
            at++;
        } while (at < text.size && ((unsigned char)text.data[at] & 0xc0u) == 0x80u);
    }
    return at < text.size && text.data[at] == '\t';
}

static arcp_status not_yaml(const arcp__yaml_reader *r, const yaml_parser_t *parser)
{
    const char *problem = parser->problem == NULL ? "this is no YAML" : parser->problem;
    if (is_tab(r->text, parser->problem_mark)) {
        problem = "a tab: YAML is indented by blanks only";
    }
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s", r->name,
                          parser->problem_mark.line + 1, problem);
}

/* What stands behind `---` would be passed over. */
static arcp_status refuse_more(arcp__yaml_reader *r, yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &r->document)) {
        return not_yaml(r, parser);
    }
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    arcp_status status =
        root == NULL ? ARCP_OK
                     : arcp__yaml_refuse(r, root, "", "a second document: want one in a file");
    yaml_document_delete(&r->document);
    return status;
}

static arcp_status load(arcp__yaml_reader *r, yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &r->document)) {
        return not_yaml(r, parser);
    }
    arcp_status status = read_document(r);
    yaml_document_delete(&r->document);
    return status == ARCP_OK ? refuse_more(r, parser) : status;
}

/* Whether nothing is nested too deep, told by events: libyaml's time for a document grows with the
 * square of its depth, so that it must not see what comes behind the bound. */
static arcp_status check_depth(arcp__yaml_reader *r, arcp_span text)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return arcp__yaml_no_memory(r);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    arcp_status status = ARCP_OK;
    unsigned depth = 0;
    for (bool more = true; more && status == ARCP_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = not_yaml(r, &parser);
            break;
        }
        const yaml_event_type_t type = event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth > DEPTH_MAX) {
            status = arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: nested deeper than %u", r->name,
                                    event.start_mark.line + 1, DEPTH_MAX);
        }
        more = type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_read_text(arcp__config *config, const char *name, arcp_span text,
                                   arcp_error *err)
{
    yaml_parser_t parser;
    arcp__yaml_reader r = {.config = config, .name = name, .text = text, .err = err};
    if (text.size == 0) {
        return ARCP_OK;
    }
    arcp__free(config->places.file);
    config->places.file = arcp__copy_cstr(name, strlen(name));
    if (config->places.file == NULL) {
        return arcp__yaml_no_memory(&r);
    }
    arcp_status status = check_depth(&r, text);
    if (status != ARCP_OK) {
        return status;
    }
    if (!yaml_parser_initialize(&parser)) {
        return arcp__yaml_no_memory(&r);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    status = load(&r, &parser);
    yaml_parser_delete(&parser);
    return status;
}

static arcp_status read_all(FILE *file, const char *path, arcp_buf *out, arcp_error *err)
{
    char block[16384];
    size_t size = 0;
    do {
        size = fread(block, 1, sizeof(block), file);
        arcp_buf_append(out, arcp_span_make(block, size));
    } while (size != 0 && !out->failed && out->size <= FILE_BYTES_MAX);
    if (ferror(file) != 0) { /* a directory, say */
        return arcp_error_set(err, ARCP_E_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (out->size > FILE_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: has more than %u bytes", path,
                              FILE_BYTES_MAX);
    }
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__config_read(arcp__config *config, const char *path, arcp_error *err)
{
    arcp_buf text = ARCP_BUF_SECRET_INIT; /* it may have tokens */
    arcp_status status =
        arcp__trusted_path_check("the configuration", path, ARCP__TRUSTED_FILE, err);
    if (status != ARCP_OK) {
        return status;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    }
    status = read_all(file, path, &text, err);
    (void)fclose(file);
    if (status == ARCP_OK) {
        status = arcp__config_read_text(config, path, arcp_buf_span(&text), err);
    }
    arcp_buf_fini(&text);
    return status;
}
