#include "arcpd/arcpd.h"

#include <arcp/secret.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "provisioner/gateway_provisioner.h"
#include "provisioner/static_provisioner.h"
#include "runtime/runtime_gateway.h"

/* One value per line; empty lines and lines that begin with # are skipped. */
static arcp_status read_values(const char *path, arcp__text_list *values, arcp_error *err)
{
    arcp_buf text = arcp_buf_secret_init();
    char piece[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "credentials.values_file: %s: %s", path,
                              strerror(errno));
    }
    (void)setvbuf(file, NULL, _IONBF, 0); /* a buffer of stdio would keep a copy of the secrets */
    for (size_t size = fread(piece, 1, sizeof piece, file); size != 0;
         size = fread(piece, 1, sizeof piece, file)) {
        arcp_buf_append(&text, arcp_span_make(piece, size));
    }
    const char *why = ferror(file) == 0 ? NULL : strerror(errno);
    arcp_status status = ARCP_OK;
    arcp_wipe(piece, sizeof piece);
    (void)fclose(file);
    arcp_buf_append_byte(&text, '\0');
    if (why != NULL) {
        status = arcp_error_set(err, ARCP_E_USAGE, "credentials.values_file: %s: %s", path, why);
    } else if (text.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (char *line = text.data; status == ARCP_OK && *line != '\0';) {
        char *end = line + strcspn(line, "\r\n");
        char *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            status = arcp__text_list_add(values, line, err);
        }
        line = next;
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status open_static(arcp__credentials *credentials,
                               const arcp__config_credentials *config, struct uv_loop_s *loop,
                               const char *directory, arcp_provisioner **out, arcp_error *err)
{
    arcp__text_list values = {NULL, 0};
    arcp_status status = ARCP_OK;
    if (!arcp__path_in(directory, "credentials.used", credentials->used_file,
                       sizeof credentials->used_file)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "credentials: the path of credentials.used is too long");
    }
    for (size_t i = 0; status == ARCP_OK && i < config->values.count; i++) {
        status = arcp__text_list_add(&values, config->values.items[i], err);
    }
    if (status == ARCP_OK && config->values_file != NULL) {
        status = read_values(config->values_file, &values, err);
    }
    if (status == ARCP_OK) {
        arcp__static_provisioner_options options = {
            .loop = loop,
            .upstream = config->upstream,
            .values = (const char *const *)values.items,
            .value_count = values.count,
            .used_file = credentials->used_file,
        };
        options.upstream.terms.struct_size = sizeof options.upstream.terms;
        status = arcp__static_provisioner_new(&options, out, err);
    }
    arcp__text_list_clear(&values);
    return status;
}

arcp_status arcp__credentials_open(arcp__credentials *credentials,
                                   const arcp__config_credentials *config, struct uv_loop_s *loop,
                                   const char *directory, arcp_provisioner **out, arcp_error *err)
{
    static const int default_gone[] = {404, 410};
    const char *key_file = config->key_file == NULL ? "credentials.key" : config->key_file;
    arcp__http_provisioner_new_fn make = NULL;
    *out = NULL;
    if (!arcp__path_in(directory, key_file, credentials->key_file, sizeof credentials->key_file)) {
        return arcp_error_set(err, ARCP_E_USAGE, "credentials.key_file: %s: the path is too long",
                              key_file);
    }
    if (config->kind == ARCP__PROVISIONER_NONE) {
        return ARCP_OK;
    }
    if (config->kind == ARCP__PROVISIONER_STATIC) {
        return open_static(credentials, config, loop, directory, out, err);
    }
    if (config->kind == ARCP__PROVISIONER_GATEWAY) {
        const arcp_status made =
            arcp__gateway_provisioner_new(loop, &config->upstream, &credentials->keys, err);
        *out = credentials->keys;
        return made;
    }
    const arcp_status status =
        arcp__module_open("arcp-provisioner-http", ARCP__HTTP_PROVISIONER_SYMBOL,
                          "credentials.provisioner: http", &credentials->module, &make, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__http_provisioner_options options = config->http;
    options.loop = loop;
    options.upstream = config->upstream;
    options.upstream.terms.struct_size = sizeof options.upstream.terms;
    if (options.gone_count == 0) {
        options.gone = default_gone;
        options.gone_count = sizeof default_gone / sizeof default_gone[0];
    }
    return make(&options, out, err);
}

void arcp__credentials_connect(const arcp__credentials *credentials, arcp_runtime *runtime)
{
    if (credentials->keys != NULL) {
        arcp__gateway_provisioner_connect(credentials->keys, arcp__runtime_gateway(runtime));
    }
}

void arcp__credentials_close(arcp__credentials *credentials)
{
    arcp__module_close(credentials->module);
    credentials->module = NULL;
}
