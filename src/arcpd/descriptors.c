#include "arcpd/arcpd.h"

#include <sys/resource.h>

static uint64_t amount(rlim_t value)
{
    return value == RLIM_INFINITY ? ARCP_LAUNCH_NO_LIMIT : (uint64_t)value;
}

void arcp__descriptors_raise(arcp_launch_limit *started_with)
{
    struct rlimit files = {0};
    *started_with = (arcp_launch_limit){
        .resource = RLIMIT_NOFILE, .soft = ARCP_LAUNCH_NO_LIMIT, .hard = ARCP_LAUNCH_NO_LIMIT};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return;
    }
    started_with->soft = amount(files.rlim_cur);
    started_with->hard = amount(files.rlim_max);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files); /* else there are as many as before */
}
