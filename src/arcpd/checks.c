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

/* Would the store and the directory that it may stand in be used? */
static arcp_status check_trust(const arcp__config *config, arcp_error *err)
{
    arcp__directories directories;
    arcp_buf url = ARCP_BUF_INIT;
    arcp_status status = arcp__directories_look(&directories, err);
    if (status == ARCP_OK) {
        status = arcp__store_url(config, &directories, &url, err);
    }
    if (status == ARCP_OK) {
        status = arcp__store_check_trust(url.data, err);
    }
    arcp_buf_fini(&url);
    return status;
}

/* --check-config: what was read is right; are the files that it names? */
arcp_status arcp__check_config(const arcp__config *config, arcp_error *err)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp__token_facts tokens;
    arcp_status status = arcp__verifiers_check(config, &tokens, err);
    if (status == ARCP_OK) {
        status = check_trust(config, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__config_warn(config, &tokens, ARCP__CONFIG_CHECK, print_warning, NULL);
    arcp__config_print(config, &text);
    status = text.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    if (status == ARCP_OK &&
        (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout) != 0)) {
        status = arcp_error_set(err, ARCP_E_IO, "cannot write: %s", strerror(errno));
    }
    arcp_buf_fini(&text);
    return status;
}

static void print_damage(void *user, const char *line)
{
    (void)printf("%s\n", line);
}

static arcp_status print_found(const char *path, const arcp__sqlite_found *found, arcp_error *err)
{
    if (found->damages == 0) {
        (void)printf("%s: whole: %" PRIu64 " rows, %" PRIu64 " streams, %" PRIu64
                     " runs with %" PRIu64 " bytes\n",
                     path, found->rows, found->streams, found->runs, found->bytes);
    }
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot write: %s", strerror(errno));
    }
    return found->damages == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_CORRUPT,
                                "%s: %" PRIu64 " damages; arcpd(8), DAMAGED STORES: what to do",
                                path, found->damages);
}

static arcp_status check_file(const char *path, arcp_error *err)
{
    arcp__sqlite_found found = {0};
    const arcp_status status = arcp__sqlite_check(path, print_damage, NULL, &found, err);
    if (status == ARCP_E_USAGE) {
        return ARCP_E_IO; /* the command line is right */
    }
    return status == ARCP_OK ? print_found(path, &found, err) : status;
}

arcp_status arcp__check_store(const arcp__config *config, arcp_error *err)
{
    arcp__directories directories = {.work = ""};
    arcp_buf url = ARCP_BUF_INIT;
    arcp_status status =
        config->store == NULL ? arcp__directories_look(&directories, err) : ARCP_OK;
    if (status == ARCP_OK) {
        status = arcp__store_url(config, &directories, &url, err);
    }
    if (status == ARCP_OK) {
        status =
            strncmp(url.data, "sqlite:", 7) == 0
                ? check_file(url.data + 7, err)
                : arcp_error_set(err, ARCP_E_USAGE, "--check-store: %s keeps nothing", url.data);
    }
    arcp_buf_fini(&url);
    return status;
}
