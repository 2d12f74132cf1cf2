/* The dashboard: a page that a listener serves beside its WebSocket. The page is made of the files
 * in page/, which are part of the program; it talks to the runtime by the protocol's messages only,
 * so it can do nothing that another client of the same principal cannot do. docs/dashboard.md.
 *
 *   PATH          the page itself, checked again at each load (ETag)
 *   PATH/HASH/... its files; HASH names the content of all of them, so they are cached for ever
 *   /             leads to PATH
 *
 * There are no cookies and no other rights that a browser sends by itself: a foreign page that
 * makes a browser load something from here learns and changes nothing. */
#ifndef ARCP_DASHBOARD_DASHBOARD_H
#define ARCP_DASHBOARD_DASHBOARD_H

#include <arcp/sys/transport.h>

typedef struct arcp__dashboard arcp__dashboard;

#define ARCP__DASHBOARD_PATH "/ui/" /* the default */

/* `path` begins and ends with '/' and has letters, digits, '-' and '/' only (ARCP_E_USAGE
 * otherwise). `socket_path` is the path of the listener's WebSocket. Both are copied. */
ARCP_MUST_CHECK arcp_status arcp__dashboard_new(const char *path, const char *socket_path,
                                                arcp__dashboard **out, arcp_error *err);
void arcp__dashboard_free(arcp__dashboard *dashboard);

/* For arcp_listen_options: `page_user` is a dashboard. */
bool arcp__dashboard_page(void *page_user, const arcp_page_request *request, arcp_page *out);

/* Whether a path has the form that arcp__dashboard_new takes. */
bool arcp__dashboard_is_path(const char *path);

#endif
