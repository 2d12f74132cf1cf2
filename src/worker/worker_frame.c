#include "worker/worker_frame.h"

#include <assert.h>
#include <string.h>

#include "worker/worker_parts.h"
#include "json/json_put.h"

/* ---- the members of each message ---- */

#define M(type, field, text, kind) ARCP__MEMBER(arcp__worker_##type, field, text, kind)
#define NEEDED                     .required = true

static const arcp__member hello_rows[] = {
    {M(hello, version, "version", ID), NEEDED},
    {M(hello, token, "token", ID)},
    {M(hello, name, "name", ID), NEEDED},
    {M(hello, instance, "instance", ID), NEEDED},
    {M(hello, boot_id, "boot_id", ID), NEEDED},
    {M(hello, work, "work", STRING)},
    {M(hello, program, "program", ID)},
    {M(hello, drains_ms, "drains_ms", COUNT)},
    {M(hello, pid, "pid", COUNT)},
    {M(hello, capacity, "capacity", COUNT)},
};
static const arcp__member offer_rows[] = {
    {M(offer, name, "name", ID), NEEDED},     {M(offer, version, "version", ID)},
    {M(offer, mode, "mode", ID), NEEDED},     {M(offer, max_jobs, "max_jobs", COUNT)},
    {M(offer, shows_errors, "errors", BOOL)}, {M(offer, hash, "hash", HASH), NEEDED},
    {M(offer, cwd, "cwd", STRING)},           {M(offer, is_confined, "confined", BOOL)},
    {M(offer, is_late, "late", BOOL)},        {M(offer, terminates_tls, "terminates", BOOL)},
};
static const arcp__member items_rows[] = {
    {M(items, job, "job", ID), NEEDED},
    {M(items, first, "first", POSITIVE), NEEDED},
    {M(items, count, "count", POSITIVE), NEEDED},
};
static const arcp__member output_rows[] = {
    {M(output, job, "job", ID), NEEDED},
    {M(output, first, "first", COUNT)},
};
static const arcp__member errors_rows[] = {
    {M(errors, job, "job", ID), NEEDED},
    {M(errors, first, "first", POSITIVE), NEEDED},
    {M(errors, count, "count", POSITIVE), NEEDED},
};
static const arcp__member log_rows[] = {
    {M(log, job, "job", ID), NEEDED},
    {M(log, dropped, "dropped", COUNT)},
};
static const arcp__member started_rows[] = {
    {M(started, job, "job", ID), NEEDED},
    {M(started, pid, "pid", COUNT)},
};
static const arcp__member refused_rows[] = {
    {M(refused, job, "job", ID), NEEDED},
    {M(refused, message, "message", TEXT)},
};
static const arcp__member exited_rows[] = {
    {M(exited, job, "job", ID), NEEDED},
    {M(exited, items, "items", COUNT)},
    {M(exited, bytes, "bytes", COUNT)},
    {M(exited, errors, "errors", COUNT)},
    {M(exited, by_signal, "by_signal", BOOL)},
    {M(exited, is_known, "is_known", BOOL)},
    {M(exited, has_run_out, "out_of_memory", BOOL)},
    {M(exited, is_shared, "shared", BOOL)},
    {M(exited, code, "code", COUNT)},
    {M(exited, user_us, "user_us", COUNT)},
    {M(exited, system_us, "system_us", COUNT)},
    {M(exited, memory_bytes, "memory_bytes", COUNT)},
    {M(exited, failed_step, "failed_step", ID)},
    {M(exited, failure, "failure", TEXT)},
};
static const arcp__member got_rows[] = {
    {M(got, job, "job", ID), NEEDED},
    {M(got, at, "at", POSITIVE), NEEDED},
};
static const arcp__member usage_rows[] = {
    {M(usage, room, "room", COUNT)},
};
static const arcp__member welcome_rows[] = {
    {M(welcome, v, "v", POSITIVE), NEEDED},
    {M(welcome, store, "store", ID), NEEDED},
    {M(welcome, keep_ms, "keep_ms", POSITIVE), NEEDED},
    {M(welcome, grace_ms, "grace_ms", COUNT)},
    {M(welcome, line_bytes, "line_bytes", POSITIVE), NEEDED},
    {M(welcome, agent_line_bytes, "agent_line_bytes", COUNT)},
    {M(welcome, unkept_bytes, "unkept_bytes", POSITIVE), NEEDED},
    {M(welcome, unkept_total_bytes, "unkept_total_bytes", POSITIVE), NEEDED},
    {M(welcome, gateways_url, "gateways_url", TEXT)},
};
static const arcp__member start_rows[] = {
    {M(start, job, "job", ID), NEEDED},
    {M(start, agent, "agent", ID), NEEDED},
    {M(start, expires_ms, "expires_ms", POSITIVE)},
    {M(start, deadline_ms, "deadline_ms", POSITIVE)},
    {M(start, is_confined, "confined", BOOL)},
    {M(start, is_cold, "cold", BOOL)},
    {M(start, outlasts_expiry, "outlasts_expiry", BOOL)},
    {M(start, outlasts_budget, "outlasts_budget", BOOL)},
    {M(start, cancel_grace_ms, "cancel_grace_ms", COUNT)},
    {M(start, gateway_key, "gateway_key", TEXT)},
    {M(start, gateways, "gateways", COUNT)},
    {M(start, gateways_url, "gateways_url", TEXT)},
};
static const arcp__member line_rows[] = {
    {M(line, job, "job", ID), NEEDED},
    {M(line, at, "at", POSITIVE)},
    {M(line, answers_to, "for", POSITIVE)},
};
static const arcp__member kept_rows[] = {
    {M(kept, job, "job", ID), NEEDED},  {M(kept, items, "items", COUNT)},
    {M(kept, bytes, "bytes", COUNT)},   {M(kept, errors, "errors", COUNT)},
    {M(kept, stored, "stored", COUNT)},
};
static const arcp__member kill_rows[] = {
    {M(kill, job, "job", ID), NEEDED},
    {M(kill, at_once, "at_once", BOOL)},
};
static const arcp__member of_job_rows[] = {
    {ARCP__MEMBER(struct arcp__worker_of_job, job, "job", ID), NEEDED},
};
static const arcp__member revoke_rows[] = {
    {M(revoke, job, "job", ID), NEEDED},
    {M(revoke, code, "code", ID), NEEDED},
};
static const arcp__member number_rows[] = {
    {ARCP__MEMBER(struct arcp__worker_number, number, "number", COUNT)},
};

