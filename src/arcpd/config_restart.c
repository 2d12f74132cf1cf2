/* Rows that are read at the start only. Values are compared as they are printed: secrets as what
 * tells them apart, and shown masked. */
#include "arcpd/config.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct comparison {
    arcp_buf path;         /* of the row: credentials.http.issue.url */
    arcp_buf used, wanted; /* one value, as it is compared */
    arcp_buf used_shown, wanted_shown;
    arcp_buf *changes;
} comparison;

static void print_value(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                        arcp_buf *out)
{
    arcp_buf_clear(out);
    if (owner == NULL) { /* an item that one of the lists does not have */
        arcp_buf_append_cstr(out, "null");
    } else {
        row->type->print(row, owner, secrets, out);
    }
}

static void report(comparison *c, arcp_span from, arcp_span to)
{
    arcp_buf_append_cstr(c->changes, c->changes->size == 0 ? "" : ", ");
    arcp_buf_append(c->changes, arcp_buf_span(&c->path));
    if (arcp_span_equal(from, to)) {
        arcp_buf_append_cstr(c->changes, " (its values are not shown)");
        return;
    }
    arcp_buf_append_cstr(c->changes, " (from ");
    arcp_buf_append(c->changes, from);
    arcp_buf_append_cstr(c->changes, " to ");
    arcp_buf_append(c->changes, to);
    arcp_buf_append_byte(c->changes, ')');
}

static void compare_value(comparison *c, const arcp__config_row *row, const void *used,
                          const void *wanted)
{
    print_value(row, used, ARCP__SECRETS_HASHED, &c->used);
    print_value(row, wanted, ARCP__SECRETS_HASHED, &c->wanted);
    if (!c->used.failed && !c->wanted.failed &&
        arcp_span_equal(arcp_buf_span(&c->used), arcp_buf_span(&c->wanted))) {
        return;
    }
    print_value(row, used, ARCP__SECRETS_MASKED, &c->used_shown);
    print_value(row, wanted, ARCP__SECRETS_MASKED, &c->wanted_shown);
    report(c, arcp_buf_span(&c->used_shown), arcp_buf_span(&c->wanted_shown));
    c->changes->failed = c->changes->failed || c->path.failed || c->used.failed ||
                         c->wanted.failed || c->used_shown.failed || c->wanted_shown.failed;
}

/* Items are named one by one. */
static void compare_items(comparison *c, const arcp__config_row *row, const void *used,
                          const void *wanted)
{
    const size_t used_count = arcp__config_list_count(row, used);
    const size_t wanted_count = arcp__config_list_count(row, wanted);
    const size_t path_size = c->path.size;
    for (size_t i = 0; i < used_count || i < wanted_count; i++) {
        arcp_buf_append_format(&c->path, "[%zu]", i);
        compare_value(c, row->item, i < used_count ? arcp__config_list_item(row, used, i) : NULL,
                      i < wanted_count ? arcp__config_list_item(row, wanted, i) : NULL);
        c->path.size = path_size;
    }
}

static void compare(comparison *c, const arcp__config_fields *fields, const void *used,
                    const void *wanted, bool is_started)
{
    const size_t path_size = c->path.size;
    for (size_t i = 0; i < fields->count; i++) {
        const arcp__config_row *row = &fields->rows[i];
        const bool row_is_started = is_started || (row->flags & ARCP__CONFIG_RESTART) != 0;
        if (row->applies != NULL && !(row->applies(used) && row->applies(wanted))) {
            continue; /* the key on which that depends says it already */
        }
        arcp_buf_append_format(&c->path, "%s%s", path_size == 0 ? "" : ".", row->key);
        if (row->fields != NULL && !row->fields->is_flow) {
            compare(c, row->fields, arcp__config_value(row, used), arcp__config_value(row, wanted),
                    row_is_started);
        } else if (row_is_started && row->item != NULL && row->item->fields != NULL) {
            compare_items(c, row, used, wanted);
        } else if (row_is_started) {
            compare_value(c, row, used, wanted);
        }
        c->path.size = path_size;
    }
}

static void exchange_bytes(void *one, void *other, size_t offset, size_t size)
{
    char *left = (char *)one + offset;
    char *right = (char *)other + offset;
    for (size_t i = 0; i < size; i++) {
        const char kept = left[i];
        left[i] = right[i];
        right[i] = kept;
    }
}

/* Values of rows that are read at the start go to the other struct. */
static void exchange(const arcp__config_fields *fields, void *one, void *other, bool is_started)
{
    for (size_t i = 0; i < fields->count; i++) {
        const arcp__config_row *row = &fields->rows[i];
        const bool row_is_started = is_started || (row->flags & ARCP__CONFIG_RESTART) != 0;
        if (row->fields != NULL) {
            exchange(row->fields, arcp__config_value(row, one), arcp__config_value(row, other),
                     row_is_started);
        } else if (row_is_started) {
            exchange_bytes(one, other, row->offset, row->size);
            if (row->item != NULL) {
                exchange_bytes(one, other, row->count_offset, sizeof(size_t));
            }
        }
    }
}

/* Frames may be smaller than the listeners take, and not larger. */
static void keep_frame_bytes(comparison *c, arcp__config *fresh, uint64_t frame_bytes_max)
{
    char from[32];
    char to[32];
    if (fresh->settings.limits_frame_bytes <= frame_bytes_max) {
        return;
    }
    (void)snprintf(from, sizeof from, "%" PRIu64, frame_bytes_max);
    (void)snprintf(to, sizeof to, "%" PRIu64, fresh->settings.limits_frame_bytes);
    arcp_buf_append_cstr(&c->path, "limits.frame_bytes");
    report(c, arcp_span_cstr(from), arcp_span_cstr(to));
    fresh->settings.limits_frame_bytes = frame_bytes_max;
}

void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes)
{
    comparison c = {.changes = changes};
    compare(&c, &arcp__config_top, running, fresh, false);
    exchange(&arcp__config_top, fresh, running, false);
    /* What is listened on need not be what the new file says there. */
    arcp__config_places_forget(&fresh->places, "listen");
    arcp__config_places_forget(&fresh->places, "http.listen");
    keep_frame_bytes(&c, fresh, frame_bytes_max);
    changes->failed = changes->failed || c.path.failed;
    arcp_buf *const own[] = {&c.path, &c.used, &c.wanted, &c.used_shown, &c.wanted_shown};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        arcp_buf_fini(own[i]);
    }
}
