#include "cli/cli.h"

void arcp__runtime_name(arcp_client *client, arcp_buf *out)
{
    arcp_buf welcome = ARCP_BUF_INIT;
    arcp_buf room = ARCP_BUF_INIT;
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 10000, SIZE_MAX};
    if (arcp_client_welcome(client, &welcome, NULL) == ARCP_OK &&
        arcp_json_scan(&json, arcp_buf_span(&welcome), &limits, NULL) == ARCP_OK) {
        arcp_json_ref runtime =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("runtime"));
        const char *const names[] = {"name", "version"};
        const char *const flat[] = {"runtime_name", "runtime_version"};
        for (size_t at = 0; at < 2; at++) {
            arcp_json_ref ref = arcp_json_member(&json, runtime, arcp_span_cstr(names[at]));
            if (arcp_json_is_missing(&json, ref)) {
                ref = arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(flat[at]));
            }
            arcp_buf_clear(&room);
            arcp_buf_append_cstr(out, at == 0 ? "" : " ");
            arcp__append_safe(out, arcp_json_string(&json, ref, &room), 128);
        }
    }
    arcp_json_fini(&json);
    arcp_buf_fini(&room);
    arcp_buf_fini(&welcome);
}