#undef M
#undef NEEDED

static const char *const item_names[ARCP__WORKER_ITEMS_COUNT] = {"lines", "too_long", "record"};
static const char *const refusal_names[ARCP__WORKER_REFUSALS] = {"busy", "unknown_agent", "unable",
                                                                 "cannot_start"};
static const char *const end_names[ARCP__WORKER_ENDS] = {"itself", "killed", "deadline", "alone"};
static const arcp__members offer_members = ARCP__MEMBERS(offer_rows);

/* A member that is a JSON object, passed on as its text. */
typedef struct raw_member {
    const char *name; /* NULL: there is none */
    size_t at;        /* offset of its span */
} raw_member;

static const struct {
    const char *name;
    arcp__worker_side from;
    arcp__worker_body body;
} kinds[ARCP__WORKER_KINDS] = {
#define ARCP_WORKER_MESSAGE(id, name, side, body)                                                  \
    [ARCP__WORKER_##id] = {#name, ARCP__WORKER_SIDE_##side, ARCP__WORKER_BODY_##body},
#include "worker/worker_message.def"
#undef ARCP_WORKER_MESSAGE
};

/* The members of each kind, in its struct. */
static const struct {
    arcp__members members;
    arcp__worker_words words;
    raw_member raw;
} parts[ARCP__WORKER_KINDS] = {
    [ARCP__WORKER_HELLO] = {.members = ARCP__MEMBERS(hello_rows),
                            .raw = {"abilities", offsetof(arcp__worker_hello, abilities)}},
    [ARCP__WORKER_ITEMS] = {.members = ARCP__MEMBERS(items_rows),
                            .words = {"what", item_names, ARCP__WORKER_ITEMS_COUNT,
                                      offsetof(arcp__worker_items, what)}},
    [ARCP__WORKER_OUTPUT] = {.members = ARCP__MEMBERS(output_rows)},
    [ARCP__WORKER_ERRORS] = {.members = ARCP__MEMBERS(errors_rows)},
    [ARCP__WORKER_LOG] = {.members = ARCP__MEMBERS(log_rows)},
    [ARCP__WORKER_STARTED] = {.members = ARCP__MEMBERS(started_rows)},
    [ARCP__WORKER_REFUSED] = {.members = ARCP__MEMBERS(refused_rows),
                              .words = {"why", refusal_names, ARCP__WORKER_REFUSALS,
                                        offsetof(arcp__worker_refused, why)}},
    [ARCP__WORKER_EXITED] = {.members = ARCP__MEMBERS(exited_rows),
                             .words = {"why", end_names, ARCP__WORKER_ENDS,
                                       offsetof(arcp__worker_exited, why)}},
    [ARCP__WORKER_GOT] = {.members = ARCP__MEMBERS(got_rows)},
    [ARCP__WORKER_USAGE] = {.members = ARCP__MEMBERS(usage_rows)},
    [ARCP__WORKER_WELCOME] = {.members = ARCP__MEMBERS(welcome_rows)},
    [ARCP__WORKER_START] = {.members = ARCP__MEMBERS(start_rows),
                            .raw = {"row", offsetof(arcp__worker_start, row)}},
    [ARCP__WORKER_LINE] = {.members = ARCP__MEMBERS(line_rows)},
    [ARCP__WORKER_KEPT] = {.members = ARCP__MEMBERS(kept_rows)},
    [ARCP__WORKER_KILL] = {.members = ARCP__MEMBERS(kill_rows)},
    [ARCP__WORKER_PAUSE] = {.members = ARCP__MEMBERS(of_job_rows)},
    [ARCP__WORKER_RESUME] = {.members = ARCP__MEMBERS(of_job_rows)},
    [ARCP__WORKER_REVOKE] = {.members = ARCP__MEMBERS(revoke_rows)},
    [ARCP__WORKER_FORGET] = {.members = ARCP__MEMBERS(of_job_rows)},
    [ARCP__WORKER_PING] = {.members = ARCP__MEMBERS(number_rows)},
    [ARCP__WORKER_PONG] = {.members = ARCP__MEMBERS(number_rows)},
};

const char *arcp__worker_kind_name(arcp__worker_kind kind)
{
    return kinds[kind].name;
}

const char *arcp__worker_end_name(arcp__worker_end end)
{
    return end_names[end];
}

/* ---- writing ---- */

static void write_hello(arcp_json_writer *writer, const arcp__worker_hello *hello)
{
    arcp__put_array(writer, "v");
    arcp_json_write_u64(writer, hello->v_low);
    arcp_json_write_u64(writer, hello->v_high);
    arcp_json_end_array(writer);
    if (hello->offer_count != 0) {
        arcp__put_array(writer, "offers");
        for (size_t i = 0; i < hello->offer_count; i++) {
            arcp_json_begin_object(writer);
            arcp__encode_row(writer, &offer_members, &hello->offers[i]);
            arcp_json_end_object(writer);
        }
        arcp_json_end_array(writer);
    }
}

static void write_open(arcp_json_writer *writer, const arcp__worker_kept *kept)
{
    if (kept->open_count != 0) {
        arcp__put_array(writer, "open");
        for (size_t i = 0; i < kept->open_count; i++) {
            arcp_json_write_u64(writer, kept->open[i]);
        }
        arcp_json_end_array(writer);
    }
}

void arcp__worker_message_write(const arcp__worker_message *message, arcp_buf *out)
{
    const void *from = &message->hello; /* all members of the union begin here */
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "type", kinds[message->kind].name);
    arcp__encode_row(&writer, &parts[message->kind].members, from);
    arcp__worker_word_write(&writer, &parts[message->kind].words, from);
    if (parts[message->kind].raw.name != NULL) {
        arcp_span text;
        memcpy(&text, (const char *)from + parts[message->kind].raw.at, sizeof text);
        arcp__put_raw(&writer, parts[message->kind].raw.name, text);
    }
    if (message->kind == ARCP__WORKER_HELLO) {
        write_hello(&writer, &message->hello);
    } else if (message->kind == ARCP__WORKER_KEPT) {
        write_open(&writer, &message->kept);
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
    arcp_buf_append(out, message->body);
}

void arcp__worker_frame_write(const arcp__worker_message *message, arcp_buf *out)
{
    const size_t begin = out->size;
    arcp_buf_append(out, arcp_span_make("\0\0\0\0", ARCP__WORKER_PREFIX));
    arcp__worker_message_write(message, out);
    if (!out->failed) {
        const size_t size = out->size - begin - ARCP__WORKER_PREFIX;
        assert(size <= UINT32_MAX);
        for (unsigned i = 0; i < ARCP__WORKER_PREFIX; i++) {
            out->data[begin + i] = (char)(unsigned char)(size >> (24 - 8 * i));
        }
    }
}

/* ---- reading ---- */

void arcp__worker_reader_fini(arcp__worker_reader *reader)
{
    arcp__json_fini(&reader->json);
    arcp__json_fini(&reader->row_json);
    arcp_buf_fini(&reader->scratch);
    arcp_buf_fini(&reader->row_scratch);
}

static size_t body_bytes_max(size_t line_bytes_max)
{
    return line_bytes_max < ARCP__WORKER_BODY_MAX ? ARCP__WORKER_BODY_MAX : line_bytes_max + 1;
}

arcp_status arcp__worker_frame_size(arcp_span bytes, size_t line_bytes_max, size_t *out,
                                    arcp_error *err)
{
    size_t size = 0;
    for (unsigned i = 0; i < ARCP__WORKER_PREFIX; i++) {
        size = size << 8 | (unsigned char)bytes.data[i];
    }
    const size_t most = ARCP__WORKER_HEAD_MAX + 1 + body_bytes_max(line_bytes_max);
    if (size > most) {
        return arcp_error_set(err, ARCP_E_LIMIT, "a message of %zu bytes exceeds %zu", size, most);
    }
    *out = size;
    return ARCP_OK;
}

static arcp_status read_raw(const arcp_json *json, const raw_member *raw, const char *where,
                            void *out, arcp_error *err)
{
    const arcp_json_ref ref =
        arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(raw->name == NULL ? "" : raw->name));
    if (raw->name == NULL || arcp_json_is_missing(json, ref)) {
        return ARCP_OK;
    }
    if (!arcp_json_is(json, ref, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s.%s must be an object", where,
                              raw->name);
    }
    const arcp_span text = arcp_json_raw(json, ref);
    memcpy((char *)out + raw->at, &text, sizeof text);
    return ARCP_OK;
}

