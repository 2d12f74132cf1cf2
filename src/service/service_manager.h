/* Reports to a service manager: the protocol of systemd's sd_notify(3). */
#ifndef ARCP_SERVICE_SERVICE_MANAGER_H
#define ARCP_SERVICE_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Where the service manager listens. On the loop's thread. */
typedef struct arcp__service_manager {
    char socket[108];     /* as in sockaddr_un, with '@' for the NUL of an abstract one; "": none */
    uint64_t watchdog_us; /* a report is due in each such period; 0: none is */
    uv_timer_t timer;
    bool has_timer;
} arcp__service_manager;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, so
 * that no child speaks for this program. */
void arcp__service_manager_find(arcp__service_manager *manager);
/* The program serves; also after a reload. The first call starts the reports to the watchdog: the
 * loop sends them, so that a loop that hangs is noticed. They do not keep it alive. */
void arcp__service_manager_ready(arcp__service_manager *manager, uv_loop_t *loop);
void arcp__service_manager_reloading(const arcp__service_manager *manager);
void arcp__service_manager_stopping(const arcp__service_manager *manager);
/* Ends the reports; the loop has to run once more. */
void arcp__service_manager_close(arcp__service_manager *manager);

#endif
