/* Which release of the library a program runs with. Any thread. */
#ifndef ARCP_VERSION_H
#define ARCP_VERSION_H

#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Major, minor and patch, with dots between them; static. */
ARCP_API const char *arcp_version(void);

/* Not for programs: libarcp-runtime and libarcp-client name it with the symbol version of their
 * release, so that they refuse to load beside a libarcp of another one (docs/decisions/0019). */
ARCP_API void arcp_release_guard(void);

#ifdef __cplusplus
}
#endif
#endif
