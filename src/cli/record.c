/* Records that a command lists: a JSON object each, printed as JSON, YAML or a row of a table. */
#include "cli/cli.h"

#include <langinfo.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const formats[] = {
    [ARCP__FORMAT_TABLE] = "table",
    [ARCP__FORMAT_JSON] = "json",
    [ARCP__FORMAT_YAML] = "yaml",
    [ARCP__FORMAT_NAME] = "name",
};

arcp_status arcp__format_read(arcp__program *program, arcp__option option, arcp__format *out,
                              arcp_error *err)
{
    const char *given = arcp__value(&program->arguments, option);
    size_t i = 0;
    *out = program->is_json ? ARCP__FORMAT_JSON : ARCP__FORMAT_TABLE;
    if (given == NULL) {
        return ARCP_OK;
    }
    while (i < sizeof formats / sizeof *formats && strcmp(given, formats[i]) != 0) {
        i++;
    }
    if (i == sizeof formats / sizeof *formats) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--output: '%.64s' is not one of table, json, yaml, name", given);
    }
    if (program->is_json && i != ARCP__FORMAT_JSON) {
        return arcp_error_set(err, ARCP_E_USAGE, "--json and --output %s cannot be given together",
                              given);
    }
    *out = (arcp__format)i;
    program->is_json = i == ARCP__FORMAT_JSON;
    return ARCP_OK;
}

size_t arcp__output_columns(void)
{
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO)) {
        return 0;
    }
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

/* ---- YAML ---- */

#define INDENT 2

/* Whether a name needs no quotes in YAML. */
static bool is_plain(arcp_span name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (name.size == strlen(words[i]) && strncasecmp(name.data, words[i], name.size) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < name.size; i++) {
        const bool is_letter = memchr(letters, name.data[i], sizeof letters - 1) != NULL;
        if (!is_letter && (i == 0 || memchr("0123456789.-", name.data[i], 12) == NULL)) {
            return false;
        }
    }
    return name.size != 0;
}

static void append_yaml(const arcp_json *json, arcp_json_ref ref, unsigned depth, arcp_buf *out);

/* A value behind `name:` or `-`, which begins on this line. `depth`: of the lines below it. */
static void append_yaml_value(const arcp_json *json, arcp_json_ref ref, unsigned depth,
                              arcp_buf *out)
{
    const bool is_nested =
        arcp_json_is(json, ref, ARCP_JSON_OBJECT) || arcp_json_is(json, ref, ARCP_JSON_ARRAY);
    if (is_nested && arcp_json_count(json, ref) != 0) {
        arcp_buf_append_byte(out, '\n');
        append_yaml(json, ref, depth, out);
        return;
    }
    arcp_buf_append_byte(out, ' '); /* JSON's scalars, and its empty objects and arrays, are YAML */
    arcp_json_compact(json, ref, out);
    arcp_buf_append_byte(out, '\n');
}

/* The lines of an object or array that is not empty. */
static void append_yaml(const arcp_json *json, arcp_json_ref ref, unsigned depth, arcp_buf *out)
{
    const bool is_object = arcp_json_is(json, ref, ARCP_JSON_OBJECT);
    for (arcp_json_ref at = arcp_json_first(json, ref); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, ref, at)) {
        arcp_buf room = arcp_buf_init();
        arcp_buf_append_format(out, "%*s", (int)(depth * INDENT), "");
        if (is_object) {
            const arcp_span name = arcp_json_string(json, at, &room);
            arcp_buf_append(out, is_plain(name) ? name : arcp_json_raw(json, at));
            arcp_buf_append_byte(out, ':');
        } else {
            arcp_buf_append_byte(out, '-');
        }
        append_yaml_value(json, is_object ? at + 1 : at, depth + 1, out);
        arcp_buf_fini(&room);
    }
}

void arcp__append_yaml(const arcp_json *json, bool is_item, arcp_buf *out)
{
    const size_t start = out->size;
    append_yaml(json, ARCP_JSON_ROOT, is_item ? 1 : 0, out);
    if (is_item && out->size > start && !out->failed) {
        out->data[start] = '-'; /* instead of the first blank */
    }
}

/* ---- a table ---- */

void arcp__append_cell(arcp_buf *out, arcp_span text, size_t columns, bool is_last)
{
    arcp_buf safe = arcp_buf_init();
    arcp__append_safe(&safe, text, 1024);
    arcp_span rest = arcp_buf_span(&safe);
    const bool is_cut = columns != 0 && arcp__text_columns(rest) > columns;
    const size_t most = is_cut ? columns - 1 : columns;
    size_t used = 0;
    while (rest.size != 0) {
        size_t width;
        const size_t size = arcp__character_size(rest, &width);
        if (columns != 0 && used + width > most) {
            break;
        }
        arcp_buf_append(out, arcp_span_first(rest, size));
        rest = arcp_span_from(rest, size);
        used += width;
    }
    if (is_cut) {
        arcp_buf_append_cstr(out, strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "~");
        used++;
    }
    if (!is_last) {
        arcp_buf_append_format(out, "%*s", (int)(columns > used ? columns - used : 0) + 1, "");
    }
    arcp_buf_fini(&safe);
}
