#include "arcpd/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "arcpd/arcpd.h"

void arcp__config_init(arcp__config *config)
{
    *config = (arcp__config){.log_level = ARCP_LOG_INFO};
    arcp__settings_default(&config->settings);
    arcp__config_fields_init(&arcp__config_top, config);
}

void arcp__config_fini(arcp__config *config)
{
    arcp__config_fields_fini(&arcp__config_top, config);
    arcp__config_places_fini(&config->places);
    *config = (arcp__config){.log_level = ARCP_LOG_INFO};
}

arcp_status arcp__config_read_text(arcp__config *config, const char *name, arcp_span text,
                                   arcp_error *err)
{
    arcp__yaml_reader r = {.root = config, .places = &config->places, .name = name, .err = err};
    return arcp__config_text_read(&r, &arcp__config_top, text);
}

arcp_status arcp__config_read(arcp__config *config, const char *path, arcp_error *err)
{
    arcp__yaml_reader r = {.root = config, .places = &config->places, .name = path, .err = err};
    arcp_status status =
        arcp__trusted_path_check("the configuration", path, ARCP__TRUSTED_FILE, err);
    if (status != ARCP_OK) {
        return status;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    }
    status = arcp__config_stream_read(&r, &arcp__config_top, file);
    (void)fclose(file);
    return status;
}

void arcp__config_print(const arcp__config *config, arcp_buf *out)
{
    arcp__config_fields_print(&arcp__config_top, config, out);
}

/* ---- keys that are read at the start only ---- */

typedef struct comparison {
    arcp_buf path; /* of the key: credentials.http.issue.url */
    arcp_buf *changes;
    arcp__text_list *keys; /* NULL: not wanted */
} comparison;

static void report(const comparison *c, arcp_span from, arcp_span to)
{
    if (c->keys != NULL) {
        arcp_buf key = arcp_buf_init();
        arcp_buf_append(&key, arcp_buf_span(&c->path));
        arcp_buf_append_byte(&key, '\0');
        c->changes->failed = c->changes->failed || key.failed ||
                             arcp__text_list_add(c->keys, key.data, NULL) != ARCP_OK;
        arcp_buf_fini(&key);
    }
    arcp_buf_append_cstr(c->changes, c->changes->size == 0 ? "" : ", ");
    arcp_buf_append(c->changes, arcp_buf_span(&c->path));
    if (arcp_span_equal(from, to)) {
        arcp_buf_append_cstr(c->changes, " (values not shown)");
        return;
    }
    arcp_buf_append_cstr(c->changes, " (from ");
    arcp_buf_append(c->changes, from);
    arcp_buf_append_cstr(c->changes, " to ");
    arcp_buf_append(c->changes, to);
    arcp_buf_append_byte(c->changes, ')');
}

/* Compares printed values including secrets, and reports them without. `before` or `after` is NULL
 * for an item that only the other list has. */
static void compare_value(const comparison *c, const arcp__config_row *row, const void *before,
                          const void *after)
{
    const void *const owners[] = {before, after};
    arcp_buf whole[] = {arcp_buf_secret_init(), arcp_buf_secret_init()};
    arcp_buf shown[] = {arcp_buf_init(), arcp_buf_init()};
    for (int i = 0; i < 2; i++) {
        if (owners[i] == NULL) {
            arcp_buf_append_cstr(&whole[i], "null");
            arcp_buf_append_cstr(&shown[i], "null");
        } else {
            row->type->print(row, owners[i], &whole[i]);
            row->type->print(row, owners[i], &shown[i]);
        }
        c->changes->failed = c->changes->failed || whole[i].failed || shown[i].failed;
    }
    if (!arcp_span_equal(arcp_buf_span(&whole[0]), arcp_buf_span(&whole[1]))) {
        report(c, arcp_buf_span(&shown[0]), arcp_buf_span(&shown[1]));
    }
    for (int i = 0; i < 2; i++) {
        arcp_buf_fini(&whole[i]);
        arcp_buf_fini(&shown[i]);
    }
}

