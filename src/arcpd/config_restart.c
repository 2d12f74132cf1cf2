/* What --check-config would print of the configuration that was read is compared with what it
 * prints of the one that stays in effect: so no key can be forgotten here but where the members are
 * exchanged. It is printed twice: secrets as what tells them apart to be compared, and masked to be
 * shown. */
#include "arcpd/config_restart.h"

#include <stddef.h>

#include "base/alloc.h"

#define DEPTH_MAX 16u

/* A line of the printed configuration. */
typedef struct entry {
    size_t path, path_size; /* in outline.paths: `credentials.http.issue.url`, `errors[1]` */
    arcp_span shown, exact;
} entry;

typedef struct outline {
    arcp_buf shown, exact, paths;
    entry *entries;
    size_t count, capacity;
} outline;

/* The groups that the line which is being read stands in. */
typedef struct place {
    struct {
        size_t indent, path_size, items;
    } levels[DEPTH_MAX];
    size_t depth;
    arcp_buf path;
} place;

static void outline_fini(outline *self)
{
    arcp_buf_fini(&self->shown);
    arcp_buf_fini(&self->exact);
    arcp_buf_fini(&self->paths);
    arcp__free(self->entries);
}

/* ---- reading what was printed ---- */

static void leave(place *at, size_t indent)
{
    while (at->depth != 0 && at->levels[at->depth - 1].indent >= indent) {
        at->depth--;
    }
    size_t size = at->depth == 0 ? 0 : at->levels[at->depth - 1].path_size;
    if (size < at->path.size) {
        at->path.size = size;
    }
}

static void enter(place *at, size_t indent)
{
    if (at->depth < DEPTH_MAX) {
        at->levels[at->depth].indent = indent;
        at->levels[at->depth].path_size = at->path.size;
        at->levels[at->depth++].items = 0;
    }
}

static void add_entry(outline *self, const place *at, arcp_span shown, arcp_span exact)
{
    if (self->count == self->capacity) {
        size_t capacity = self->capacity == 0 ? 128 : self->capacity * 2;
        entry *entries = arcp__realloc_array(self->entries, capacity, sizeof(*entries));
        if (entries == NULL) {
            self->paths.failed = true;
            return;
        }
        self->entries = entries;
        self->capacity = capacity;
    }
    self->entries[self->count++] = (entry){self->paths.size, at->path.size, shown, exact};
    arcp_buf_append(&self->paths, arcp_buf_span(&at->path));
}

static size_t indent_of(arcp_span line)
{
    size_t indent = 0;
    while (indent < line.size && line.data[indent] == ' ') {
        indent++;
    }
    return indent;
}

/* `key: value`, `key:` before deeper lines, or an item: `- value` and `- key: value`. */
static void read_line(outline *self, place *at, arcp_span shown, arcp_span exact)
{
    size_t indent = indent_of(shown);
    leave(at, indent);
    if (arcp_span_starts_with(arcp_span_from(shown, indent), ARCP_SPAN_LITERAL("- "))) {
        size_t item = at->depth == 0 ? 0 : at->levels[at->depth - 1].items++;
        arcp_buf_append_format(&at->path, "[%zu]", item);
        enter(at, indent);
        indent += 2;
    }
    arcp_span rest = arcp_span_from(shown, indent);
    const char *colon = rest.size == 0 || rest.data[0] == '{' || rest.data[0] == '"'
                            ? NULL
                            : memchr(rest.data, ':', rest.size);
    if (colon == NULL) {
        add_entry(self, at, rest, arcp_span_from(exact, indent));
        return;
    }
    size_t key_size = (size_t)(colon - rest.data);
    arcp_buf_append_cstr(&at->path, at->path.size == 0 ? "" : ".");
    arcp_buf_append(&at->path, arcp_span_first(rest, key_size));
    if (key_size + 1 == rest.size) {
        enter(at, indent);
        return;
    }
    size_t value = indent + key_size + 2;
    add_entry(self, at, arcp_span_from(shown, value), arcp_span_from(exact, value));
}

static arcp_span take_line(arcp_span *text)
{
    const char *end = memchr(text->data, '\n', text->size);
    size_t size = end == NULL ? text->size : (size_t)(end - text->data);
    arcp_span line = arcp_span_first(*text, size);
    *text = arcp_span_from(*text, size < text->size ? size + 1 : size);
    return line;
}

static bool outline_of(outline *self, const arcp__config *config)
{
    place at = {.depth = 0};
    arcp__config_print(config, ARCP__SECRETS_MASKED, &self->shown);
    arcp__config_print(config, ARCP__SECRETS_HASHED, &self->exact);
    if (!self->shown.failed && !self->exact.failed) {
        arcp_span shown = arcp_buf_span(&self->shown);
        arcp_span exact = arcp_buf_span(&self->exact);
        while (shown.size != 0) {
            arcp_span line = take_line(&shown);
            read_line(self, &at, line, take_line(&exact));
        }
    }
    bool failed = self->shown.failed || self->exact.failed || self->paths.failed || at.path.failed;
    arcp_buf_fini(&at.path);
    return !failed;
}

