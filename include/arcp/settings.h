/* The runtime's settings, from one table (settings.def). */
#ifndef ARCP_SETTINGS_H
#define ARCP_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One member per row, named group_key. A choice holds the index of its word in the row's
 * list (0 is the first). Fill with arcp_settings_default, then change what you like. */
typedef struct arcp_settings {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text) uint64_t group##_##key;
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)            uint32_t group##_##key;
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
} arcp_settings;

/* The words of the choices lease.on_expiry, budget.on_exhaustion, those of yes or no,
 * audit.on_failure and authorization.subscribe, in the order of their rows. */
enum { ARCP_ON_EXPIRY_TERMINATE, ARCP_ON_EXPIRY_DENY };
enum { ARCP_ON_EXHAUSTION_DENY, ARCP_ON_EXHAUSTION_FAIL };
enum { ARCP_CHOICE_TRUE, ARCP_CHOICE_FALSE };
enum { ARCP_AUDIT_CONTINUE, ARCP_AUDIT_DENY };
enum { ARCP_SUBSCRIBE_SAME_PRINCIPAL, ARCP_SUBSCRIBE_ANY };

/* Every setting as settings.def has it first. Any thread. */
ARCP_API void arcp_settings_default(arcp_settings *settings);

/* Lowers what is kept for later to what a process can hold, for a store in memory:
 * limits.replay_bytes to 64 MiB, jobs.keep_terminal_bytes to 256 MiB, limits.principal_bytes to 1
 * GiB (also where it is 0); lower ones stay. Any thread. */
ARCP_API void arcp_settings_fit_memory(arcp_settings *settings);

/* Sets one by its names from text, as the configuration file has it. ARCP_E_NOT_FOUND
 * for a key that does not exist (the message lists nothing), ARCP_E_USAGE for a value
 * that is wrong, saying what would be right. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_settings_set(arcp_settings *settings, arcp_span group,
                                                       arcp_span key, arcp_span value,
                                                       arcp_error *err);

/* Calls `each` for every row in order, with its current value as text. Any thread. */
ARCP_API void arcp_settings_each(const arcp_settings *settings,
                                 void (*each)(void *user, const char *group, const char *key,
                                              const char *value, const char *text),
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
