/* The runtime's settings: every key of arcpd.yaml that is a number or one of a few words, under its
 * name there ("limits.frame_bytes"). docs/deploying.md, arcpd.yaml(5). One thread at a time. */
#ifndef ARCP_SETTINGS_H
#define ARCP_SETTINGS_H

#include <arcp/error.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_settings arcp_settings;

/* Settings with their defaults, which the caller frees; NULL when out of memory. */
ARCP_API ARCP_MUST_CHECK arcp_settings *arcp_settings_new(void);
/* A copy, which the caller frees; NULL when out of memory. */
ARCP_API ARCP_MUST_CHECK arcp_settings *arcp_settings_copy(const arcp_settings *settings);
ARCP_API void arcp_settings_free(arcp_settings *settings); /* NULL is accepted */

/* Lowers the limits of kept data for a store in memory: limits.replay_bytes to 64 MiB,
 * jobs.keep_terminal_bytes to 256 MiB, limits.principal_bytes to 1 GiB (also if it is 0). Lower
 * values stay. */
ARCP_API void arcp_settings_fit_memory(arcp_settings *settings);

/* Sets one setting from text, as in the configuration file. ARCP_E_NOT_FOUND for an unknown name,
 * ARCP_E_USAGE for an invalid value, with the accepted ones. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_settings_set(arcp_settings *settings, const char *name,
                                                       const char *value, arcp_error *err);

#define ARCP_SETTING_VALUE_MAX 64 /* bytes of a value as text, with its NUL */

/* Writes the value of one setting as text. ARCP_E_NOT_FOUND. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_settings_get(const arcp_settings *settings,
                                                       const char *name,
                                                       char value[ARCP_SETTING_VALUE_MAX],
                                                       arcp_error *err);

/* Calls `each` for every setting, in the order of the configuration file, with its value as text
 * and its one-line description. The texts are valid during the call. */
ARCP_API void arcp_settings_each(const arcp_settings *settings,
                                 void (*each)(void *user, const char *name, const char *value,
                                              const char *text),
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
