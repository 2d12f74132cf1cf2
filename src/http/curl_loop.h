/* libcurl's multi interface on libuv: curl requests events of sockets and a timer, and libuv
 * delivers them. Everything runs on the loop's thread. Private to this folder. */
#ifndef ARCP_HTTP_CURL_LOOP_H
#define ARCP_HTTP_CURL_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>
#include <uv.h>

#include <arcp/error.h>

typedef struct arcp__curl_loop {
    uv_loop_t *loop;
    uv_timer_t timer;
    CURLM *multi;
    struct arcp__curl_watch *connections; /* by socket; curl has closed none of them */
    size_t open_handles;                  /* of libuv: the owner may add its own */
    bool is_closing;
    bool is_inside;             /* curl is working, and calls the functions that it was given */
    void (*turned)(void *user); /* curl has worked: transfers may have ended */
    void (*closed)(void *user); /* all handles are closed: the memory may be freed */
    void *user;
} arcp__curl_loop;

/* Begins with one open handle. ARCP_E_NO_MEMORY: the caller still closes it. The members `loop`,
 * `turned`, `closed` and `user` are set. */
ARCP_MUST_CHECK arcp_status arcp__curl_loop_init(arcp__curl_loop *loop, arcp_error *err);

/* Not while curl works. No transfer is left. */
void arcp__curl_loop_close(arcp__curl_loop *loop);

/* An open handle was closed. The loop's memory may be freed by this. */
void arcp__curl_loop_release(arcp__curl_loop *loop);

/* Opens the socket of a connection for curl, as its function for it does. The loop goes on to watch
 * such a socket while curl keeps the connection without a transfer, so that the next one need not
 * register it again. */
curl_socket_t arcp__curl_loop_connection(arcp__curl_loop *loop,
                                         const struct curl_sockaddr *address);

/* Closes such a socket; curl's function for it, whose `user` is the loop. */
int arcp__curl_loop_disconnect(void *user, curl_socket_t socket);

#endif
