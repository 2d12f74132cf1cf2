#include "store/postgres_rig.h"

#include "store/postgres_open.h"

arcp__postgres_options pg_options(const pg_rig *server, const char *node, const char *home)
{
    return (arcp__postgres_options){.url = server->url,
                                    .node = node,
                                    .home = home,
                                    .lease_ms = 1000,
                                    .patience_ms = 2000,
                                    .answer_ms = 1000};
}

store_rig *pg_open(const pg_rig *server, const char *node, const char *home)
{
    const arcp__postgres_options options = pg_options(server, node, home);
    arcp_store *store = NULL;
    arcp_error err = {0};
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    return rig_new(store);
}

void pg_check_refused(const arcp__postgres_options *options, arcp_status status, const char *part)
{
    arcp_store *store = NULL;
    arcp_error err = {0};
    const arcp_status got = arcp__pg_store_open(options, &store, &err);
    assert_string_equal(arcp_status_name(got), arcp_status_name(status));
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
}
