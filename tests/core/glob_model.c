#include "core/glob_model.h"

#include <stdlib.h>
#include <string.h>

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void cut(char *text, size_t size)
{
    memmove(text, text + size, strlen(text + size) + 1);
}

/* A copy with runs of stars cut to two, and then rows of whole segments of them to one. */
static void simplify(arcp_span pattern, char *text)
{
    memcpy(text, pattern.data, pattern.size);
    text[pattern.size] = '\0';
    for (size_t i = 0; text[i] != '\0'; i++) {
        while (starts_with(text + i, "***")) {
            cut(text + i, 1);
        }
    }
    for (size_t i = 0; text[i] != '\0'; i++) {
        while (starts_with(text + i, "/**/**") && !(i >= 2 && starts_with(text + i - 2, "://"))) {
            cut(text + i, 3);
        }
    }
}

/* Whether whole segments may begin at `offset`. */
static bool begins_segment(const char *text, size_t offset)
{
    return offset == 0 ||
           (text[offset - 1] == '/' && !(offset >= 3 && starts_with(text + offset - 3, "://")));
}

size_t model_read_items(arcp_span pattern, model_item items[MODEL_PATTERN_MAX])
{
    char text[MODEL_PATTERN_MAX + 1];
    if (pattern.size > MODEL_PATTERN_MAX) {
        abort();
    }
    simplify(pattern, text);
    size_t count = 0;
    for (size_t i = 0; text[i] != '\0';) {
        const char *rest = text + i;
        if (strcmp(rest, "/**") == 0 && begins_segment(text, i + 1)) {
            items[count++] = (model_item){MODEL_BELOW, 0};
            i += 3;
        } else if (starts_with(rest, "**/") && begins_segment(text, i)) {
            items[count++] = (model_item){MODEL_FOLDERS, 0};
            i += 3;
        } else if (starts_with(rest, "**")) {
            items[count++] = (model_item){MODEL_ANY, 0};
            i += 2;
        } else if (starts_with(rest, "*")) {
            items[count++] = (model_item){MODEL_SEGMENT, 0};
            i += 1;
        } else {
            items[count++] = (model_item){MODEL_BYTE, *rest};
            i += 1;
        }
    }
    return count;
}

typedef struct question {
    arcp__target_kind kind;
    const model_item *items;
    size_t count;
    arcp_span target;
    signed char *known; /* by item and place: -1 not yet */
} question;

/* Whether the wildcard `i` may stand for the byte at `offset`. */
static bool takes(const question *q, size_t i, size_t offset)
{
    const char byte = q->target.data[offset];
    if (byte == '?' && q->kind == ARCP__TARGET_URL &&
        (i + 1 != q->count || q->items[i].kind == MODEL_FOLDERS)) {
        return false;
    }
    const bool separates = byte == '/' || (byte == '.' && q->kind == ARCP__TARGET_TOOL);
    return !(separates && q->items[i].kind == MODEL_SEGMENT);
}

static bool holds(question *q, size_t i, size_t offset);

static bool find_out(question *q, size_t i, size_t offset)
{
    if (i == q->count) {
        return offset == q->target.size;
    }
    const model_item_kind kind = q->items[i].kind;
    if (kind == MODEL_BYTE) {
        return offset < q->target.size && q->target.data[offset] == q->items[i].byte &&
               holds(q, i + 1, offset + 1);
    }
    if (kind == MODEL_BELOW) {
        return offset == q->target.size || q->target.data[offset] == '/';
    }
    if (kind == MODEL_FOLDERS && holds(q, i + 1, offset)) {
        return true;
    }
    for (size_t end = offset;; end++) {
        if (kind == MODEL_FOLDERS) {
            if (end < q->target.size && q->target.data[end] == '/' && holds(q, i + 1, end + 1)) {
                return true;
            }
        } else if (holds(q, i + 1, end)) {
            return true;
        }
        if (end == q->target.size || !takes(q, i, end)) {
            return false;
        }
    }
}

/* Whether the items from `i` on match the target from `offset` on; each pair is found out once. */
static bool holds(question *q, size_t i, size_t offset)
{
    signed char *known = &q->known[i * (q->target.size + 1) + offset];
    if (*known < 0) {
        *known = (signed char)find_out(q, i, offset);
    }
    return *known != 0;
}

bool model_matches(arcp__target_kind kind, arcp_span pattern, arcp_span target)
{
    model_item items[MODEL_PATTERN_MAX];
    signed char known_if_few[2048];
    question q = {.kind = kind, .items = items, .target = target};
    q.count = model_read_items(pattern, items);
    const size_t pairs = (q.count + 1) * (target.size + 1);
    q.known = pairs > sizeof known_if_few ? malloc(pairs) : known_if_few;
    if (q.known == NULL) {
        abort();
    }
    memset(q.known, -1, pairs);
    const bool matches = holds(&q, 0, 0);
    if (q.known != known_if_few) {
        free(q.known);
    }
    return matches;
}

bool model_matches_any(arcp__target_kind kind, const arcp_span *patterns, size_t count,
                       arcp_span target)
{
    for (size_t i = 0; i < count; i++) {
        if (model_matches(kind, patterns[i], target)) {
            return true;
        }
    }
    return false;
}