static arcp_status read_hello(arcp__worker_reader *reader, arcp__worker_hello *out, arcp_error *err)
{
    const arcp_json *json = &reader->json;
    const arcp_json_ref v = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("v"));
    const arcp_json_ref offers =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("offers"));
    const arcp_json_ref low = arcp_json_first(json, v);
    if (!arcp_json_is(json, v, ARCP_JSON_ARRAY) || arcp_json_count(json, v) != 2 ||
        !arcp_json_u64(json, low, &out->v_low) ||
        !arcp_json_u64(json, arcp_json_next(json, v, low), &out->v_high) || out->v_low == 0 ||
        out->v_low > out->v_high) {
        return arcp__worker_invalid(err, "hello",
                                    "v must be the lowest and the highest version, [1,1]");
    }
    if (arcp_json_is_missing(json, offers)) {
        return ARCP_OK;
    }
    if (!arcp_json_is(json, offers, ARCP_JSON_ARRAY) ||
        arcp_json_count(json, offers) > ARCP__WORKER_OFFERS_MAX) {
        return arcp__worker_invalid(err, "hello", "offers must be an array of at most 256");
    }
    arcp__decoder decoder = {.json = json, .scratch = &reader->scratch, .where = "hello.offers"};
    for (arcp_json_ref at = arcp_json_first(json, offers); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, offers, at)) {
        arcp__worker_offer *offer = &reader->offers[out->offer_count++];
        *offer = (arcp__worker_offer){.max_jobs = 0};
        const arcp_status status = arcp__decode(&decoder, at, &offer_members, offer, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    out->offers = reader->offers;
    return ARCP_OK;
}

static arcp_status read_open(arcp__worker_reader *reader, arcp__worker_kept *out, arcp_error *err)
{
    const arcp_json *json = &reader->json;
    const arcp_json_ref open = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("open"));
    uint64_t before = 0;
    if (arcp_json_is_missing(json, open)) {
        return ARCP_OK;
    }
    if (!arcp_json_is(json, open, ARCP_JSON_ARRAY) ||
        arcp_json_count(json, open) > ARCP__WORKER_OPEN_MAX) {
        return arcp__worker_invalid(err, "kept", "open must be an array of at most 1024");
    }
    for (arcp_json_ref at = arcp_json_first(json, open); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, open, at)) {
        uint64_t number = 0;
        if (!arcp_json_u64(json, at, &number) || number <= before || number > out->items) {
            return arcp__worker_invalid(err, "kept",
                                        "open must have numbers up to items, in ascending order");
        }
        reader->open[out->open_count++] = before = number;
    }
    out->open = reader->open;
    return ARCP_OK;
}

