/* How many file descriptors there may be: arcpd takes what the system allows, its agents get what
 * arcpd was started with. */
#ifndef ARCP_ARCPD_DESCRIPTORS_H
#define ARCP_ARCPD_DESCRIPTORS_H

#include <arcp/sys/launcher.h>

/* Raises the soft limit to the hard one; what it was goes to *started_with. */
void arcp__descriptors_raise(arcp_launch_limit *started_with);

#endif
