#include "worker/worker_spec.h"

#include <string.h>

#include "base/utf8.h"
#include "core/decode.h"
#include "worker/worker_frame.h"
#include "json/json_put.h"

#define WORDS_MAX  4096u /* of a command, or of an environment */
#define LIMITS_MAX 32u
/* The other members of a head. */
#define HEAD_ROOM 4096u

/* ---- members ---- */

typedef struct row {
    arcp_json_ref command, env, limits;
    arcp_span cwd, user;
    bool makes_cwd, is_plain;
    uint64_t line_bytes, input_bytes;
} row;

#define M(field, text, kind) ARCP__MEMBER(row, field, text, kind)
static const arcp__member rows[] = {
    {M(command, "command", STRINGS), .required = true},
    {M(env, "env", STRINGS)},
    {M(limits, "limits", ARRAY)},
    {M(cwd, "cwd", STRING)},
    {M(user, "user", STRING)},
    {M(makes_cwd, "makes_cwd", BOOL)},
    {M(is_plain, "plain", BOOL)},
    {M(line_bytes, "line_bytes", POSITIVE), .required = true},
    {M(input_bytes, "input_bytes", COUNT)},
};
#undef M
static const arcp__members members = ARCP__MEMBERS(rows);

/* ---- writing ---- */

static bool is_text(const char *text)
{
    return text == NULL || arcp__utf8_is_valid(arcp_span_cstr(text));
}

static bool put_words(arcp_json_writer *writer, const char *name, const char *const *words)
{
    bool are_text = true;
    arcp__put_array(writer, name);
    for (; words != NULL && *words != NULL; words++) {
        are_text = are_text && is_text(*words);
        arcp_json_write_cstr(writer, *words);
    }
    arcp_json_end_array(writer);
    return are_text;
}

arcp_status arcp__worker_spec_write(const arcp__process_spec *spec, arcp_buf *out, arcp_error *err)
{
    const size_t begin = out->size;
    if (spec->confinement != NULL || spec->file_name != NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "a program with a sandbox or a file is not started by a worker");
    }
    const row fixed = {.cwd = arcp_span_cstr(spec->cwd == NULL ? "" : spec->cwd),
                       .user = arcp_span_cstr(spec->user == NULL ? "" : spec->user),
                       .makes_cwd = spec->makes_cwd,
                       .is_plain = spec->is_plain,
                       .line_bytes = spec->line_bytes_max,
                       .input_bytes = spec->input_bytes_max};
    arcp_json_writer writer = arcp__put_begin(out);
    const bool are_text = put_words(&writer, "command", spec->argv) &&
                          put_words(&writer, "env", spec->env) && is_text(spec->cwd) &&
                          is_text(spec->user);
    arcp__put_array(&writer, "limits");
    for (size_t i = 0; i < spec->limit_count; i++) {
        arcp_json_begin_array(&writer);
        arcp_json_write_u64(&writer, (uint64_t)spec->limits[i].resource);
        arcp_json_write_u64(&writer, spec->limits[i].soft);
        arcp_json_write_u64(&writer, spec->limits[i].hard);
        arcp_json_end_array(&writer);
    }
    arcp_json_end_array(&writer);
    arcp__encode_row(&writer, &members, &fixed);
    arcp_json_end_object(&writer);
    arcp_status status = ARCP_OK;
    if (out->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (!are_text) {
        status = arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                "the program's command, environment, directory or user is not "
                                "valid UTF-8");
    } else if (out->size - begin > ARCP__WORKER_HEAD_MAX - HEAD_ROOM) {
        status = arcp_error_set(err, ARCP_E_LIMIT,
                                "the program's command and environment have %zu bytes, more than "
                                "%u",
                                out->size - begin, ARCP__WORKER_HEAD_MAX - HEAD_ROOM);
    }
    out->size = status == ARCP_OK ? out->size : begin;
    return status;
}

/* ---- reading ---- */

static arcp_status invalid(arcp_error *err, const char *member, const char *why)
{
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "row.%s %s", member, why);
}

static arcp_status out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* NULL for one that is empty. */
static arcp_status copy_text(arcp__arena *arena, const char *member, arcp_span text,
                             const char **out, arcp_error *err)
{
    *out = NULL;
    if (text.size == 0) {
        return ARCP_OK;
    }
    if (memchr(text.data, '\0', text.size) != NULL) {
        return invalid(err, member, "has a NUL");
    }
    *out = arcp__arena_copy(arena, text).data;
    return *out == NULL ? out_of_memory(err) : ARCP_OK;
}