static bool has_lines(arcp_span body, uint64_t count)
{
    if (body.size == 0 || body.data[body.size - 1] != '\n' || body.size < count) {
        return false;
    }
    while (body.size != 0 && count != 0) {
        const char *end = memchr(body.data, '\n', body.size);
        body = arcp_span_from(body, (size_t)(end - body.data) + 1);
        count--;
    }
    return body.size == 0 && count == 0;
}

/* How many lines the body must have; 1 for kinds without a count. */
static uint64_t line_count(const arcp__worker_message *message)
{
    return message->kind == ARCP__WORKER_ITEMS    ? message->items.count
           : message->kind == ARCP__WORKER_ERRORS ? message->errors.count
                                                  : 1;
}

static arcp_status check_body(const arcp__worker_reader *reader,
                              const arcp__worker_message *message, arcp_error *err)
{
    const char *type = kinds[message->kind].name;
    const arcp_span body = message->body;
    const uint64_t lines = line_count(message);
    size_t most = ARCP__WORKER_BODY_MAX;
    switch (kinds[message->kind].body) {
    case ARCP__WORKER_BODY_NONE:
        if (body.size != 0) {
            return arcp__worker_invalid(err, type, "it has a body");
        }
        break;
    case ARCP__WORKER_BODY_BYTES:
        most = message->kind == ARCP__WORKER_EXITED ? ARCP__WORKER_TAIL_MAX : most;
        break;
    case ARCP__WORKER_BODY_LINE:
        most = reader->line_bytes_max;
        if (body.size == 0 || memchr(body.data, '\n', body.size) != NULL) {
            return arcp__worker_invalid(err, type, "its body must be one line");
        }
        break;
    case ARCP__WORKER_BODY_LINES:
        most = lines == 1 ? body_bytes_max(reader->line_bytes_max) : most;
        if (message->kind == ARCP__WORKER_ITEMS && message->items.what != ARCP__WORKER_ITEM_LINE) {
            if (lines != 1 ||
                (message->items.what == ARCP__WORKER_ITEM_TOO_LONG) != (body.size == 0)) {
                return arcp__worker_invalid(err, type,
                                            "only lines can be several, and a record has a body");
            }
        } else if (!has_lines(body, lines)) {
            return arcp__worker_invalid(err, type,
                                        "its body must have as many lines as count says");
        }
        break;
    case ARCP__WORKER_BODY_ROWS:
        if (body.size != 0 && body.data[body.size - 1] != '\n') {
            return arcp__worker_invalid(err, type, "its body must be rows");
        }
        break;
    }
    return body.size <= most
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_LIMIT, "%s: a body of %zu bytes exceeds %zu", type,
                                body.size, most);
}

