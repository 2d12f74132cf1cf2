/* Keys of the configuration that are read at the start only: a reload leaves them as they are, and
 * says which of them have changed. */
#ifndef ARCP_ARCPD_CONFIG_RESTART_H
#define ARCP_ARCPD_CONFIG_RESTART_H

#include "arcpd/config.h"

/* Makes of `fresh`, as it was read, what can be in effect without a restart: what was opened at the
 * start stays that of `running` (which gets the other, to be freed), and no frame can be larger
 * than `frame_bytes_max`, the listeners' limit. Appends to `changes` the keys for which that makes
 * a difference, with both values but for secrets: `store (from "memory:" to null), ...`; nothing
 * when there are none. It has failed when memory ran out, and then all the same is done. */
void arcp__config_keep_started(arcp__config *fresh, arcp__config *running, uint64_t frame_bytes_max,
                               arcp_buf *changes);

#endif
