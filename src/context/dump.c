#include "context/dump.h"

#include <stdarg.h>
#include <stdio.h>

#include "json/json_put.h"

static const char *const kind_names[ARCP__DUMP_KIND_COUNT] = {
    [ARCP__DUMP_ENGINE] = "engine",
    [ARCP__DUMP_LOG] = "log",
    [ARCP__DUMP_BATCH] = "batch",
    [ARCP__DUMP_LINK] = "link",
    [ARCP__DUMP_SESSION] = "session",
    [ARCP__DUMP_REQUEST] = "request",
    [ARCP__DUMP_SUBSCRIPTION] = "subscription",
    [ARCP__DUMP_JOB] = "job",
    [ARCP__DUMP_WORKER] = "worker",
    [ARCP__DUMP_ADMISSION] = "admission",
    [ARCP__DUMP_CREDENTIAL] = "credential",
};

bool arcp__dump_begin(arcp__dump *dump, arcp__dump_kind kind, arcp_json_writer *writer)
{
    if (dump->counts[kind]++ >= dump->lines_max) {
        return false;
    }
    *writer = arcp__put_begin(dump->out);
    arcp__put_cstr(writer, "kind", kind_names[kind]);
    return true;
}

void arcp__dump_begin_waits(arcp_json_writer *writer)
{
    arcp__put_array(writer, "waits_for");
}

void arcp__dump_wait(arcp_json_writer *writer, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp_json_write_cstr(writer, text);
}

void arcp__dump_end(arcp__dump *dump, arcp_json_writer *writer)
{
    arcp_json_end_array(writer);
    arcp_json_end_object(writer);
    arcp_buf_append_byte(dump->out, '\n');
}

void arcp__dump_timer(const arcp__dump *dump, arcp_json_writer *writer, const char *name,
                      const arcp__timer *timer)
{
    if (timer->place != 0) {
        arcp__put_i64(writer, name, (timer->at_ns - dump->now.mono_ns) / ARCP_NS_PER_MS);
    }
}

void arcp__dump_totals(const arcp__dump *dump)
{
    arcp_json_writer writer = arcp__put_begin(dump->out);
    arcp__put_cstr(&writer, "kind", "totals");
    for (int part = 0; part < 2; part++) {
        arcp__put_object(&writer, part == 0 ? "found" : "left_out");
        for (size_t i = ARCP__DUMP_BATCH; i < ARCP__DUMP_KIND_COUNT; i++) {
            const size_t count = dump->counts[i];
            const size_t left_out = count > dump->lines_max ? count - dump->lines_max : 0;
            arcp__put_u64(&writer, kind_names[i], part == 0 ? count : left_out);
        }
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(dump->out, '\n');
}
