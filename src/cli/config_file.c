/* The configuration file:
 *
 *   url: wss://agents.example.org/arcp
 *   token_file: ~/.config/arcp/token
 *   profile: prod                      # used unless --profile or ARCP_PROFILE names another
 *   profiles:
 *     prod: {url: ..., token_command: [pass, show, arcp]}
 *   models: ...                        # of `arcp run` and others (arcp/setup_file.c); not read
 * here
 *
 * The keys of a profile take precedence over those at the top level. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "config/config.h"

/* `file` must be first: the rows are offsets from the beginning of this struct. */
typedef struct reading {
    arcp__config_file file;
    const char *profile; /* the selected one; NULL: none */
    bool profile_found;
} reading;

/* ---- the keys ---- */

static arcp_status accept_text(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    char *const *text = arcp__config_value(row, owner);
    return *text == NULL || (*text)[0] == '\0' ? arcp__yaml_refuse(r, "must be a string") : ARCP_OK;
}

/* Replaces a leading ~/ by the home directory. */
static arcp_status accept_path(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const char *home = getenv("HOME");
    char **text = arcp__config_value(row, owner);
    const arcp_status status = accept_text(r, row, owner);
    if (status != ARCP_OK || strncmp(*text, "~/", 2) != 0 || home == NULL) {
        return status;
    }
    arcp_buf whole = arcp_buf_init();
    arcp_buf_append_cstr(&whole, home);
    arcp_buf_append_cstr(&whole, *text + 1);
    arcp__free(*text);
    *text = arcp_buf_take_cstr(&whole);
    return *text != NULL ? ARCP_OK : arcp__yaml_no_memory(r);
}

/* A program and its arguments; no shell is involved. */
static arcp_status accept_words(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp__config_level *level = owner;
    const arcp__text_list *words = &level->token_command;
    return words->count == 0 || words->items[0][0] == '\0'
               ? arcp__yaml_refuse(r, "must be a list of words: [pass, show, arcp]")
               : ARCP_OK;
}

/* Profiles are read after the other keys, because `profile` selects one of them. */
static arcp_status skip_profiles(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    return ARCP_OK;
}

static const arcp__config_type profiles_type = {.read = skip_profiles};

/* The first LEVEL_KEYS rows are the keys of a profile; the top level has all rows. */
#define LEVEL_KEYS 5
_Static_assert(offsetof(arcp__config_file, top) == 0, "a file begins as a profile does");
static const arcp__config_row rows[] = {
    {ARCP__CONFIG_ROW("url", text, arcp__config_level, url), .accept = accept_text},
    {ARCP__CONFIG_ROW("token", text, arcp__config_level, token), .flags = ARCP__CONFIG_SECRET,
     .accept = accept_text},
    {ARCP__CONFIG_ROW("token_file", text, arcp__config_level, token_file), .accept = accept_path},
    {ARCP__CONFIG_LIST("token_command", list, arcp__config_level, token_command.items,
                       token_command.count, &arcp__config_text_item),
     .accept = accept_words},
    {ARCP__CONFIG_ROW("ca_file", text, arcp__config_level, ca_file), .accept = accept_path},
    {ARCP__CONFIG_ROW("profile", text, arcp__config_file, default_profile), .accept = accept_text},
    {.key = "profiles", .type = &profiles_type},
    {.key = "enforce", .type = &arcp__config_ignored},
    {.key = "gateways", .type = &arcp__config_ignored},
    {.key = "models", .type = &arcp__config_ignored},
    {.key = "tools", .type = &arcp__config_ignored},
};
static const arcp__config_fields level_fields = {.rows = rows, .count = LEVEL_KEYS};

/* ---- profiles ---- */

static arcp_status add_name(reading *into, arcp_span name, arcp_error *err)
{
    char *text = arcp__copy_cstr(name.data, name.size);
    const arcp_status status = text == NULL
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : arcp__text_list_add(&into->file.profile_names, text, err);
    arcp__free(text);
    return status;
}

/* Reads every profile, so that each mistake is reported, and keeps the selected one. */
static arcp_status read_profile(arcp__yaml_reader *r, void *user, arcp_span name)
{
    reading *into = user;
    const bool is_selected = into->profile != NULL && arcp_span_equal_cstr(name, into->profile);
    arcp__config_level other = {0};
    if (r->node->type != YAML_MAPPING_NODE) {
        return arcp__yaml_refuse(r, "must be a mapping (key: value)");
    }
    const arcp_status status =
        arcp__config_fields_read(r, &level_fields, is_selected ? &into->file.profile : &other);
    into->profile_found = into->profile_found || is_selected;
    arcp__config_fields_fini(&level_fields, &other);
    return status != ARCP_OK ? status : add_name(into, name, r->err);
}

static arcp_status read_profiles(arcp__yaml_reader *r, void *owner)
{
    reading *into = owner;
    const yaml_node_t *profiles = arcp__yaml_find(r, "profiles");
    into->profile = into->profile != NULL ? into->profile : into->file.default_profile;
    if (profiles == NULL) {
        return ARCP_OK;
    }
    (void)arcp__yaml_enter(r, profiles, "profiles");
    return arcp__yaml_members(r, read_profile, into);
}

static const arcp__config_fields file_fields = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .check = read_profiles};

/* Names the profiles that there are. */
static arcp_status refuse_profile(const reading *into, const char *path, arcp_error *err)
{
    const arcp__text_list *names = &into->file.profile_names;
    arcp_buf text = arcp_buf_init();
    for (size_t i = 0; i < names->count && i < 10; i++) {
        arcp_buf_append_format(&text, "%s%s", i == 0 ? " (it has " : ", ", names->items[i]);
    }
    arcp_buf_append_cstr(&text, names->count > 10 ? ", ...)" : names->count != 0 ? ")" : "");
    const arcp_status status =
        arcp_error_set(err, ARCP_E_USAGE, "%s: there is no profile %s%s", path, into->profile,
                       text.failed ? "" : arcp_buf_cstr(&text));
    arcp_buf_fini(&text);
    return status;
}

/* ---- the file ---- */

arcp_status arcp__config_file_read(const char *path, bool may_be_missing, const char *profile,
                                   arcp__config_file *out, arcp_error *err)
{
    reading into = {.profile = profile};
    arcp__config_places places = {NULL, NULL, 0};
    arcp__yaml_reader r = {.root = &into, .places = &places, .name = path, .err = err};
    *out = (arcp__config_file){0};
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
    arcp_status status = arcp__config_stream_read(&r, &file_fields, file);
    (void)fclose(file);
    if (status == ARCP_OK && into.profile != NULL && !into.profile_found) {
        status = refuse_profile(&into, path, err);
    }
    arcp__config_places_fini(&places);
    *out = into.file;
    return status;
}

void arcp__config_file_fini(arcp__config_file *file)
{
    arcp__text_list_clear(&file->profile_names);
    arcp__config_fields_fini(&level_fields, &file->profile);
    arcp__config_fields_fini(&file_fields, file);
}
