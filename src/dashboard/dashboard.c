#include "dashboard/dashboard.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "dashboard/files.h"
#include "web/head.h"

#define HASH_MARK   "@HASH@"
#define SOCKET_MARK "@SOCKET@"

struct arcp__dashboard {
    char *path;
    char *prefix; /* of the files: PATH/HASH/ */
    char *etag;   /* of the page */
    arcp_buf index;
};

bool arcp__dashboard_is_path(const char *path)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-/";
    const size_t size = strlen(path);
    return size > 1 && path[0] == '/' && path[size - 1] == '/' && strstr(path, "//") == NULL &&
           strspn(path, allowed) == size;
}

/* Appends the page, with the names of its files and of the WebSocket in place of their marks. */
static void write_index(const arcp__dashboard_file *file, const char *socket_path, arcp_buf *out)
{
    const char *at = file->data;
    while (at < file->end) {
        const size_t left = (size_t)(file->end - at);
        const char *mark = memchr(at, '@', left);
        mark = mark == NULL ? file->end : mark;
        arcp_buf_append(out, (arcp_span){at, (size_t)(mark - at)});
        const size_t rest = (size_t)(file->end - mark);
        if (rest >= strlen(HASH_MARK) && memcmp(mark, HASH_MARK, strlen(HASH_MARK)) == 0) {
            arcp_buf_append_cstr(out, arcp__dashboard_hash);
            at = mark + strlen(HASH_MARK);
        } else if (rest >= strlen(SOCKET_MARK) &&
                   memcmp(mark, SOCKET_MARK, strlen(SOCKET_MARK)) == 0) {
            arcp_buf_append_cstr(out, socket_path);
            at = mark + strlen(SOCKET_MARK);
        } else {
            arcp_buf_append(out, (arcp_span){mark, rest == 0 ? 0 : 1});
            at = mark + 1;
        }
    }
}

static char *join(const char *first, const char *second, const char *third)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%s%s%s", first, second, third);
    return arcp_buf_take_cstr(&text);
}

arcp_status arcp__dashboard_new(const char *path, const char *socket_path, arcp__dashboard **out,
                                arcp_error *err)
{
    if (!arcp__dashboard_is_path(path)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%s\" must begin and end with '/', and have letters, digits, '-' "
                              "and '/' only",
                              path);
    }
    arcp__dashboard *dashboard = arcp__alloc(sizeof *dashboard);
    if (dashboard == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the dashboard");
    }
    dashboard->path = join(path, "", "");
    dashboard->prefix = join(path, arcp__dashboard_hash, "/");
    dashboard->etag = join(arcp__dashboard_hash, "-", socket_path);
    dashboard->index = arcp_buf_init();
    write_index(&arcp__dashboard_files[0], socket_path, &dashboard->index);
    if (dashboard->path == NULL || dashboard->prefix == NULL || dashboard->etag == NULL ||
        dashboard->index.failed) {
        arcp__dashboard_free(dashboard);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the dashboard");
    }
    *out = dashboard;
    return ARCP_OK;
}

void arcp__dashboard_free(arcp__dashboard *dashboard)
{
    if (dashboard != NULL) {
        arcp__free(dashboard->path);
        arcp__free(dashboard->prefix);
        arcp__free(dashboard->etag);
        arcp_buf_fini(&dashboard->index);
        arcp__free(dashboard);
    }
}

/* ---- responses ---- */

/* What a browser may do with anything from here. The page loads its own scripts and styles only,
 * talks to this listener only, and is shown in no other page. */
static void append_policy(const arcp_page_request *request, arcp_buf *out)
{
    arcp_buf_append_format(
        out,
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; font-src 'self'; connect-src 'self' %s://%.*s; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'\r\n" ARCP__WEB_ISOLATION_HEADERS,
        request->is_encrypted ? "wss" : "ws", (int)request->host.size, request->host.data);
}

static void serve_index(const arcp__dashboard *dashboard, const arcp_page_request *request,
                        arcp_page *out)
{
    char etag[512];
    (void)snprintf(etag, sizeof etag, "\"%s\"", dashboard->etag);
    arcp_buf_append_format(out->headers, "Cache-Control: no-cache\r\nETag: %s\r\n", etag);
    out->type = "text/html; charset=utf-8";
    if (arcp__web_list_has(request->if_none_match, arcp_span_cstr(etag))) {
        out->status = 304;
        return;
    }
    out->status = 200;
    out->body = arcp_buf_span(&dashboard->index);
}

static void serve_file(const arcp__dashboard_file *file, const arcp_page_request *request,
                       arcp_page *out)
{
    const bool is_gzip = arcp__web_list_has(request->accept_encoding, ARCP_SPAN_LITERAL("gzip"));
    const char *data = is_gzip ? file->gzip : file->data;
    const char *end = is_gzip ? file->gzip_end : file->end;
    arcp_buf_append_format(out->headers,
                           "Cache-Control: public, max-age=31536000, immutable\r\n"
                           "Vary: Accept-Encoding\r\n%s",
                           is_gzip ? "Content-Encoding: gzip\r\n" : "");
    out->status = 200;
    out->type = file->type;
    out->body = (arcp_span){data, (size_t)(end - data)};
}

bool arcp__dashboard_page(void *page_user, const arcp_page_request *request, arcp_page *out)
{
    const arcp__dashboard *dashboard = page_user;
    const size_t prefix = strlen(dashboard->prefix);
    const size_t path = strlen(dashboard->path);
    append_policy(request, out->headers);
    if (arcp_span_equal_cstr(request->path, dashboard->path)) {
        serve_index(dashboard, request, out);
        return true;
    }
    if (arcp_span_equal_cstr(request->path, "/") ||
        arcp_span_equal(request->path, (arcp_span){dashboard->path, path - 1})) {
        arcp_buf_append_format(out->headers, "Location: %s\r\nCache-Control: no-store\r\n",
                               dashboard->path);
        out->status = 302;
        return true;
    }
    if (request->path.size <= prefix ||
        memcmp(request->path.data, dashboard->prefix, prefix) != 0) {
        return false;
    }
    const arcp_span name = {request->path.data + prefix, request->path.size - prefix};
    for (size_t i = 1; i < arcp__dashboard_file_count; i++) {
        if (arcp_span_equal_cstr(name, arcp__dashboard_files[i].name)) {
            serve_file(&arcp__dashboard_files[i], request, out);
            return true;
        }
    }
    return false;
}
