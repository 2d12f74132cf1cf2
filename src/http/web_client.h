/* The HTTP client of web/client.h, by libcurl. Only for modules, which are loaded if they are
 * configured: arcpd itself does not link libcurl. The module `arcp-http` exports the table. */
#ifndef ARCP_HTTP_WEB_CLIENT_H
#define ARCP_HTTP_WEB_CLIENT_H

#include <arcp/visibility.h>

#include "web/client.h"

ARCP_API extern const arcp__web_client_ops arcp__web_client_by_libcurl;

#endif
