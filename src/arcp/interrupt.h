/* SIGINT and SIGWINCH. */
#ifndef ARCP_ARCP_INTERRUPT_H
#define ARCP_ARCP_INTERRUPT_H

#include <arcp/client.h>

/* From here on SIGINT is counted and interrupts the client's waits, instead of ending the
 * program; NULL ends that. */
void arcp__interrupt_watch(arcp_client *client);
/* How often SIGINT came. */
unsigned arcp__interrupt_count(void);
/* Whether the window's size has changed since the last call. */
bool arcp__interrupt_resized(void);

#endif
