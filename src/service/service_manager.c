/* The protocol of sd_notify(3): datagrams to the socket that NOTIFY_SOCKET names. */
#include "service/service_manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/digits.h"

enum { WATCHDOG_TURNS = 2 /* reports in each period, as sd_watchdog_enabled(3) recommends */ };

static void send_text(const arcp__service_manager *manager, const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t size = strlen(manager->socket);
    if (size == 0) {
        return;
    }
    memcpy(address.sun_path, manager->socket, size);
    if (manager->socket[0] == '@') {
        address.sun_path[0] = '\0'; /* an abstract socket */
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        /* Nothing can be done when the service manager does not read: it notices that itself. */
        (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
        (void)close(fd);
    }
}

/* 0: this process has no watchdog. */
static uint64_t read_watchdog_us(void)
{
    const char *period = getenv("WATCHDOG_USEC");
    const char *process = getenv("WATCHDOG_PID");
    uint64_t number = 0;
    if (process != NULL &&
        (!arcp__digits_parse(arcp_span_cstr(process), &number) || number != (uint64_t)getpid())) {
        return 0;
    }
    return period != NULL && arcp__digits_parse(arcp_span_cstr(period), &number) ? number : 0;
}

void arcp__service_manager_find(arcp__service_manager *manager)
{
    const char *name = getenv("NOTIFY_SOCKET");
    *manager = (arcp__service_manager){.socket = ""};
    if (name != NULL && (name[0] == '/' || name[0] == '@') &&
        strlen(name) < sizeof manager->socket) {
        memcpy(manager->socket, name, strlen(name) + 1);
        manager->watchdog_us = read_watchdog_us();
    }
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

static void on_watchdog(uv_timer_t *timer)
{
    send_text(timer->data, "WATCHDOG=1");
}

void arcp__service_manager_ready(arcp__service_manager *manager, uv_loop_t *loop)
{
    send_text(manager, "READY=1");
    if (manager->watchdog_us != 0 && !manager->has_timer &&
        uv_timer_init(loop, &manager->timer) == 0) {
        const uint64_t ms = manager->watchdog_us / 1000 / WATCHDOG_TURNS;
        manager->has_timer = true;
        manager->timer.data = manager;
        uv_unref((uv_handle_t *)&manager->timer);
        (void)uv_timer_start(&manager->timer, on_watchdog, 0, ms == 0 ? 1 : ms);
    }
}

void arcp__service_manager_reloading(const arcp__service_manager *manager)
{
    char text[64];
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    send_text(manager, text);
}

void arcp__service_manager_stopping(const arcp__service_manager *manager)
{
    send_text(manager, "STOPPING=1");
}

void arcp__service_manager_close(arcp__service_manager *manager)
{
    if (manager->has_timer) {
        manager->has_timer = false;
        uv_close((uv_handle_t *)&manager->timer, NULL);
    }
}
