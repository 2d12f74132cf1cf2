/* The configuration file, and the file of a context (contexts.c), which has the same keys:
 *
 *   url: wss://agents.example.org/arcp
 *   token_file: ~/.config/arcp/token
 *   models: ...                        # of `arcp run` and others (arcp/setup_file.c); not read
 * here
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "config/config.h"

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

/* The first LEVEL_KEYS rows are the keys of a context; the configuration file has all rows. */
#define LEVEL_KEYS 5
static const arcp__config_row rows[] = {
    {ARCP__CONFIG_ROW("url", text, arcp__config_level, url), .accept = accept_text},
    {ARCP__CONFIG_ROW("token", text, arcp__config_level, token), .flags = ARCP__CONFIG_SECRET,
     .accept = accept_text},
    {ARCP__CONFIG_ROW("token_file", text, arcp__config_level, token_file), .accept = accept_path},
    {ARCP__CONFIG_LIST("token_command", list, arcp__config_level, token_command.items,
                       token_command.count, &arcp__config_text_item),
     .accept = accept_words},
    {ARCP__CONFIG_ROW("ca_file", text, arcp__config_level, ca_file), .accept = accept_path},
    {.key = "enforce", .type = &arcp__config_ignored},
    {.key = "gateways", .type = &arcp__config_ignored},
    {.key = "models", .type = &arcp__config_ignored},
    {.key = "tools", .type = &arcp__config_ignored},
};
static const arcp__config_fields context_fields = {.rows = rows, .count = LEVEL_KEYS};
static const arcp__config_fields file_fields = {.rows = rows,
                                                .count = sizeof rows / sizeof rows[0]};

/* ---- the files ---- */

static arcp_status read_file(const char *path, const arcp__config_fields *fields,
                             bool may_be_missing, arcp__config_level *out, arcp_error *err)
{
    arcp__config_places places = {NULL, NULL, 0};
    arcp__yaml_reader r = {.root = out, .places = &places, .name = path, .err = err};
    *out = (arcp__config_level){0};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return errno == ENOENT && may_be_missing
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", path,
                                    strerror(errno));
    }
    const arcp_status status = arcp__config_stream_read(&r, fields, file);
    (void)fclose(file);
    arcp__config_places_fini(&places);
    return status;
}

arcp_status arcp__config_file_read(const char *path, bool may_be_missing, arcp__config_level *out,
                                   arcp_error *err)
{
    return read_file(path, &file_fields, may_be_missing, out, err);
}

arcp_status arcp__context_file_read(const char *path, arcp__config_level *out, arcp_error *err)
{
    return read_file(path, &context_fields, false, out, err);
}

void arcp__config_level_fini(arcp__config_level *level)
{
    arcp__config_fields_fini(&context_fields, level);
}
