/* The configuration file:
 *
 *   url: wss://agents.example.org/arcp
 *   token_file: ~/.config/arcp/token
 *   profile: prod                      # used when none is asked for
 *   profiles:
 *     prod: {url: ..., token_command: [pass, show, arcp]}
 *
 * A profile's keys win over the file's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "cli/config.h"

typedef struct reader {
    const char *path;
    yaml_document_t document;
    const char *profile; /* wanted; NULL: none */
    bool profile_found;
    arcp__config_file *out;
    arcp_error *err;
} reader;

static arcp_status refuse(const reader *r, const yaml_node_t *node, const char *key,
                          const char *what)
{
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s: %s", r->path,
                          node->start_mark.line + 1, key, what);
}

static bool is_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.length != 0 &&
           memchr(node->data.scalar.value, '\0', node->data.scalar.length) == NULL;
}

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static arcp_status read_text(const reader *r, const yaml_node_t *node, const char *key, char **out)
{
    if (!is_text(node)) {
        return refuse(r, node, key, "must be a string");
    }
    *out = arcp__copy_cstr(text_of(node), node->data.scalar.length);
    return *out != NULL ? ARCP_OK : arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
}

/* A path; ~/ is the home directory. */
static arcp_status read_path(const reader *r, const yaml_node_t *node, const char *key, char **out)
{
    const char *home = getenv("HOME");
    arcp_status status = read_text(r, node, key, out);
    if (status != ARCP_OK || strncmp(*out, "~/", 2) != 0 || home == NULL) {
        return status;
    }
    arcp_buf path = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&path, home);
    arcp_buf_append_cstr(&path, *out + 1);
    arcp__free(*out);
    *out = arcp_buf_take_cstr(&path);
    return *out != NULL ? ARCP_OK : arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
}

/* A list of words; no shell is involved. */
static arcp_status read_words(reader *r, const yaml_node_t *node, const char *key, char ***out)
{
    if (node->type != YAML_SEQUENCE_NODE ||
        node->data.sequence.items.start == node->data.sequence.items.top) {
        return refuse(r, node, key, "must be a list of words: [pass, show, arcp]");
    }
    size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    char **words = arcp__alloc_array(count + 1, sizeof(*words));
    *out = words;
    if (words == NULL) {
        return arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = ARCP_OK;
    for (size_t at = 0; at < count && status == ARCP_OK; at++) {
        const yaml_node_t *word =
            yaml_document_get_node(&r->document, node->data.sequence.items.start[at]);
        status = read_text(r, word, key, &words[at]);
    }
    return status;
}

/* One key of the file or of a profile. */
static arcp_status read_key(reader *r, const yaml_node_t *name, const yaml_node_t *value,
                            arcp__config_level *level)
{
    const char *key = text_of(name);
    bool is_top = level == &r->out->top;
    if (strcmp(key, "url") == 0) {
        return read_text(r, value, key, &level->url);
    }
    if (strcmp(key, "token") == 0) {
        return read_text(r, value, key, &level->token);
    }
    if (strcmp(key, "token_file") == 0) {
        return read_path(r, value, key, &level->token_file);
    }
    if (strcmp(key, "token_command") == 0) {
        return read_words(r, value, key, &level->token_command);
    }
    if (strcmp(key, "ca_file") == 0) {
        return read_path(r, value, key, &level->ca_file);
    }
    if (is_top && strcmp(key, "profile") == 0) {
        return read_text(r, value, key, &r->out->default_profile);
    }
    if (is_top && strcmp(key, "profiles") == 0) {
        return value->type == YAML_MAPPING_NODE
                   ? ARCP_OK /* in a second turn, when the wanted one is known */
                   : refuse(r, value, key, "must be a map of profiles");
    }
    return refuse(r, name, key,
                  is_top ? "unknown key (url, token, token_file, token_command, ca_file, profile, "
                           "profiles)"
                         : "unknown key (url, token, token_file, token_command, ca_file)");
}

/* Calls read_key for every pair; refuses what is no map or names a key twice. */
static arcp_status read_level(reader *r, const yaml_node_t *node, const char *what,
                              arcp__config_level *level)
{
    if (node->type != YAML_MAPPING_NODE) {
        return refuse(r, node, what, "must be a map of keys and values");
    }
    arcp_status status = ARCP_OK;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && status == ARCP_OK; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&r->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
        if (!is_text(name)) {
            return refuse(r, name, what, "keys must be words");
        }
        for (yaml_node_pair_t *before = node->data.mapping.pairs.start; before < pair; before++) {
            const yaml_node_t *other = yaml_document_get_node(&r->document, before->key);
            if (strcmp(text_of(other), text_of(name)) == 0) {
                return refuse(r, name, text_of(name), "is given twice");
            }
        }
        status = read_key(r, name, value, level);
    }
    return status;
}

