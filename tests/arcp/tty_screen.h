/* What a person sees on a terminal, from the bytes that were sent to it: cursor movements and
 * erasures are carried out, colours become marks. */
#ifndef ARCP_TESTS_ARCP_TTY_SCREEN_H
#define ARCP_TESTS_ARCP_TTY_SCREEN_H

#include <arcp/buf.h>

/* Appends the rows of a terminal so many columns wide, without blanks at their ends; `{33}` is
 * where a colour begins, `{0}` where it ends. A cursor below the last row is shown as "_". Fails
 * the test for an escape sequence that `arcp` has no reason to send. */
void tty_render(arcp_span bytes, unsigned columns, arcp_buf *out);

#endif
