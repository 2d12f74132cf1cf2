/* What `arcpd --help` prints. */
#ifndef ARCP_ARCPD_HELP_H
#define ARCP_ARCPD_HELP_H

extern const char arcp__arcpd_help[];

#endif
