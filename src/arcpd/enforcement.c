#include "arcpd/arcpd.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/sandbox_host.h"

/* Adds a file by its absolute path, and as links lead to it. */
static arcp_status add_file(void *user, const char *key, const char *path, arcp__trusted_kind kind,
                            arcp_error *err)
{
    arcp__enforcement_options *options = user;
    char resolved[PATH_MAX];
    arcp_status status = ARCP_OK;
    if (path != NULL && arcp_span_ends_with(arcp_span_cstr(key), ARCP_SPAN_LITERAL("ca_file")) &&
        arcp__sandbox_has_in_etc(path)) {
        return ARCP_OK; /* every sandbox has the certificates that the system trusts */
    }
    if (path != NULL && path[0] == '/') {
        status = arcp__text_list_add(&options->own, path, err);
    }
    if (status == ARCP_OK && path != NULL && realpath(path, resolved) != NULL) {
        status = arcp__text_list_add(&options->own, resolved, err);
    }
    return status;
}

/* The database. The names of the files that SQLite makes beside it begin with its name and '-'. */
static arcp_status add_store(arcp__enforcement_options *options, const char *store, arcp_error *err)
{
    return store == NULL || strncmp(store, "sqlite:", 7) != 0
               ? ARCP_OK /* the default is in the state directory */
               : add_file(options, "store", store + 7, ARCP__TRUSTED_SECRET, err);
}

/* The files that are opened at the start: a reload may name others, which take effect later. */
static arcp_status add_started(arcp__enforcement_options *options, const arcp__config *config,
                               const char *state, arcp_error *err)
{
    char audit[4096];
    const bool has_audit = config->audit_path != NULL && config->audit_path[0] != '\0' &&
                           arcp__path_in(state, config->audit_path, audit, sizeof audit);
    const arcp_status status =
        has_audit ? add_file(options, "", audit, ARCP__TRUSTED_FILE, err) : ARCP_OK;
    return status == ARCP_OK ? add_store(options, config->store, err) : status;
}

static arcp_status add_own(arcp__enforcement_options *options, const arcp__config *config,
                           const arcp__files_in_use *in_use, arcp_error *err)
{
    const arcp__directories *directories = in_use->directories;
    const char *const files[] = {config->places.file, directories->work};
    arcp_status status = arcp__text_list_add(&options->own, directories->state, err);
    if (status == ARCP_OK) {
        status = arcp__text_list_add(&options->own, "/etc/arcp/", err);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files && status == ARCP_OK; i++) {
        status = add_file(options, "", files[i], ARCP__TRUSTED_FILE, err);
    }
    if (status == ARCP_OK) {
        status = add_started(options, config, directories->state, err);
    }
    if (status == ARCP_OK && in_use->config != NULL) {
        status = add_started(options, in_use->config, directories->state, err);
    }
    if (status == ARCP_OK) {
        status = add_file(options, "", in_use->record_path, ARCP__TRUSTED_SECRET, err);
    }
    return status == ARCP_OK ? arcp__config_each_file(config, add_file, options, err) : status;
}

arcp_status arcp__enforcement_options_init(arcp__enforcement_options *out,
                                           const arcp__config *config,
                                           const arcp__files_in_use *in_use, arcp_error *err)
{
    const arcp__setup_enforce *enforce = &config->setup.enforce;
    *out = (arcp__enforcement_options){.options = arcp_enforce_options_init()};
    arcp_status status = add_own(out, config, in_use, err);
    if (status == ARCP_OK) {
        status = arcp__setup_model_urls(&config->setup, enforce->allows_direct_models, &out->models,
                                        err);
    }
    out->options.base = (const char *const *)enforce->base.items;
    out->options.own = (const char *const *)out->own.items;
    out->options.may_be_advisory = (const char *const *)enforce->may_be_advisory.items;
    out->options.model_urls = (const char *const *)out->models.items;
    out->options.private_hosts = (const char *const *)enforce->private_hosts.items;
    return status;
}

void arcp__enforcement_options_fini(arcp__enforcement_options *options)
{
    arcp__text_list_clear(&options->own);
    arcp__text_list_clear(&options->models);
}

arcp_status arcp__enforcement_apply(arcp_runtime *runtime, const arcp__config *config,
                                    const arcp__files_in_use *in_use, arcp_error *err)
{
    arcp__enforcement_options options;
    arcp_status status = arcp__enforcement_options_init(&options, config, in_use, err);
    if (status == ARCP_OK) {
        status = arcp_runtime_set_enforcement(
            runtime, config->setup.enforce.is_off ? NULL : &options.options, err);
    }
    arcp__enforcement_options_fini(&options);
    return status;
}
