#include "arcpd/arcpd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/sqlite_check.h"

static void print_warning(void *user, const char *line)
{
    (void)fprintf(stderr, "arcpd: %s\n", line);
}

/* Appends the URL of the store. The state directory is needed only for the default store and to
 * check that others cannot change it. */
static arcp_status find_store(const arcp__config *config, bool checks_trust, arcp_buf *url,
                              arcp_error *err)
{
    arcp__directories directories = {.work = ""};
    arcp_status status = ARCP_OK;
    if (checks_trust || config->store == NULL) {
        status = arcp__directories_check(&directories, err);
    }
    if (status == ARCP_OK) {
        status = arcp__store_url(config, &directories, url, err);
    }
    return status == ARCP_OK && checks_trust ? arcp__store_check_trust(url->data, err) : status;
}

static void print_lines(const char *key, const arcp_buf *text)
{
    const arcp_span lines = arcp_buf_span(text);
    for (size_t at = 0; at < lines.size;) {
        const size_t size =
            (size_t)((char *)memchr(lines.data + at, '\n', lines.size - at) - (lines.data + at));
        (void)fprintf(stderr, "arcpd: %s: %.*s\n", key, (int)size, lines.data + at);
        at += size + 1;
    }
}

/* Which provider serves each model that is named, and which of them have no price or bound; which
 * servers of tools there are. */
static arcp_status explain_gateways(const arcp__config *config, arcp_error *err)
{
    arcp__model_config *models = NULL;
    arcp__tool_config *tools = NULL;
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__setup_make_models(&config->setup, &models, err);
    if (status == ARCP_OK) {
        status = arcp__setup_make_tools(&config->setup, NULL, NULL, &tools, err);
    }
    if (status == ARCP_OK) {
        arcp__model_config_explain(models, &text);
        print_lines("models", &text);
        arcp_buf_clear(&text);
        arcp__setup_explain_tools(&config->setup, !config->setup.enforce.is_off, &text);
        print_lines("tools", &text);
    }
    arcp_buf_fini(&text);
    arcp__model_config_unref(models);
    arcp__tool_config_unref(tools);
    return status;
}

arcp_status arcp__check_config(const arcp__config *config, arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp__token_facts tokens;
    arcp_status status = arcp__verifiers_check(config, &tokens, err);
    if (status == ARCP_OK) {
        status = find_store(config, true, &text, err);
    }
    if (status == ARCP_OK) {
        status = explain_gateways(config, err);
    }
    if (status == ARCP_OK) {
        arcp__config_warn(config, &tokens, ARCP__CONFIG_CHECK, print_warning, NULL);
        arcp_buf_clear(&text);
        arcp__config_print(config, &text);
        if (text.failed) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        } else if (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout) != 0) {
            status = arcp_error_set(err, ARCP_E_IO, "cannot write: %s", strerror(errno));
        }
    }
    arcp_buf_fini(&text);
    return status;
}

static void print_damage(void *user, const char *line)
{
    (void)printf("%s\n", line);
}

/* Checks a store in a file. `shown` is what names it in messages. */
static arcp_status check_sqlite(const char *url, const char **shown, arcp__sqlite_found *found,
                                arcp_error *err)
{
    *shown = url + strlen("sqlite:");
    return arcp__sqlite_check(*shown, print_damage, NULL, found, err);
}

static arcp_status check_postgres(const char *url, const char **shown, arcp__sqlite_found *found,
                                  arcp_error *err)
{
    const arcp__postgres *postgres = NULL;
    arcp_status status = arcp__postgres_load(&postgres, err);
    if (status == ARCP_OK) {
        status = postgres->check(url, print_damage, NULL, found, err);
    }
    *shown = url;
    return status;
}

arcp_status arcp__check_store(const arcp__config *config, arcp_error *err)
{
    arcp_buf url = arcp_buf_init();
    arcp__sqlite_found found = {0};
    const char *shown = "";
    arcp_status status = find_store(config, false, &url, err);
    if (status == ARCP_OK && strcmp(url.data, "memory:") == 0) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "--check-store: %s has nothing to check; it must be a sqlite: or "
                                "postgres: store",
                                url.data);
    } else if (status == ARCP_OK) {
        status = arcp__postgres_is_named(url.data) ? check_postgres(url.data, &shown, &found, err)
                                                   : check_sqlite(url.data, &shown, &found, err);
        status = status == ARCP_E_USAGE ? ARCP_E_IO : status; /* the command line is right */
    }
    if (status == ARCP_OK && found.damages == 0) {
        (void)printf("%s: no damage: %" PRIu64 " rows, %" PRIu64 " streams, %" PRIu64
                     " runs with %" PRIu64 " bytes\n",
                     shown, found.rows, found.streams, found.runs, found.bytes);
    }
    if (status == ARCP_OK && (fflush(stdout) != 0 || ferror(stdout) != 0)) {
        status = arcp_error_set(err, ARCP_E_IO, "cannot write: %s", strerror(errno));
    } else if (status == ARCP_OK && found.damages != 0) {
        status = arcp_error_set(err, ARCP_E_CORRUPT,
                                "%s: %" PRIu64 " damaged items (see DAMAGED STORES in arcpd(8))",
                                shown, found.damages);
    }
    arcp_buf_fini(&url);
    return status;
}