static arcp_status copy_words(const arcp_json *json, arcp_json_ref array, const char *member,
                              arcp__arena *arena, const char *const **out, arcp_error *err)
{
    const size_t count = arcp_json_count(json, array);
    arcp_buf scratch = arcp_buf_secret_init();
    arcp_status status = ARCP_OK;
    if (count > WORDS_MAX) {
        return invalid(err, member, "has more than 4096 words");
    }
    const char **words = arcp__arena_take(arena, (count + 1) * sizeof *words);
    if (words == NULL) {
        return out_of_memory(err);
    }
    size_t i = 0;
    for (arcp_json_ref at = arcp_json_first(json, array);
         at != ARCP_JSON_ABSENT && status == ARCP_OK; at = arcp_json_next(json, array, at)) {
        const arcp_span text = arcp_json_string(json, at, &scratch);
        status =
            scratch.failed ? out_of_memory(err) : copy_text(arena, member, text, &words[i], err);
        if (status == ARCP_OK && words[i] == NULL) {
            words[i] = "";
        }
        i++;
    }
    words[i] = NULL;
    *out = words;
    arcp_buf_fini(&scratch);
    return status;
}

static arcp_status copy_limits(const arcp_json *json, arcp_json_ref array, arcp__arena *arena,
                               arcp__process_spec *out, arcp_error *err)
{
    const size_t count = arcp_json_count(json, array);
    arcp_launch_limit *limits = arcp__arena_take(arena, (count + 1) * sizeof *limits);
    if (limits == NULL) {
        return out_of_memory(err);
    }
    if (count > LIMITS_MAX) {
        return invalid(err, "limits", "has more than 32 limits");
    }
    for (arcp_json_ref at = arcp_json_first(json, array); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, array, at)) {
        uint64_t numbers[3] = {0};
        arcp_json_ref number = arcp_json_first(json, at);
        for (size_t i = 0; i < 3; i++) {
            if (arcp_json_count(json, at) != 3 || !arcp_json_u64(json, number, &numbers[i])) {
                return invalid(err, "limits", "must have [RESOURCE, SOFT, HARD]");
            }
            number = arcp_json_next(json, at, number);
        }
        if (numbers[0] > INT32_MAX) {
            return invalid(err, "limits", "has an unknown resource");
        }
        limits[out->limit_count++] = (arcp_launch_limit){
            .resource = (int)numbers[0], .soft = numbers[1], .hard = numbers[2]};
    }
    out->limits = limits;
    return ARCP_OK;
}

static arcp_status take_row(const arcp_json *json, const row *from, arcp__arena *arena,
                            arcp__process_spec *out, arcp_error *err)
{
    out->makes_cwd = from->makes_cwd;
    out->is_plain = from->is_plain;
    out->line_bytes_max = from->line_bytes;
    out->input_bytes_max = from->input_bytes;
    arcp_status status = copy_words(json, from->command, "command", arena, &out->argv, err);
    if (status == ARCP_OK) {
        status = copy_words(json, from->env, "env", arena, &out->env, err);
    }
    if (status == ARCP_OK) {
        status = copy_limits(json, from->limits, arena, out, err);
    }
    if (status == ARCP_OK) {
        status = copy_text(arena, "cwd", from->cwd, &out->cwd, err);
    }
    if (status == ARCP_OK) {
        status = copy_text(arena, "user", from->user, &out->user, err);
    }
    if (status == ARCP_OK && out->argv[0] == NULL) {
        status = invalid(err, "command", "is empty");
    }
    if (status == ARCP_OK && out->makes_cwd && out->cwd == NULL) {
        status = invalid(err, "makes_cwd", "needs a cwd");
    }
    return status;
}

arcp_status arcp__worker_spec_read(arcp_span text, arcp__arena *arena, arcp__process_spec *out,
                                   arcp_error *err)
{
    const arcp_json_limits limits = {4, 64, ARCP__WORKER_HEAD_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_secret_init();
    row from = {.command = ARCP_JSON_ABSENT};
    arcp__process_spec spec = {.argv = NULL};
    arcp__decoder decoder = {.json = &json, .scratch = &scratch, .where = "row"};
    arcp_status status = arcp_json_scan(&json, text, &limits, err);
    if (status == ARCP_OK) {
        status = arcp__decode(&decoder, ARCP_JSON_ROOT, &members, &from, err);
    }
    if (status == ARCP_OK && scratch.failed) {
        status = out_of_memory(err);
    }
    if (status == ARCP_OK) {
        status = take_row(&json, &from, arena, &spec, err);
    }
    if (status == ARCP_OK) {
        *out = spec;
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
    return status;
}
