/* Modules of arcpd: what is loaded only when it is configured. */
#ifndef ARCP_ARCPD_MODULE_H
#define ARCP_ARCPD_MODULE_H

#include <arcp/error.h>

/* Loads NAME.so from where it was installed, or beside this program in a build tree, and finds
 * its one function. *module is for arcp__module_close. ARCP_E_USAGE: it cannot be loaded; the
 * message begins with `key`, which asks for it. */
ARCP_MUST_CHECK arcp_status arcp__module_open(const char *name, const char *symbol, const char *key,
                                              void **module, void **function, arcp_error *err);
void arcp__module_close(void *module); /* NULL is accepted */

/* Whether what lies in the directory can be loaded: it belongs to root, to us or to the owner of
 * this program, and not everybody may write to it. */
bool arcp__module_directory_is_safe(const char *path);

#endif