/* What holds between members, and between members and the body. */
static arcp_status check_numbers(const arcp__worker_message *message, arcp_error *err)
{
    const uint64_t most = UINT64_MAX >> 1;
    const bool is_wrong = (message->kind == ARCP__WORKER_ITEMS &&
                           (message->items.first > most || message->items.count > most)) ||
                          (message->kind == ARCP__WORKER_ERRORS &&
                           (message->errors.first > most || message->errors.count > most)) ||
                          (message->kind == ARCP__WORKER_OUTPUT &&
                           (message->output.first > most || message->body.size == 0));
    return is_wrong
               ? arcp__worker_invalid(err, kinds[message->kind].name, "a number is out of range")
               : ARCP_OK;
}

/* The kind of a head that was scanned. */
static arcp_status read_kind(const arcp_json *json, arcp__worker_side from, arcp__worker_kind *out,
                             arcp_error *err)
{
    const arcp_json_ref type = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type"));
    for (unsigned i = 0; i < ARCP__WORKER_KINDS; i++) {
        if (arcp_json_string_equals(json, type, arcp_span_cstr(kinds[i].name))) {
            *out = (arcp__worker_kind)i;
            return (kinds[i].from & from) != 0
                       ? ARCP_OK
                       : arcp__worker_invalid(err, kinds[i].name, "this side must not send it");
        }
    }
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "a message of an unknown type");
}