static void compare(comparison *c, const arcp__config_fields *fields, const void *before,
                    const void *after, bool is_started)
{
    const size_t path_size = c->path.size;
    for (size_t i = 0; i < fields->count; i++) {
        const arcp__config_row *row = &fields->rows[i];
        const bool row_is_started = is_started || (row->flags & ARCP__CONFIG_RESTART) != 0;
        if (row->applies != NULL && !(row->applies(before) && row->applies(after))) {
            continue; /* the key that decides whether this one applies is reported instead */
        }
        arcp_buf_append_format(&c->path, "%s%s", path_size == 0 ? "" : ".", row->key);
        if (row->fields != NULL && !row->fields->is_flow) {
            compare(c, row->fields, arcp__config_value(row, before), arcp__config_value(row, after),
                    row_is_started);
        } else if (row_is_started && row->item != NULL && row->item->fields != NULL) {
            /* Items are reported one by one. */
            const size_t before_count = arcp__config_list_count(row, before);
            const size_t after_count = arcp__config_list_count(row, after);
            const size_t row_path_size = c->path.size;
            for (size_t k = 0; k < before_count || k < after_count; k++) {
                arcp_buf_append_format(&c->path, "[%zu]", k);
                compare_value(c, row->item,
                              k < before_count ? arcp__config_list_item(row, before, k) : NULL,
                              k < after_count ? arcp__config_list_item(row, after, k) : NULL);
                c->path.size = row_path_size;
            }
        } else if (row_is_started) {
            compare_value(c, row, before, after);
        }
        c->path.size = path_size;
    }
}

static void swap_bytes(void *one, void *other, size_t offset, size_t size)
{
    char *left = (char *)one + offset;
    char *right = (char *)other + offset;
    for (size_t i = 0; i < size; i++) {
        const char kept = left[i];
        left[i] = right[i];
        right[i] = kept;
    }
}

/* Swaps the values of keys that are read at the start only. */
static void swap_started(const arcp__config_fields *fields, void *one, void *other, bool is_started)
{
    for (size_t i = 0; i < fields->count; i++) {
        const arcp__config_row *row = &fields->rows[i];
        const bool row_is_started = is_started || (row->flags & ARCP__CONFIG_RESTART) != 0;
        if (row->fields != NULL) {
            swap_started(row->fields, arcp__config_value(row, one), arcp__config_value(row, other),
                         row_is_started);
        } else if (row_is_started) {
            swap_bytes(one, other, row->offset, row->size);
            if (row->item != NULL) {
                swap_bytes(one, other, row->count_offset, sizeof(size_t));
            }
        }
    }
}

void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes, arcp__text_list *keys)
{
    comparison c = {.changes = changes, .keys = keys};
    uint64_t *frame_bytes = &fresh->settings.limits_frame_bytes;
    compare(&c, &arcp__config_top, running, fresh, false);
    swap_started(&arcp__config_top, fresh, running, false);
    /* The listeners in effect need not be those of the new file, so their lines in it are unknown.
     */
    arcp__config_places_forget(&fresh->places, "listen");
    arcp__config_places_forget(&fresh->places, "http.listen");
    if (*frame_bytes > frame_bytes_max) { /* a smaller limit takes effect at once */
        char from[32];
        char to[32];
        (void)snprintf(from, sizeof from, "%" PRIu64, frame_bytes_max);
        (void)snprintf(to, sizeof to, "%" PRIu64, *frame_bytes);
        arcp_buf_append_cstr(&c.path, "limits.frame_bytes");
        report(&c, arcp_span_cstr(from), arcp_span_cstr(to));
        *frame_bytes = frame_bytes_max;
    }
    changes->failed = changes->failed || c.path.failed;
    arcp_buf_fini(&c.path);
}
