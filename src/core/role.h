/* The names of roles. */
#ifndef ARCP_CORE_ROLE_H
#define ARCP_CORE_ROLE_H

#include <arcp/role.h>

/* "viewer" or "operator"; "" for none. Static. */
static inline const char *arcp__role_name(arcp_role role)
{
    switch (role) {
    case ARCP_ROLE_VIEWER:
        return "viewer";
    case ARCP_ROLE_OPERATOR:
        return "operator";
    case ARCP_ROLE_NONE:
        break;
    }
    return "";
}

#endif