arcp_status arcp__worker_message_read(arcp__worker_reader *reader, arcp__worker_side from,
                                      arcp_span bytes, arcp__worker_message *out, arcp_error *err)
{
    const size_t head_most =
        bytes.size < ARCP__WORKER_HEAD_MAX + 1 ? bytes.size : ARCP__WORKER_HEAD_MAX + 1;
    const char *end = head_most == 0 ? NULL : memchr(bytes.data, '\n', head_most);
    if (end == NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "a message without a line feed");
    }
    const size_t head_size = (size_t)(end - bytes.data);
    arcp__worker_message message = {.body = arcp_span_from(bytes, head_size + 1)};
    void *to = &message.hello;
    arcp_buf_clear(&reader->scratch);
    reader->scratch.secret = true; /* the token, and names beside it */
    arcp_status status = arcp__worker_scan(&reader->json, arcp_span_first(bytes, head_size), err);
    if (status == ARCP_OK) {
        status = read_kind(&reader->json, from, &message.kind, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__decoder decoder = {
        .json = &reader->json, .scratch = &reader->scratch, .where = kinds[message.kind].name};
    status = arcp__decode(&decoder, ARCP_JSON_ROOT, &parts[message.kind].members, to, err);
    if (status == ARCP_OK) {
        status = arcp__worker_word_read(&reader->json, ARCP_JSON_ROOT, &parts[message.kind].words,
                                        decoder.where, to, err);
    }
    if (status == ARCP_OK) {
        status = read_raw(&reader->json, &parts[message.kind].raw, decoder.where, to, err);
    }
    if (status == ARCP_OK && message.kind == ARCP__WORKER_HELLO) {
        status = read_hello(reader, &message.hello, err);
    } else if (status == ARCP_OK && message.kind == ARCP__WORKER_KEPT) {
        status = read_open(reader, &message.kept, err);
    }
    if (status == ARCP_OK) {
        status = check_numbers(&message, err);
    }
    if (status == ARCP_OK) {
        status = check_body(reader, &message, err);
    }
    if (status == ARCP_OK && reader->scratch.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        *out = message;
    }
    return status;
}
