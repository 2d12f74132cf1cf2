#include "http/curl_loop.h"

#include "base/alloc.h"

typedef struct watch {
    uv_poll_t poll;
    arcp__curl_loop *loop;
    curl_socket_t socket;
} watch;

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
    const watch *watched = poll->data;
    const int flags = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                      (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0) |
                      (status < 0 ? CURL_CSELECT_ERR : 0);
    work(watched->loop, watched->socket, flags);
}

static void on_poll_closed(uv_handle_t *handle)
{
    watch *watched = handle->data;
    arcp__curl_loop *loop = watched->loop;
    arcp__free(watched);
    arcp__curl_loop_release(loop);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *socket_user)
{
    arcp__curl_loop *loop = user;
    watch *watched = socket_user;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched != NULL) {
            (void)uv_poll_stop(&watched->poll);
            uv_close((uv_handle_t *)&watched->poll, on_poll_closed);
            (void)curl_multi_assign(loop->multi, socket, NULL);
        }
        return 0;
    }
    if (watched == NULL) {
        watched = arcp__alloc(sizeof *watched);
        if (watched == NULL || uv_poll_init_socket(loop->loop, &watched->poll, socket) != 0) {
            arcp__free(watched);
            return -1;
        }
        watched->loop = loop;
        watched->socket = socket;
        watched->poll.data = watched;
        loop->open_handles++;
        (void)curl_multi_assign(loop->multi, socket, watched);
    }
    const int events =
        (what != CURL_POLL_OUT ? UV_READABLE : 0) | (what != CURL_POLL_IN ? UV_WRITABLE : 0);
    return uv_poll_start(&watched->poll, events, on_poll) == 0 ? 0 : -1;
}

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
