/* Renders the bytes sent to a terminal as a screen: carries out cursor movements and erasures, and
 * marks colours. */
#ifndef ARCP_TESTS_ARCP_TTY_SCREEN_H
#define ARCP_TESTS_ARCP_TTY_SCREEN_H

#include <arcp/buf.h>

/* Appends the rows of a terminal with this many columns, without trailing blanks; `{33}` marks the
 * start of a colour, `{0}` its end. A cursor below the last row is shown as "_". Fails the test for
 * an escape sequence that `arcp` does not use. */
void tty_render(arcp_span bytes, unsigned columns, arcp_buf *out);

#endif
