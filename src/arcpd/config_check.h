/* The configuration looked at as a whole, after the file and the flags and before anything is
 * opened: what no single key can say, and what would be refused halfway through a start. */
#ifndef ARCP_ARCPD_CONFIG_CHECK_H
#define ARCP_ARCPD_CONFIG_CHECK_H

#include "arcpd/config.h"

/* ARCP_E_USAGE names the key and what would be right. Reads the files of `tls` when there is a
 * wss:// to listen on; changes nothing. */
ARCP_MUST_CHECK arcp_status arcp__config_check(const arcp__config *config, arcp_error *err);

#endif
