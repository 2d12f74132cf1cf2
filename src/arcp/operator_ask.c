#include "arcp/operator.h"

#include <stdio.h>

arcp_status arcp__ask(arcp_client *client, const char *name, arcp_span payload, arcp__asked *out,
                      arcp_error *err)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    *out = (arcp__asked){.json = ARCP__JSON_INIT};
    const arcp_status status =
        arcp_client_view(client, name, payload, ARCP_WAIT_DEFAULT, &out->text, err);
    return status == ARCP_OK ? arcp_json_scan(&out->json, arcp_buf_span(&out->text), &limits, err)
                             : status;
}

arcp_status arcp__ask_buf(arcp_client *client, const char *name, const arcp_buf *payload,
                          arcp__asked *out, arcp_error *err)
{
    *out = (arcp__asked){.json = ARCP__JSON_INIT};
    return payload->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                           : arcp__ask(client, name, arcp_buf_span(payload), out, err);
}

void arcp__asked_fini(arcp__asked *asked)
{
    arcp__json_fini(&asked->json);
    arcp_buf_fini(&asked->text);
}

arcp_span arcp__asked_text(const arcp__asked *asked, arcp_json_ref object, const char *name)
{
    const arcp_json_ref value = arcp_json_member(&asked->json, object, arcp_span_cstr(name));
    const arcp_span raw = arcp_json_raw(&asked->json, value);
    return arcp_json_is(&asked->json, value, ARCP_JSON_STRING)
               ? arcp_span_first(arcp_span_from(raw, 1), raw.size - 2)
               : ARCP_SPAN_LITERAL("");
}

void arcp__asked_append(const arcp__asked *asked, arcp_json_ref object, const char *name,
                        size_t bytes_max, arcp_buf *out)
{
    arcp_buf room = arcp_buf_init();
    const arcp_json_ref value = arcp_json_member(&asked->json, object, arcp_span_cstr(name));
    arcp__append_safe(out, arcp_json_string(&asked->json, value, &room), bytes_max);
    out->failed = out->failed || room.failed;
    arcp_buf_fini(&room);
}

bool arcp__asked_number(const arcp__asked *asked, arcp_json_ref object, const char *name,
                        uint64_t *out)
{
    return arcp_json_u64(&asked->json, arcp_json_member(&asked->json, object, arcp_span_cstr(name)),
                         out);
}

/* Calls `each` for the rows of a page; false: that was enough. */
static bool read_page(arcp__asked *page, const char *rows,
                      bool (*each)(void *user, arcp__asked *page, arcp_json_ref row), void *user)
{
    const arcp_json_ref list = arcp_json_member(&page->json, ARCP_JSON_ROOT, arcp_span_cstr(rows));
    for (arcp_json_ref row = arcp_json_first(&page->json, list); row != ARCP_JSON_ABSENT;
         row = arcp_json_next(&page->json, list, row)) {
        if (!each(user, page, row)) {
            return false;
        }
    }
    return true;
}

arcp_status arcp__ask_pages(arcp_client *client, const char *name, const char *payload,
                            const char *rows,
                            bool (*each)(void *user, arcp__asked *page, arcp_json_ref row),
                            void *user, arcp_error *err)
{
    return arcp__ask_pages_from(client, name, payload, "", rows, each, user, err);
}

arcp_status arcp__ask_pages_from(arcp_client *client, const char *name, const char *payload,
                                 const char *from, const char *rows,
                                 bool (*each)(void *user, arcp__asked *page, arcp_json_ref row),
                                 void *user, arcp_error *err)
{
    arcp_buf cursor = arcp_buf_init();
    arcp_status status = ARCP_OK;
    bool is_more = true;
    if (from[0] != '\0') {
        arcp_json_quote(arcp_span_cstr(from), &cursor);
    }
    while (status == ARCP_OK && is_more) {
        arcp_buf request = arcp_buf_init();
        arcp__asked page;
        arcp_buf_append_cstr(&request, payload);
        arcp_buf_append_format(&request, "%s\"limit\":500", payload[1] == '\0' ? "" : ",");
        if (cursor.size != 0) {
            arcp_buf_append_cstr(&request, ",\"cursor\":");
            arcp_buf_append(&request, arcp_buf_span(&cursor));
        }
        arcp_buf_append_byte(&request, '}');
        status = arcp__ask_buf(client, name, &request, &page, err);
        if (status == ARCP_OK && page.json.nodes != NULL) { /* it was scanned */
            const arcp_json_ref next =
                arcp_json_member(&page.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("next_cursor"));
            is_more = read_page(&page, rows, each, user) &&
                      arcp_json_is(&page.json, next, ARCP_JSON_STRING);
            arcp_buf_clear(&cursor);
            arcp_buf_append(&cursor, arcp_json_raw(&page.json, next));
        }
        arcp__asked_fini(&page);
        arcp_buf_fini(&request);
    }
    arcp_buf_fini(&cursor);
    return status;
}

/* The payload of a response without the members that name the request. */
static void append_payload(const arcp_json *json, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    for (arcp_json_ref at = arcp_json_first(json, ARCP_JSON_ROOT); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, ARCP_JSON_ROOT, at)) {
        arcp_buf room = arcp_buf_init();
        const arcp_span name = arcp_json_string(json, at, &room);
        if (!arcp_span_equal_cstr(name, "request_id") && !arcp_span_equal_cstr(name, "reply_to")) {
            arcp_json_name_span(&writer, name);
            arcp_json_write_raw(&writer, arcp_json_raw(json, at + 1));
        }
        out->failed = out->failed || room.failed;
        arcp_buf_fini(&room);
    }
    arcp_json_end_object(&writer);
}

bool arcp__print_asked(arcp__program *program, arcp__format format, const arcp__asked *asked,
                       arcp_json_ref object)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    const bool is_item = object != ARCP_JSON_ROOT;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    if (is_item) {
        arcp_buf_append(&text, arcp_json_raw(&asked->json, object));
    } else {
        append_payload(&asked->json, &text);
    }
    if (format != ARCP__FORMAT_YAML) {
        return arcp__program_print_buf_line(program, &text);
    }
    arcp_buf yaml = arcp_buf_init();
    yaml.failed =
        text.failed || arcp_json_scan(&json, arcp_buf_span(&text), &limits, NULL) != ARCP_OK;
    arcp__append_yaml(&json, is_item, &yaml);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return arcp__program_print_buf(program, &yaml);
}

bool arcp__print_asked_row(arcp__program *program, arcp__format format, const arcp__asked *asked,
                           arcp_json_ref row, const char *name)
{
    if (format != ARCP__FORMAT_NAME) {
        return arcp__print_asked(program, format, asked, row);
    }
    arcp_buf line = arcp_buf_init();
    arcp__append_safe(&line, arcp__asked_text(asked, row, name), 256);
    return arcp__program_print_buf_line(program, &line);
}

int arcp__command_listing(arcp__program *program, enum arcp__option output,
                          arcp_status (*check_words)(const arcp__arguments *arguments,
                                                     arcp_error *err),
                          arcp__program_request_fn request)
{
    arcp__listing l = {
        .program = program, .now_wall_ns = arcp__now_wall_ns(), .columns = arcp__output_columns()};
    arcp_error err = {0};
    arcp_status status = check_words == NULL ? ARCP_OK : check_words(&program->arguments, &err);
    if (status == ARCP_OK) {
        status = arcp__format_read(program, output, &l.format, &err);
    }
    return status == ARCP_OK ? arcp__program_request(program, request, &l)
                             : arcp__program_usage(program, &err);
}
