/* What the standard input of a program can be. */
#ifndef ARCP_TESTS_ENFORCE_INPUT_H
#define ARCP_TESTS_ENFORCE_INPUT_H

#include <sys/types.h>

#include "enforce/fixture.h"

/* A descriptor of the kind (NULL: the null device); exits when there is no such kind. */
int escape_input_open(const char *kind, const char *dir, const fixture_service *service);

long syscall_pidfd_open(pid_t pid);

#endif