static arcp_status read_profiles(reader *r, const yaml_node_t *node)
{
    arcp_status status = ARCP_OK;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && status == ARCP_OK; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&r->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
        if (!is_text(name)) {
            return refuse(r, name, "profiles", "names must be words");
        }
        /* All are read, so that a fault in any of them is told; the wanted one is kept. */
        bool wanted = r->profile != NULL && strcmp(text_of(name), r->profile) == 0;
        arcp__config_file spare = {0};
        status = read_level(r, value, text_of(name), wanted ? &r->out->profile : &spare.profile);
        r->profile_found = r->profile_found || wanted;
        arcp__config_file_fini(&spare);
    }
    return status;
}

static const yaml_node_t *find(reader *r, const yaml_node_t *map, const char *key)
{
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *name = yaml_document_get_node(&r->document, pair->key);
        if (strcmp(text_of(name), key) == 0) {
            return yaml_document_get_node(&r->document, pair->value);
        }
    }
    return NULL;
}

static arcp_status read_document(reader *r)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (root != NULL) {
        arcp_status status = read_level(r, root, "the file", &r->out->top);
        if (status != ARCP_OK) {
            return status;
        }
        r->profile = r->profile != NULL ? r->profile : r->out->default_profile;
        const yaml_node_t *profiles = find(r, root, "profiles");
        status = profiles == NULL ? ARCP_OK : read_profiles(r, profiles);
        if (status != ARCP_OK) {
            return status;
        }
    }
    if (r->profile != NULL && !r->profile_found) {
        return arcp_error_set(r->err, ARCP_E_USAGE, "%s: there is no profile %s", r->path,
                              r->profile);
    }
    return ARCP_OK;
}

static arcp_status parse(reader *r, FILE *file)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
    }
    yaml_parser_set_input_file(&parser, file);
    arcp_status status = ARCP_OK;
    if (!yaml_parser_load(&parser, &r->document)) {
        status = arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: not YAML: %s", r->path,
                                parser.problem_mark.line + 1,
                                parser.problem == NULL ? "unreadable" : parser.problem);
    } else {
        status = read_document(r);
        yaml_document_delete(&r->document);
    }
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_file_read(const char *path, bool may_be_missing, const char *profile,
                                   arcp__config_file *out, arcp_error *err)
{
    *out = (arcp__config_file){0};
    reader r = {.path = path, .profile = profile, .out = out, .err = err};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        if (errno != ENOENT || !may_be_missing) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", path,
                                  strerror(errno));
        }
        return profile == NULL
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_USAGE, "there is no profile %s: %s does not exist",
                                    profile, path);
    }
    arcp_status status = parse(&r, file);
    if (ferror(file) != 0) { /* a directory, say */
        status = arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", path, strerror(errno));
    }
    (void)fclose(file);
    return status;
}

static void level_fini(arcp__config_level *level)
{
    if (level->token != NULL) {
        arcp_wipe(level->token, strlen(level->token));
    }
    arcp__free(level->url);
    arcp__free(level->token);
    arcp__free(level->token_file);
    arcp__free(level->ca_file);
    for (size_t at = 0; level->token_command != NULL && level->token_command[at] != NULL; at++) {
        arcp__free(level->token_command[at]);
    }
    arcp__free(level->token_command);
}

void arcp__config_file_fini(arcp__config_file *file)
{
    level_fini(&file->top);
    level_fini(&file->profile);
    arcp__free(file->default_profile);
    *file = (arcp__config_file){0};
}
