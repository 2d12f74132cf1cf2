#include "story/match.h"

#include <string.h>

#define SHOWN_MAX 120
#define WHERE_MAX 160

/* ---- variables ---- */

/* Removes the last variables until `count` remain. */
static void truncate_to(arcp__variables *variables, size_t count)
{
    while (variables->count > count) {
        arcp__variable *last = &variables->rows[--variables->count];
        arcp_buf_fini(&last->json);
        *last = (arcp__variable){0};
    }
}

void arcp__variables_fini(arcp__variables *variables)
{
    truncate_to(variables, 0);
    variables->failed = false;
}

static arcp__variable *find(const arcp__variables *variables, arcp_span name)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (arcp_span_equal_cstr(name, variables->rows[i].name)) {
            return (arcp__variable *)&variables->rows[i];
        }
    }
    return NULL;
}

const arcp_buf *arcp__variable_get(const arcp__variables *variables, arcp_span name)
{
    const arcp__variable *row = find(variables, name);
    return row == NULL ? NULL : &row->json;
}

void arcp__variable_set(arcp__variables *variables, arcp_span name, arcp_span json)
{
    arcp__variable *row = find(variables, name);
    if (row == NULL) {
        if (variables->count == ARCP__VARIABLES_MAX || name.size >= sizeof row->name) {
            variables->failed = true;
            return;
        }
        row = &variables->rows[variables->count++];
        memcpy(row->name, name.data, name.size);
        row->json.secret = true; /* it may be a token */
    }
    arcp_buf_clear(&row->json);
    arcp_buf_append(&row->json, json);
    variables->failed = variables->failed || row->json.failed;
}

void arcp__variable_set_text(arcp__variables *variables, const char *name, arcp_span text)
{
    arcp_buf json = arcp_buf_secret_init();
    arcp_json_quote(text, &json);
    variables->failed = variables->failed || json.failed;
    arcp__variable_set(variables, arcp_span_cstr(name), arcp_buf_span(&json));
    arcp_buf_fini(&json);
}

void arcp__variable_forget(arcp__variables *variables, const char *name)
{
    arcp__variable *row = find(variables, arcp_span_cstr(name));
    if (row != NULL) {
        arcp__variable *last = &variables->rows[variables->count - 1];
        const arcp__variable forgotten = *row;
        *row = *last;
        *last = forgotten;
        truncate_to(variables, variables->count - 1);
    }
}

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

bool arcp__variables_replace(const arcp__variables *variables, arcp_span text, arcp_buf *out)
{
    size_t i = 0;
    bool in_string = false;
    out->secret = true; /* tokens are variables */
    while (i < text.size) {
        size_t end = i + 1;
        if (text.data[i] != '$') {
            end += in_string && text.data[i] == '\\' && end < text.size;
            in_string = in_string != (text.data[i] == '"');
            arcp_buf_append(out, arcp_span_make(text.data + i, end - i));
            i = end;
            continue;
        }
        while (end < text.size && is_name_byte(text.data[end])) {
            end++;
        }
        const arcp_buf *value =
            arcp__variable_get(variables, arcp_span_make(text.data + i + 1, end - i - 1));
        if (value == NULL) {
            return false;
        }
        const arcp_span json = arcp_buf_span(value);
        const bool is_text = in_string && arcp_span_starts_with(json, ARCP_SPAN_LITERAL("\""));
        arcp_buf_append(out, is_text ? arcp_span_make(json.data + 1, json.size - 2) : json);
        i = end;
    }
    return true;
}

/* ---- patterns ---- */

typedef struct match {
    arcp__variables *variables;
    const arcp_json *pattern, *json;
    arcp_buf *why;
    char path[WHERE_MAX]; /* of the current value, such as payload.jobs */
} match;

/* If it returns false, no variable was bound. */
static bool fits(match *m, arcp_json_ref wanted, arcp_json_ref value);

void arcp__append_value(arcp_buf *out, const arcp_json *json, arcp_json_ref value)
{
    const arcp_span raw = arcp_json_raw(json, value);
    if (value == ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(out, "missing");
        return;
    }
    arcp_buf_append(out, arcp_span_first(raw, SHOWN_MAX));
    if (raw.size > SHOWN_MAX) {
        arcp_buf_append_cstr(out, "...");
    }
}

