#include "mcp/mcp_fixture.h"

static bool on_decided(void *user, const arcp_decision *decision)
{
    mcp_fixture *f = user;
    arcp_buf_append_byte(&f->decided, decision->allowed ? '+' : '-');
    arcp_buf_append(&f->decided, decision->target);
    arcp_buf_append_byte(&f->decided, ' ');
    return !f->cannot_record;
}

static void on_listed(void *user, size_t shown, size_t hidden)
{
    mcp_fixture *f = user;
    f->shown = shown;
    f->hidden = hidden;
}

static void on_dropped(void *user, arcp__mcp_side from, const char *why, arcp_span line)
{
    mcp_fixture *f = user;
    arcp_buf_append_format(&f->dropped, "%s: %s; ", from == ARCP__MCP_CLIENT ? "client" : "server",
                           why);
}

const arcp_time mcp_begun = {INT64_C(1790000000000000000), 1};

void mcp_scan(arcp_json *json, const char *text)
{
    static const arcp_json_limits limits = {128, 100000, SIZE_MAX};
    arcp_error err = {0};
    check_ok(arcp_json_scan(json, arcp_span_cstr(text), &limits, &err), &err);
}

arcp_authority *mcp_authority(const char *lease, const char *constraints)
{
    arcp_authority_options options = arcp_authority_options_init();
    arcp_lease *parsed = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    options.now = mcp_begun;
    check_ok(
        arcp_lease_parse(arcp_span_cstr(lease), arcp_span_cstr(constraints), NULL, &parsed, &err),
        &err);
    check_ok(arcp_authority_new(parsed, &options, &authority, &err), &err);
    arcp_lease_unref(parsed);
    return authority;
}

arcp_status mcp_begin(mcp_fixture *f, const arcp_authority *authority, const char *name,
                      arcp_error *err)
{
    *f = (mcp_fixture){.now = mcp_begun};
    const arcp__mcp_filter_options filter = {
        .authority = authority,
        .name = arcp_span_cstr(name),
        .output = &f->output,
        .events = {on_decided, on_listed, on_dropped, f},
    };
    return arcp__mcp_filter_new(&filter, &f->filter, err);
}

void mcp_end(mcp_fixture *f)
{
    arcp__mcp_filter_free(f->filter);
    arcp_buf_fini(&f->output.to_client);
    arcp_buf_fini(&f->output.to_server);
    arcp_buf_fini(&f->decided);
    arcp_buf_fini(&f->dropped);
}

void mcp_start(mcp_fixture *f, const char *lease, const char *constraints, const char *name)
{
    arcp_error err = {0};
    arcp_authority *authority = mcp_authority(lease, constraints);
    check_ok(mcp_begin(f, authority, name, &err), &err);
    arcp_authority_unref(authority);
}

void mcp_client(mcp_fixture *f, const char *line)
{
    arcp_error err = {0};
    check_ok(arcp__mcp_filter_take_client(f->filter, f->now, arcp_span_cstr(line), &err), &err);
}

void mcp_server(mcp_fixture *f, const char *line)
{
    arcp_error err = {0};
    check_ok(arcp__mcp_filter_take_server(f->filter, f->now, arcp_span_cstr(line), &err), &err);
}

void mcp_check_sent(mcp_fixture *f, const char *to_server, const char *to_client)
{
    check_span(arcp_buf_span(&f->output.to_server), to_server);
    check_span(arcp_buf_span(&f->output.to_client), to_client);
    arcp_buf_clear(&f->output.to_server);
    arcp_buf_clear(&f->output.to_client);
}
