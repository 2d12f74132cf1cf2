/* `arcp ui`: a link that signs a browser in. The code is in its fragment, which browsers put into
 * no request. */
#include <stdio.h>
#include <string.h>

#include "arcp/command.h"
#include "arcp/operator.h"
#include "file/private_file.h"
#include "transport/url.h"
#include "json/json_put.h"

#define SOCKET_NAME    "arcpd.sock"
#define ADDRESS_MAX    4096u
#define CODE_VALID_SEC 60u

/* The arcpd at this socket has written the page's addresses beside it. */
static arcp_status read_address(arcp_span socket, arcp_buf *out, arcp_error *err)
{
    char path[4096];
    const size_t directory =
        socket.size > strlen(SOCKET_NAME) ? socket.size - strlen(SOCKET_NAME) : 0;
    const int size = snprintf(path, sizeof path, "%.*spage", (int)directory, socket.data);
    const arcp__private_file file = {
        .what = "the file with the dashboard's address", .path = path, .bytes_max = ADDRESS_MAX};
    if (size < 0 || size >= (int)sizeof path) {
        return arcp_error_set(err, ARCP_E_USAGE, "the path of the socket is too long");
    }
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__private_file_read(&file, &text, err);
    const char *end = text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
    if (status == ARCP_OK && end != NULL) {
        arcp__append_safe(out, arcp_span_make(text.data, (size_t)(end - text.data)), ADDRESS_MAX);
    } else if (status == ARCP_OK || status == ARCP_E_NOT_FOUND) {
        status = arcp_error_set(err, ARCP_E_NOT_FOUND,
                                "this arcpd serves no dashboard (see dashboard: in arcpd.yaml)");
    }
    arcp_buf_fini(&text);
    return status;
}

/* Appends the address of the page of a runtime. */
static arcp_status append_address(const char *text, arcp_buf *out, arcp_error *err)
{
    arcp__url url;
    char where[ARCP__HOST_MAX + 16];
    const arcp_status status = arcp__url_parse(arcp_span_cstr(text), &url, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (url.scheme == ARCP__URL_UNIX) {
        return read_address(url.rest, out, err);
    }
    if (url.scheme != ARCP__URL_WS && url.scheme != ARCP__URL_WSS) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s has no dashboard: a runtime at ws://, wss:// or unix: is needed",
                              text);
    }
    /* The listener leads from / to the page, wherever that is; a browser keeps the fragment. */
    arcp__authority_format(&url.authority, where, sizeof where);
    arcp_buf_append_format(out, "%s://%s/", url.scheme == ARCP__URL_WSS ? "https" : "http", where);
    return ARCP_OK;
}

static int print(arcp__program *program, arcp_buf *link)
{
    arcp_buf line = arcp_buf_secret_init();
    if (program->is_json) {
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__put_string(&writer, "url", arcp_buf_span(link));
        arcp__put_u64(&writer, "valid_sec", CODE_VALID_SEC);
        arcp_json_end_object(&writer);
    } else {
        arcp_buf_append(&line, arcp_buf_span(link));
    }
    line.failed = line.failed || link->failed;
    if (!arcp__program_print_buf_line(program, &line)) {
        return ARCP__EXIT_ERROR;
    }
    if (!program->is_json && !program->is_quiet) {
        arcp__screen_format(&program->screen, "open it within %u s; it signs in one browser, once",
                            CODE_VALID_SEC);
    }
    return ARCP__EXIT_SUCCESS;
}

static int make_link(arcp__program *program, arcp_client *client, void *user)
{
    arcp_error err = {.details = &program->error_details};
    arcp__asked asked;
    arcp_buf link = arcp_buf_secret_init();
    (void)user;
    arcp_status status = append_address(program->target.url, &link, &err);
    if (status != ARCP_OK) {
        arcp_buf_fini(&link);
        return arcp__program_fail(program, &err);
    }
    status = arcp__ask(client, "page", ARCP_SPAN_LITERAL(""), &asked, &err);
    int exit_status = ARCP__EXIT_SUCCESS;
    if (status == ARCP_OK) {
        arcp_buf_append_cstr(&link, "#code=");
        arcp_buf_append(&link, arcp__asked_text(&asked, ARCP_JSON_ROOT, "code"));
        exit_status = print(program, &link);
    } else {
        exit_status = arcp__program_fail(program, &err);
    }
    if (asked.text.size != 0) {
        arcp_wipe(asked.text.data, asked.text.size);
    }
    arcp_buf_fini(&link);
    arcp__asked_fini(&asked);
    return exit_status;
}

int arcp__command_ui(arcp__program *program)
{
    return arcp__program_request(program, make_link, NULL);
}
