/* Part of libarcp only, not of the module: the release that a program runs with. */
#include <arcp/version.h>

const char *arcp_version(void)
{
    return ARCP_VERSION_STRING;
}

void arcp_release_guard(void)
{
}
