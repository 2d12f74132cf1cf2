/* The canonical form of each kind of target. Callers have seen to it that the target is
 * neither empty nor too long and holds no NUL; contracts as in target.h. */
#ifndef ARCP_CORE_TARGET_KINDS_H
#define ARCP_CORE_TARGET_KINDS_H

#include <arcp/gate.h>

/* True only for targets that are canonical; false says nothing. These see NUL bytes too,
 * and refuse them. */
bool arcp__target_path_is_plain(arcp_span target);
bool arcp__target_url_is_plain(arcp_span target);
bool arcp__target_name_is_plain(arcp_span target);

ARCP_MUST_CHECK arcp_deny_reason arcp__target_path(arcp_span target, bool has_cwd, char *scratch,
                                                   arcp_span *canonical);
ARCP_MUST_CHECK arcp_deny_reason arcp__target_url(arcp_span target, char *scratch,
                                                  arcp_span *canonical);
/* A name is canonical as it is, or denied. */
ARCP_MUST_CHECK arcp_deny_reason arcp__target_name(arcp_span target);

#endif
