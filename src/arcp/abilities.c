#include "arcp/run.h"

#include <string.h>

#include "launch/launch.h"

#define LANDLOCK_OF_LEVEL 6 /* the first one with everything that the levels name */

arcp_status arcp__abilities_find(arcp__sandbox_abilities *out, arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__launch_probe(NULL, &text, err);
    if (status == ARCP_OK) {
        status = arcp__sandbox_abilities_decode(arcp_buf_span(&text), out, err);
    }
    arcp_buf_fini(&text);
    return status;
}

arcp_status arcp__abilities_of_level(const char *level, arcp__sandbox_abilities *out,
                                     arcp_error *err)
{
    static const arcp__sandbox_ability namespaces[] = {
        ARCP__SANDBOX_ABILITY_USERNS, ARCP__SANDBOX_ABILITY_MOUNT,   ARCP__SANDBOX_ABILITY_NETNS,
        ARCP__SANDBOX_ABILITY_PROC,   ARCP__SANDBOX_ABILITY_PID_MAX, ARCP__SANDBOX_ABILITY_EGRESS};
    arcp__sandbox_abilities here = {{0}};
    const bool is_full = strcmp(level, "full") == 0;
    if (!is_full && strcmp(level, "landlock") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--level: '%.64s' is not one of full, landlock",
                              level);
    }
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        out->values[i] = 1;
    }
    for (size_t i = 0; !is_full && i < sizeof namespaces / sizeof namespaces[0]; i++) {
        out->values[namespaces[i]] = 0;
    }
    out->values[ARCP__SANDBOX_ABILITY_LANDLOCK] = LANDLOCK_OF_LEVEL;
    /* This one is of the release, not of the host. */
    arcp_status status = arcp__abilities_find(&here, err);
    out->values[ARCP__SANDBOX_ABILITY_BROKER] = here.values[ARCP__SANDBOX_ABILITY_BROKER];
    return status;
}
