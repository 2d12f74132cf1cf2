/* Part of libarcp-runtime and libarcp-client only. Leases, budgets, authorities and JSON cross from
 * libarcp's copy of their code to these libraries', which have one of their own: the copies must be
 * of one release. The reference carries the release's symbol version (cmake/libarcp.map.in); the
 * dynamic linker refuses a libarcp that has another. */
#include <arcp/version.h>

__attribute__((used)) static void (*const guard)(void) = arcp_release_guard;
