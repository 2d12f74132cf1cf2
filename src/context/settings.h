/* The settings as a struct, for the engine and its owner: one member per row of the table. */
#ifndef ARCP_CONTEXT_SETTINGS_H
#define ARCP_CONTEXT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/settings.h>
#include <arcp/span.h>

/* Named group_key. A choice holds the index of its word in the row's list (0 is the first). */
struct arcp_settings {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text) uint64_t group##_##key;
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)            uint32_t group##_##key;
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
};

/* The words of the choices lease.on_expiry, budget.on_exhaustion, yes or no, audit.on_failure and
 * authorization.subscribe, in the order of their rows. */
enum { ARCP__ON_EXPIRY_TERMINATE, ARCP__ON_EXPIRY_DENY };
enum { ARCP__ON_EXHAUSTION_DENY, ARCP__ON_EXHAUSTION_FAIL };
enum { ARCP__CHOICE_TRUE, ARCP__CHOICE_FALSE };
enum { ARCP__AUDIT_CONTINUE, ARCP__AUDIT_DENY };
enum { ARCP__SUBSCRIBE_SAME_PRINCIPAL, ARCP__SUBSCRIBE_ANY };

/* Every setting with its default in settings.def. */
void arcp__settings_default(arcp_settings *settings);

/* Whether each setting is in its range. */
bool arcp__settings_are_valid(const arcp_settings *settings);

/* As arcp_settings_set, by the two parts of the name. */
ARCP_MUST_CHECK arcp_status arcp__settings_set(arcp_settings *settings, arcp_span group,
                                               arcp_span key, arcp_span value, arcp_error *err);

/* As arcp_settings_each, by the two parts of the name. */
void arcp__settings_each(const arcp_settings *settings,
                         void (*each)(void *user, const char *group, const char *key,
                                      const char *value, const char *text),
                         void *user);

#endif
