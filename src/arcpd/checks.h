/* What arcpd does instead of running: --check-config and --check-store. */
#ifndef ARCP_ARCPD_CHECKS_H
#define ARCP_ARCPD_CHECKS_H

#include "arcpd/config.h"

/* Prints the configuration. */
ARCP_MUST_CHECK arcp_status arcp__check_config(const arcp__config *config, arcp_error *err);

/* Prints a line for each damage of the store, or one that says what was found whole.
 * ARCP_E_CORRUPT: there was damage. ARCP_E_EXISTS while a process has the store, ARCP_E_USAGE when
 * none is kept, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__check_store(const arcp__config *config, arcp_error *err);

#endif
