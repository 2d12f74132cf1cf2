#include "http/curl_loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"

/* A socket that curl requests events of, or the kept connection of no transfer. */
typedef struct arcp__curl_watch {
    UT_hash_handle hh; /* of a connection: in the loop's table */
    uv_poll_t poll;
    arcp__curl_loop *loop;
    curl_socket_t socket;
    int events;         /* that are requested from libuv; 0: none */
    bool is_connection; /* it was opened by arcp__curl_loop_connection */
    bool is_kept;       /* no transfer uses it */
} arcp__curl_watch;

void arcp__curl_loop_release(arcp__curl_loop *loop)
{
    if (--loop->open_handles == 0 && loop->is_closing) {
        loop->closed(loop->user);
    }
}

static void work(arcp__curl_loop *loop, curl_socket_t socket, int flags)
{
    int running = 0;
    loop->is_inside = true;
    (void)curl_multi_socket_action(loop->multi, socket, flags, &running);
    loop->is_inside = false;
    loop->turned(loop->user);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    arcp__curl_watch *watch = poll->data;
    const int flags = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                      (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0) |
                      (status < 0 ? CURL_CSELECT_ERR : 0);
    if (watch->is_kept) {
        /* Its peer has closed it, most likely. Curl looks at it before it uses it. */
        (void)uv_poll_stop(&watch->poll);
        watch->events = 0;
        return;
    }
    work(watch->loop, watch->socket, flags);
}

static void on_poll_closed(uv_handle_t *handle)
{
    arcp__curl_watch *watch = handle->data;
    arcp__curl_loop *loop = watch->loop;
    arcp__free(watch);
    arcp__curl_loop_release(loop);
}

/* The socket may be closed afterwards. */
static void unwatch(arcp__curl_watch *watch)
{
    (void)uv_poll_stop(&watch->poll);
    uv_close((uv_handle_t *)&watch->poll, on_poll_closed);
}

static arcp__curl_watch *watch_new(arcp__curl_loop *loop, curl_socket_t socket)
{
    arcp__curl_watch *watch = arcp__alloc(sizeof *watch);
    if (watch == NULL || uv_poll_init_socket(loop->loop, &watch->poll, socket) != 0) {
        arcp__free(watch);
        return NULL;
    }
    watch->loop = loop;
    watch->socket = socket;
    watch->poll.data = watch;
    loop->open_handles++;
    return watch;
}

static bool request_events(arcp__curl_watch *watch, int events)
{
    if (watch->events != events) {
        watch->events = events;
        return uv_poll_start(&watch->poll, events, on_poll) == 0;
    }
    return true;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *socket_user)
{
    arcp__curl_loop *loop = user;
    arcp__curl_watch *watch = socket_user;
    (void)easy;
    if (watch == NULL) { /* curl forgets those that it keeps, too */
        HASH_FIND(hh, loop->connections, &socket, sizeof socket, watch);
    }
    if (what == CURL_POLL_REMOVE) {
        if (watch != NULL && watch->is_connection) {
            watch->is_kept = true;
            return request_events(watch, UV_READABLE) ? 0 : -1;
        }
        if (watch != NULL) {
            unwatch(watch);
        }
        return 0;
    }
    if (watch == NULL) {
        watch = watch_new(loop, socket);
        if (watch == NULL) {
            return -1;
        }
    }
    (void)curl_multi_assign(loop->multi, socket, watch);
    watch->is_kept = false;
    const int events =
        (what != CURL_POLL_OUT ? UV_READABLE : 0) | (what != CURL_POLL_IN ? UV_WRITABLE : 0);
    return request_events(watch, events) ? 0 : -1;
}

/* ---- connections ---- */

curl_socket_t arcp__curl_loop_connection(arcp__curl_loop *loop, const struct curl_sockaddr *address)
{
    const curl_socket_t fd =
        socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    arcp__curl_watch *watch = fd == CURL_SOCKET_BAD ? NULL : watch_new(loop, fd);
    if (watch == NULL) {
        if (fd != CURL_SOCKET_BAD) {
            (void)close(fd);
        }
        return CURL_SOCKET_BAD;
    }
    watch->is_connection = true;
    HASH_ADD(hh, loop->connections, socket, sizeof watch->socket, watch);
    if (!ARCP__HASH_ADDED(watch)) {
        unwatch(watch);
        (void)close(fd);
        return CURL_SOCKET_BAD;
    }
    return fd;
}

int arcp__curl_loop_disconnect(void *user, curl_socket_t socket)
{
    arcp__curl_loop *loop = user;
    arcp__curl_watch *watch = NULL;
    HASH_FIND(hh, loop->connections, &socket, sizeof socket, watch);
    if (watch != NULL) {
        HASH_DELETE(hh, loop->connections, watch);
        unwatch(watch);
    }
    return close(socket);
}

/* ---- the timer ---- */

static void on_time(uv_timer_t *timer)
{
    work(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    arcp__curl_loop *loop = user;
    (void)multi;
    if (timeout_ms < 0) {
        return uv_timer_stop(&loop->timer);
    }
    /* Even a timeout of 0 fires in the next turn of the loop, not during this call. */
    return uv_timer_start(&loop->timer, on_time, (uint64_t)timeout_ms, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__curl_loop_release(handle->data);
}

void arcp__curl_loop_close(arcp__curl_loop *loop)
{
    loop->is_closing = true;
    if (loop->multi != NULL) {
        (void)curl_multi_cleanup(loop->multi);
        loop->multi = NULL;
    }
    curl_global_cleanup();
    uv_close((uv_handle_t *)&loop->timer, on_timer_closed);
}

arcp_status arcp__curl_loop_init(arcp__curl_loop *loop, arcp_error *err)
{
    const bool has_library = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    (void)uv_timer_init(loop->loop, &loop->timer);
    loop->timer.data = loop;
    loop->open_handles = 1;
    loop->multi = has_library ? curl_multi_init() : NULL;
    const bool good =
        loop->multi != NULL &&
        curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
        curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop) == CURLM_OK &&
        curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
        curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop) == CURLM_OK;
    return good ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}
