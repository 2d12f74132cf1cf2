#include "arcp/setup_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "config/config_rows.h"
#include "egress/egress.h"

/* ---- the keys ---- */

#define IGNORED(name)                                                                              \
    {                                                                                              \
        .key = (name), .type = &arcp__config_ignored                                               \
    }

static const arcp__config_row enforce_rows[] = {
    {ROW("allow_direct_models", flag, arcp__setup_file, allows_direct_models)},
};

/* What the commands that connect to a runtime read is left to them (cli/config_file.c). */
static const arcp__config_row rows[] = {
    {GROUP("enforce", ROWS(enforce_rows))},
    {GROUPED("gateways", arcp__setup_gateways)},
    {GROUPED("models", arcp__setup_models)},
    {GROUPED("tools", arcp__setup_tools)},
    IGNORED("url"),
    IGNORED("token"),
    IGNORED("token_file"),
    IGNORED("token_command"),
    IGNORED("ca_file"),
};

/* What only a daemon has. */
static arcp_status check(arcp__yaml_reader *r, void *owner)
{
    const arcp__setup *setup = owner;
    if (setup->gateways.listen != NULL || setup->gateways.url != NULL) {
        return arcp__yaml_refuse(r, "gateways.listen and gateways.url are for arcpd");
    }
    return setup->spend_count == 0
               ? ARCP_OK
               : arcp__yaml_refuse(r, "models.spend is for arcpd; --budget limits a run");
}

static const arcp__config_fields fields = {ROWS(rows), .check = check};

/* ---- paths and secrets ---- */

/* Replaces a text by one that has `home` in place of the `~` at `at`. */
static arcp_status expand_home(char **text, size_t at, const char *home, arcp_error *err)
{
    arcp_buf whole = arcp_buf_secret_init();
    arcp_buf_append(&whole, arcp_span_make(*text, at));
    arcp_buf_append_cstr(&whole, home);
    arcp_buf_append_cstr(&whole, *text + at + 1);
    char *made = arcp_buf_take_cstr(&whole);
    arcp_buf_fini(&whole);
    if (made == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_wipe(*text, strlen(*text));
    arcp__free(*text);
    *text = made;
    return ARCP_OK;
}

/* Makes the path at `at` absolute. */
static arcp_status complete_path(const arcp__setup_file *file, const char *key, char **text,
                                 size_t at, arcp_error *err)
{
    const char *home = getenv("HOME");
    if (strncmp(*text + at, "~/", 2) == 0 && home != NULL && home[0] == '/') {
        return expand_home(text, at, home, err);
    }
    return (*text)[at] == '/' ? ARCP_OK
                              : arcp_error_set(err, ARCP_E_USAGE,
                                               "%s: %s: a path must be absolute or begin with ~/",
                                               file->path.data, key);
}

/* Remembers the files and variables that a text takes secrets from. */
static arcp_status complete_text(arcp__setup_file *file, const char *key, char **text,
                                 arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t at = 0; *text != NULL && (*text)[at] != '\0' && status == ARCP_OK; at++) {
        const bool is_file = strncmp(*text + at, "{file:", 6) == 0;
        const bool is_variable = strncmp(*text + at, "{env:", 5) == 0;
        if ((!is_file && !is_variable) || strchr(*text + at, '}') == NULL) {
            continue;
        }
        const size_t begin = at + (is_file ? 6 : 5);
        status = is_file ? complete_path(file, key, text, begin, err) : ARCP_OK;
        if (status != ARCP_OK) {
            break;
        }
        char *name = arcp__copy_cstr(*text + begin, strcspn(*text + begin, "}"));
        status = name == NULL
                     ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                     : arcp__text_list_add(is_file ? &file->files : &file->variables, name, err);
        arcp__free(name);
    }
    return status;
}

static arcp_status complete(arcp__setup_file *file, arcp_error *err)
{
    arcp__model_options *models = &file->setup.models;
    arcp_status status = arcp__text_list_add(&file->files, file->path.data, err);
    if (status == ARCP_OK && models->prices != NULL) {
        status = complete_path(file, "models.prices", (char **)&models->prices, 0, err);
    }
    for (size_t i = 0; i < models->provider_count && status == ARCP_OK; i++) {
        status = complete_text(file, "models.providers", (char **)&models->providers[i].key, err);
    }
    for (size_t i = 0; i < file->setup.tools.server_count && status == ARCP_OK; i++) {
        arcp__setup_tool_server *server = &file->setup.tools.servers[i];
        status = complete_text(file, "tools.servers", &server->client_secret, err);
        for (size_t j = 0; j < server->headers.count && status == ARCP_OK; j++) {
            status = complete_text(file, "tools.servers", &server->headers.items[j], err);
        }
    }
    return status;
}

/* ---- the file ---- */

static arcp_status read_stream(arcp__setup_file *out, FILE *stream, arcp_error *err)
{
    arcp__config_places places = {NULL, NULL, 0};
    arcp__yaml_reader r = {.root = out, .places = &places, .name = out->path.data, .err = err};
    const arcp_status status = arcp__config_stream_read(&r, &fields, stream);
    arcp__config_places_fini(&places);
    return status;
}

arcp_status arcp__setup_file_read(const arcp__arguments *arguments, arcp__setup_file *out,
                                  arcp_error *err)
{
    bool may_be_missing = false;
    *out = (arcp__setup_file){.path = arcp_buf_init()};
    arcp__config_fields_init(&fields, out);
    arcp_status status = arcp__config_path(arguments, &out->path, &may_be_missing, err);
    if (status != ARCP_OK) {
        return status;
    }
    FILE *stream = fopen(out->path.data, "re");
    if (stream != NULL) {
        status = read_stream(out, stream, err);
        (void)fclose(stream);
    } else if (errno != ENOENT || !may_be_missing) {
        status = arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", out->path.data,
                                strerror(errno));
    }
    return status == ARCP_OK ? complete(out, err) : status;
}

void arcp__setup_file_fini(arcp__setup_file *file)
{
    arcp__config_fields_fini(&fields, file);
    arcp__text_list_clear(&file->files);
    arcp__text_list_clear(&file->variables);
    arcp_buf_fini(&file->path);
}

arcp_status arcp__setup_model_hosts(const arcp__setup *setup, bool allows_direct,
                                    arcp__arena *arena, arcp__sandbox_request *request,
                                    arcp_error *err)
{
    arcp__text_list urls = {NULL, 0};
    arcp_span *hosts = NULL;
    arcp_status status = arcp__setup_model_urls(setup, allows_direct, &urls, err);
    if (status == ARCP_OK && !arcp__egress_model_hosts(arena, (const char *const *)urls.items,
                                                       &hosts, &request->model_host_count)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    request->model_hosts = hosts;
    arcp__text_list_clear(&urls);
    return status;
}
