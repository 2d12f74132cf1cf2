#include "arcpd/arcpd.h"

#include <stdio.h>
#include <string.h>

/* Runs on the loop's thread. */
static void on_notice(uv_async_t *async)
{
    arcp__notice *notice = async->data;
    char why[sizeof notice->why];
    (void)pthread_mutex_lock(&notice->lock);
    const bool fails = notice->fails;
    memcpy(why, notice->why, sizeof why);
    (void)pthread_mutex_unlock(&notice->lock);
    notice->changed(notice->user, fails ? why : NULL);
}

arcp_status arcp__notice_open(arcp__notice *notice, uv_loop_t *loop, const char *of,
                              void (*changed)(void *user, const char *why), void *user,
                              arcp_error *err)
{
    if (uv_async_init(loop, &notice->async, on_notice) != 0) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot create a loop handle for %s", of);
    }
    uv_unref((uv_handle_t *)&notice->async);
    notice->async.data = notice;
    notice->changed = changed;
    notice->user = user;
    (void)pthread_mutex_init(&notice->lock, NULL);
    return ARCP_OK;
}

void arcp__notice_send(void *user, const char *why)
{
    arcp__notice *notice = user;
    (void)pthread_mutex_lock(&notice->lock);
    notice->fails = why != NULL;
    (void)snprintf(notice->why, sizeof notice->why, "%s", why == NULL ? "" : why);
    (void)pthread_mutex_unlock(&notice->lock);
    (void)uv_async_send(&notice->async);
}

void arcp__notice_close(arcp__notice *notice)
{
    (void)pthread_mutex_destroy(&notice->lock);
    uv_close((uv_handle_t *)&notice->async, NULL);
}
