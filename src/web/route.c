#include "web/server.h"

static arcp__web_response refuse(int status, const char *why)
{
    return (arcp__web_response){
        .status = status, .why = why, .headers = "Cache-Control: no-store\r\n", .ends = true};
}

/* Who asks, and whether that may be. Status 0: it may. */
static arcp__web_response check_names(const arcp__web_head *head, const arcp__web_names *names)
{
    arcp_span host = {NULL, 0};
    if (arcp__web_head_find(head, "Host", &host) != 1) {
        return refuse(400, "want exactly one Host header");
    }
    bool valid = false;
    if (!arcp__web_names_allow_host(names, host, &valid)) {
        return valid ? refuse(403, "this Host is not allowed")
                     : refuse(400, "the Host header is malformed");
    }
    arcp_span origin = {NULL, 0};
    const size_t origins = arcp__web_head_find(head, "Origin", &origin);
    if (origins > 1) {
        return refuse(400, "more than one Origin header");
    }
    if (origins == 1 && !arcp__web_names_allow_origin(names, origin)) {
        return refuse(403, "this Origin is not allowed");
    }
    return (arcp__web_response){0};
}

const arcp__web_route *arcp__web_route_of(const arcp__web_route *routes, size_t route_count,
                                          const arcp__web_names *names, const arcp__web_head *head,
                                          arcp__web_response *refusal)
{
    const arcp__web_route *route = NULL;
    *refusal = check_names(head, names);
    if (refusal->status != 0) {
        return NULL;
    }
    for (size_t i = 0; i < route_count && route == NULL; i++) {
        if (routes[i].path == NULL ||
            arcp_span_equal_cstr(arcp__web_head_path(head), routes[i].path)) {
            route = &routes[i];
        }
    }
    if (route == NULL) {
        *refusal = refuse(404, "nothing is served here");
    } else if (!arcp__web_list_has(arcp_span_cstr(route->methods), head->method_name)) {
        *refusal = refuse(405, "this method is not served here");
        refusal->allow = route->methods;
    } else if (head->framing != ARCP__WEB_NO_BODY &&
               (route->body == NULL || head->method != ARCP__WEB_OTHER_METHOD)) {
        *refusal = refuse(400, "want no body");
    } else {
        return route;
    }
    return NULL;
}