/* Reports a mismatch; only the first one is kept. Returns false. */
static bool differs(match *m, arcp_json_ref value, const char *must, arcp_span wanted)
{
    if (m->why->size == 0) {
        arcp_buf_append_format(m->why, "%s is ", m->path[0] == '\0' ? "the frame" : m->path);
        arcp__append_value(m->why, m->json, value);
        arcp_buf_append_format(m->why, ", must be %s", must);
        arcp_buf_append(m->why, arcp_span_first(wanted, SHOWN_MAX));
    }
    return false;
}

static bool are_equal(const arcp_json *a, arcp_json_ref one, const arcp_json *b,
                      arcp_json_ref other)
{
    arcp_buf left = arcp_buf_init();
    arcp_buf right = arcp_buf_init();
    arcp_error err = {0};
    const bool equal = arcp_json_canonical(a, one, &left, &err) == ARCP_OK &&
                       arcp_json_canonical(b, other, &right, &err) == ARCP_OK &&
                       arcp_span_equal(arcp_buf_span(&left), arcp_buf_span(&right));
    arcp_buf_fini(&left);
    arcp_buf_fini(&right);
    return equal;
}

/* "$name": compares with the variable's value, or binds the variable. */
static bool fits_variable(match *m, arcp_span name, arcp_json_ref value)
{
    const arcp_buf *known = arcp__variable_get(m->variables, name);
    if (value == ARCP_JSON_ABSENT) {
        return differs(m, value, "present", arcp_span_make(NULL, 0));
    }
    if (known == NULL) {
        arcp__variable_set(m->variables, name, arcp_json_raw(m->json, value));
        return true;
    }
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    const bool equal = arcp__wire_scan(&json, arcp_buf_span(known), &err) == ARCP_OK &&
                       are_equal(&json, 0, m->json, value);
    arcp__json_fini(&json);
    return equal || differs(m, value, "", arcp_buf_span(known));
}

/* "$string" and the like, or a variable. */
static bool fits_word(match *m, arcp_span word, arcp_json_ref value)
{
    static const struct {
        const char *word;
        unsigned types; /* a bit for each type that fits */
        const char *called;
    } kinds[] = {
        {"$string", 1u << ARCP_JSON_STRING, "a string"},
        {"$number", 1u << ARCP_JSON_NUMBER, "a number"},
        {"$boolean", 1u << ARCP_JSON_TRUE | 1u << ARCP_JSON_FALSE, "true or false"},
        {"$array", 1u << ARCP_JSON_ARRAY, "a list"},
        {"$object", 1u << ARCP_JSON_OBJECT, "an object"},
        {"$versioned", 1u << ARCP_JSON_STRING, "name@version"},
        {"$_", ~0u, "present"},
    };
    const bool is_present = value != ARCP_JSON_ABSENT;
    if (arcp_span_equal_cstr(word, "$absent")) {
        return !is_present || differs(m, value, "absent", arcp_span_make(NULL, 0));
    }
    for (size_t row = 0; row < sizeof kinds / sizeof kinds[0]; row++) {
        if (arcp_span_equal_cstr(word, kinds[row].word)) {
            const arcp_span raw = arcp_json_raw(m->json, value);
            bool fit =
                is_present && (kinds[row].types >> arcp_json_type_of(m->json, value) & 1) != 0;
            if (fit && arcp_span_equal_cstr(word, "$versioned")) {
                fit = memchr(raw.data, '@', raw.size) != NULL;
            }
            return fit || differs(m, value, kinds[row].called, arcp_span_make(NULL, 0));
        }
    }
    return fits_variable(m, arcp_span_from(word, 1), value);
}