/* ---- comparing ---- */

static arcp_span path_of(const outline *self, const entry *at)
{
    return arcp_span_make(self->paths.data + at->path, at->path_size);
}

static const entry *find(const outline *self, arcp_span path)
{
    for (size_t at = 0; at < self->count; at++) {
        if (arcp_span_equal(path_of(self, &self->entries[at]), path)) {
            return &self->entries[at];
        }
    }
    return NULL;
}

static bool is_nothing(arcp_span value)
{
    return arcp_span_equal_cstr(value, "null") || arcp_span_equal_cstr(value, "[]") ||
           arcp_span_equal_cstr(value, "{}");
}

static void report(arcp_buf *changes, arcp_span path, arcp_span from, arcp_span to)
{
    arcp_buf_append_cstr(changes, changes->size == 0 ? "" : ", ");
    arcp_buf_append(changes, path);
    if (arcp_span_equal(from, to)) {
        arcp_buf_append_cstr(changes, " (its values are not shown)");
        return;
    }
    arcp_buf_append_cstr(changes, " (from ");
    arcp_buf_append(changes, from);
    arcp_buf_append_cstr(changes, " to ");
    arcp_buf_append(changes, to);
    arcp_buf_append_byte(changes, ')');
}

/* What only one of them prints: with another provisioner all keys of the old one go and those of
 * the new one come, which its own name says already. */
static void report_lonely(const outline *of, const outline *other, bool is_new, arcp_buf *changes)
{
    const arcp_span null = ARCP_SPAN_LITERAL("null");
    arcp_span kind = ARCP_SPAN_LITERAL("credentials.provisioner");
    bool is_other_kind = !arcp_span_equal(find(of, kind)->exact, find(other, kind)->exact);
    for (size_t at = 0; at < of->count; at++) {
        const entry *lonely = &of->entries[at];
        arcp_span path = path_of(of, lonely);
        bool comes_along =
            is_other_kind && arcp_span_starts_with(path, ARCP_SPAN_LITERAL("credentials."));
        if (!comes_along && !is_nothing(lonely->exact) && find(other, path) == NULL) {
            report(changes, path, is_new ? null : lonely->shown, is_new ? lonely->shown : null);
        }
    }
}

static void compare(const outline *wanted, const outline *used, arcp_buf *changes)
{
    for (size_t at = 0; at < wanted->count; at++) {
        const entry *want = &wanted->entries[at];
        arcp_span path = path_of(wanted, want);
        const entry *use = find(used, path);
        if (use != NULL && !arcp_span_equal(want->exact, use->exact)) {
            report(changes, path, use->shown, want->shown);
        }
    }
    report_lonely(wanted, used, true, changes);
    report_lonely(used, wanted, false, changes);
}

/* ---- what stays ---- */

#define MEMBER(name)                                                                               \
    {                                                                                              \
        offsetof(arcp__config, name), sizeof(((arcp__config *)NULL)->name)                         \
    }
static const struct {
    size_t offset, size;
} started[] = {MEMBER(listen),  MEMBER(hosts),       MEMBER(origins), MEMBER(tls_certificate),
               MEMBER(tls_key), MEMBER(http_listen), MEMBER(store),   MEMBER(audit_path),
               MEMBER(tracing), MEMBER(credentials)};

static void exchange(void *one, void *other, size_t size)
{
    char *left = one;
    char *right = other;
    for (size_t at = 0; at < size; at++) {
        char kept = left[at];
        left[at] = right[at];
        right[at] = kept;
    }
}

void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes)
{
    outline wanted = {.count = 0};
    outline used = {.count = 0};
    bool is_read = outline_of(&wanted, fresh);
    for (size_t at = 0; at < sizeof(started) / sizeof(started[0]); at++) {
        exchange((char *)fresh + started[at].offset, (char *)running + started[at].offset,
                 started[at].size);
    }
    /* What is listened on need not be what the new file says there. */
    arcp__config_places_forget(&fresh->places, "listen");
    arcp__config_places_forget(&fresh->places, "http.listen");
    if (fresh->settings.limits_frame_bytes > frame_bytes_max) {
        fresh->settings.limits_frame_bytes = frame_bytes_max;
    }
    if (is_read && outline_of(&used, fresh)) {
        compare(&wanted, &used, changes);
    } else {
        changes->failed = true;
    }
    outline_fini(&wanted);
    outline_fini(&used);
}
