#include "arcpd/arcpd.h"

#include <arcp/secret.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "provisioner/static_provisioner.h"

static arcp_status place(char out[4096], const char *directory, const char *path,
                         const char *otherwise, arcp_error *err)
{
    const char *name = path == NULL ? otherwise : path;
    int size = name[0] == '/' ? snprintf(out, 4096, "%s", name)
                              : snprintf(out, 4096, "%s/%s", directory, name);
    return size < 4096 ? ARCP_OK
                       : arcp_error_set(err, ARCP_E_USAGE, "credentials: %s: too long", name);
}

static arcp_provisioner_terms terms_of(const arcp__config_credentials *config)
{
    return (arcp_provisioner_terms){.struct_size = sizeof(arcp_provisioner_terms),
                                    .agents = (const char *const *)config->agents.items,
                                    .agent_count = config->agents.count,
                                    .models = (const char *const *)config->models.items,
                                    .model_count = config->models.count,
                                    .currency = config->currency,
                                    .enforces = config->enforces};
}

/* ---- static ---- */

static arcp_status read_file(const char *path, arcp_buf *out, arcp_error *err)
{
    char piece[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "credentials.values_file: %s: %s", path,
                              strerror(errno));
    }
    (void)setvbuf(file, NULL, _IONBF, 0); /* so that no buffer of its own keeps the bytes */
    for (size_t size = fread(piece, 1, sizeof(piece), file); size != 0;
         size = fread(piece, 1, sizeof(piece), file)) {
        arcp_buf_append(out, arcp_span_make(piece, size));
    }
    const char *why = ferror(file) == 0 ? NULL : strerror(errno);
    arcp_wipe(piece, sizeof(piece));
    (void)fclose(file);
    arcp_buf_append_byte(out, '\0');
    if (why != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "credentials.values_file: %s: %s", path, why);
    }
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* One value a line; empty lines and lines that begin with # say nothing. */
static arcp_status read_values(const char *path, arcp__text_list *values, arcp_error *err)
{
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    arcp_status status = read_file(path, &text, err);
    for (char *line = text.data; status == ARCP_OK && line < text.data + text.size - 1;) {
        size_t size = strcspn(line, "\r\n");
        bool is_last = line[size] == '\0';
        line[size] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            status = arcp__text_list_add(values, line, err);
        }
        line += size + (is_last ? 0 : 1);
        if (is_last) {
            break;
        }
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status open_static(arcp__credentials *self, const arcp__config_credentials *config,
                               struct uv_loop_s *loop, const char *directory,
                               arcp_provisioner **out, arcp_error *err)
{
    arcp__text_list values = {NULL, 0};
    arcp_status status = place(self->used_file, directory, NULL, "credentials.used", err);
    for (size_t at = 0; status == ARCP_OK && at < config->values.count; at++) {
        status = arcp__text_list_add(&values, config->values.items[at], err);
    }
    if (status == ARCP_OK && config->values_file != NULL) {
        status = read_values(config->values_file, &values, err);
    }
    if (status == ARCP_OK) {
        arcp__static_provisioner_options options = {
            .loop = loop,
            .terms = terms_of(config),
            .values = (const char *const *)values.items,
            .value_count = values.count,
            .endpoint = config->endpoint,
            .scheme = config->scheme,
            .profile = config->profile,
            .used_file = self->used_file,
            .error_rules = config->errors,
            .error_rule_count = config->error_count,
        };
        status = arcp__static_provisioner_new(&options, out, err);
    }
    arcp__text_list_wipe(&values);
    return status;
}

/* ---- http ---- */

static arcp__http_request request_of(const arcp__config_request *from)
{
    arcp__http_request request = {.method = from->method,
                                  .url = from->url,
                                  .body = from->body,
                                  .headers = (const char *const *)from->headers.items,
                                  .header_count = from->headers.count};
    for (size_t at = 0; at < ARCP__HTTP_POINTER_COUNT; at++) {
        request.pointers[at] = from->pointers[at];
    }
    return request;
}

static arcp_status open_http(arcp__credentials *self, const arcp__config_credentials *config,
                             struct uv_loop_s *loop, arcp_provisioner **out, arcp_error *err)
{
    void *symbol = NULL;
    arcp_status status =
        arcp__module_open("arcp-provisioner-http", ARCP__HTTP_PROVISIONER_SYMBOL,
                          "credentials.provisioner: http", &self->module, &symbol, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__http_provisioner_new_fn make = NULL;
    memcpy(&make, &symbol, sizeof(make)); /* ISO C has no cast for this */
    static const int usual_gone[] = {404, 410};
    const bool has_gone = config->gone_count != 0;
    arcp__http_provisioner_options options = {
        .loop = loop,
        .terms = terms_of(config),
        .endpoint = config->endpoint,
        .scheme = config->scheme,
        .profile = config->profile,
        .timeout_ms = config->timeout_ms,
        .connections = config->connections,
        .ca_file = config->ca_file,
        .gone = has_gone ? config->gone : usual_gone,
        .gone_count = has_gone ? config->gone_count : sizeof usual_gone / sizeof usual_gone[0],
        .error_rules = config->errors,
        .error_rule_count = config->error_count,
    };
    for (size_t at = 0; at < ARCP__HTTP_REQUEST_COUNT; at++) {
        options.requests[at] = request_of(&config->requests[at]);
    }
    return make(&options, out, err);
}

arcp_status arcp__credentials_open(arcp__credentials *self, const arcp__config_credentials *config,
                                   struct uv_loop_s *loop, const char *directory,
                                   arcp_provisioner **out, arcp_error *err)
{
    *out = NULL;
    arcp_status status = place(self->key_file, directory, config->key_file, "credentials.key", err);
    if (status == ARCP_OK && config->kind == ARCP__PROVISIONER_STATIC) {
        status = open_static(self, config, loop, directory, out, err);
    } else if (status == ARCP_OK && config->kind == ARCP__PROVISIONER_HTTP) {
        status = open_http(self, config, loop, out, err);
    }
    return status;
}

void arcp__credentials_close(arcp__credentials *self)
{
    arcp__module_close(self->module);
    self->module = NULL;
}
