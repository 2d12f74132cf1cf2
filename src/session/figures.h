/* Figures of the last hour and day, for x-vendor.arcpd.figures and for sessions that watch them:
 * rings of samples of a second and of a minute, in memory, from the engine's start on.
 *
 * A second is closed by the first input after it, so nothing is done while nothing happens: a
 * second without a sample had no input. Private to src/session, but for the functions in
 * session.h. */
#ifndef ARCP_SESSION_FIGURES_H
#define ARCP_SESSION_FIGURES_H

#include "session/session_state.h"

typedef enum arcp__figures_range { ARCP__FIGURES_HOUR, ARCP__FIGURES_DAY } arcp__figures_range;

/* Appends {"range", "step_sec", "from", "since", "points", and a series of numbers for each
 * figure}, with steps as large as are needed for `bytes_max` bytes. */
void arcp__figures_write(const arcp__sessions *sessions, arcp__figures_range range,
                         size_t bytes_max, arcp_buf *out);
/* Appends the figures of the last second: {"at", and a number for each figure}. */
void arcp__figures_write_last(const arcp__sessions *sessions, arcp_buf *out);

#endif