static bool fits_object(match *m, arcp_json_ref wanted, arcp_json_ref value)
{
    if (!arcp_json_is(m->json, value, ARCP_JSON_OBJECT)) {
        return differs(m, value, "an object", arcp_span_make(NULL, 0));
    }
    const size_t length = strlen(m->path);
    for (arcp_json_ref name = arcp_json_first(m->pattern, wanted); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(m->pattern, wanted, name)) {
        const arcp_span raw = arcp_json_raw(m->pattern, name);
        const arcp_span text =
            arcp_span_make(raw.data + 1, raw.size - 2); /* names in patterns have no escapes */
        if (length + text.size + 2 > sizeof m->path) {
            return differs(m, value, "matched by a pattern with shorter names",
                           arcp_span_make(NULL, 0));
        }
        if (length != 0) {
            m->path[length] = '.';
        }
        const size_t start = length == 0 ? 0 : length + 1;
        memcpy(m->path + start, text.data, text.size);
        m->path[start + text.size] = '\0';
        const bool fit = fits(m, name + 1, arcp_json_member(m->json, value, text));
        m->path[length] = '\0';
        if (!fit) {
            return false;
        }
    }
    return true;
}

static bool is_more(const match *m, arcp_json_ref item)
{
    return arcp_json_string_equals(m->pattern, item, ARCP_SPAN_LITERAL("$more"));
}

/* Whether one of the list's items matches. */
static bool contains(match *m, arcp_json_ref wanted, arcp_json_ref list)
{
    arcp_buf *why = m->why;
    arcp_buf first =
        arcp_buf_init(); /* why the first item does not match; often it is the only one */
    bool found = false;
    m->why = &first;
    for (arcp_json_ref have = arcp_json_first(m->json, list); have != ARCP_JSON_ABSENT && !found;
         have = arcp_json_next(m->json, list, have)) {
        found = fits(m, wanted, have);
    }
    m->why = why;
    if (!found && first.size != 0 && arcp_json_count(m->json, list) == 1) {
        arcp_buf_append(why, arcp_buf_span(&first));
    }
    arcp_buf_fini(&first);
    return found || differs(m, list, "a list with ", arcp_json_raw(m->pattern, wanted));
}

/* The list must have exactly the pattern's items, in this order; or, if these end with "$more", at
 * least these, in any order. */
static bool fits_array(match *m, arcp_json_ref wanted, arcp_json_ref value)
{
    if (!arcp_json_is(m->json, value, ARCP_JSON_ARRAY)) {
        return differs(m, value, "a list", arcp_span_make(NULL, 0));
    }
    bool is_whole = true;
    for (arcp_json_ref item = arcp_json_first(m->pattern, wanted); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(m->pattern, wanted, item)) {
        is_whole = !is_more(m, item);
    }
    if (is_whole && arcp_json_count(m->pattern, wanted) != arcp_json_count(m->json, value)) {
        return differs(m, value, "", arcp_json_raw(m->pattern, wanted));
    }
    arcp_json_ref have = arcp_json_first(m->json, value);
    for (arcp_json_ref item = arcp_json_first(m->pattern, wanted); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(m->pattern, wanted, item)) {
        if (is_whole ? !fits(m, item, have) : !is_more(m, item) && !contains(m, item, value)) {
            return false;
        }
        have = is_whole ? arcp_json_next(m->json, value, have) : have;
    }
    return true;
}

static bool fits_any(match *m, arcp_json_ref wanted, arcp_json_ref value)
{
    const arcp_span raw = arcp_json_raw(m->pattern, wanted);
    if (arcp_json_is(m->pattern, wanted, ARCP_JSON_OBJECT)) {
        return fits_object(m, wanted, value);
    }
    if (arcp_json_is(m->pattern, wanted, ARCP_JSON_ARRAY)) {
        return fits_array(m, wanted, value);
    }
    if (raw.size > 3 && raw.data[0] == '"' && raw.data[1] == '$') {
        return fits_word(m, arcp_span_make(raw.data + 1, raw.size - 2), value);
    }
    return (value != ARCP_JSON_ABSENT && are_equal(m->pattern, wanted, m->json, value)) ||
           differs(m, value, "", raw);
}

static bool fits(match *m, arcp_json_ref wanted, arcp_json_ref value)
{
    const size_t before = m->variables->count;
    const bool fit = fits_any(m, wanted, value);
    if (!fit) {
        truncate_to(m->variables, before);
    }
    return fit;
}

bool arcp__pattern_matches(arcp__variables *variables, const arcp_json *pattern,
                           const arcp_json *json, arcp_buf *why)
{
    match m = {.variables = variables, .pattern = pattern, .json = json, .why = why};
    return fits(&m, ARCP_JSON_ROOT, ARCP_JSON_ROOT);
}
