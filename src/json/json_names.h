/* Looking for member names that occur twice in one object. */
#ifndef ARCP_JSON_JSON_NAMES_H
#define ARCP_JSON_JSON_NAMES_H

#include <arcp/json.h>

/* Checks `object`, whose members are the last nodes of the index. ARCP_E_INVALID_REQUEST
 * for a name that occurs twice after unescaping and for more than `members_max` members,
 * with the offset of the name that is too much; ARCP_E_NO_MEMORY. Linear in the members. */
ARCP_MUST_CHECK arcp_status arcp__json_check_names(arcp_json *json, arcp_json_ref object,
                                                   uint32_t members_max, arcp_error *err);

/* Frees what the check keeps in json->workspace. */
void arcp__json_names_fini(arcp_json *json);

#endif
