/* The program arcp-escape: acts that a sandbox must deny, one per name.
 *
 *   arcp-escape NAME [ARG]...
 *
 * Exit status 0: the act was done. 1: it was denied; standard output has the errno. 77: this host
 * cannot do it, confined or not; standard output says why. 64: wrong usage. What an act read goes
 * to standard output, where the runner looks for the text that only the host's files have. */
#ifndef ARCP_TESTS_ENFORCE_ESCAPE_H
#define ARCP_TESTS_ENFORCE_ESCAPE_H

#include <stddef.h>

enum { ESCAPE_DONE = 0, ESCAPE_DENIED = 1, ESCAPE_USAGE = 64, ESCAPE_UNABLE = 77 };

/* Returns 0 when the act was done, the errno that denied it, or -ESCAPE_UNABLE. `argv` has exactly
 * the arguments that acts.def says, then NULL. */
typedef int escape_act(char **argv);

#define ESCAPE_ACT(name, arguments) escape_act escape_##name;
#include "enforce/programs/acts.def"
#undef ESCAPE_ACT

/* 0 or errno, of a system call's result. */
int escape_result(long result);
/* Says why this host cannot do it; returns -ESCAPE_UNABLE. */
int escape_unable(const char *why);
/* Prints what can be read from the descriptor, and closes it. */
int escape_show(int fd);
/* Calls a function in a child; the result of the child, EPERM when a signal ended it. */
int escape_in_child(escape_act *act, char **argv);
/* The number that a text is; exits with ESCAPE_USAGE when it is none. */
long escape_number(const char *text);
/* Milliseconds of the monotonic clock. */
long escape_now_ms(void);

#endif
