/* Roles of principals (docs/operating.md). */
#ifndef ARCP_ROLE_H
#define ARCP_ROLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a session may do beyond its principal's own jobs. No role gives a lease, lets a session
 * submit for another principal, or shows credentials. */
typedef enum arcp_role {
    ARCP_ROLE_NONE = 0,
    ARCP_ROLE_VIEWER = 1,  /* reads what all principals do */
    ARCP_ROLE_OPERATOR = 2 /* also ends jobs and sessions, and reloads the configuration */
} arcp_role;

#ifdef __cplusplus
}
#endif
#endif
