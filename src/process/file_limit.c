#include <sys/resource.h>

#include "process/process.h"

void arcp__process_raise_file_limit(arcp_launch_limit *original)
{
    struct rlimit files = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    const bool is_known = getrlimit(RLIMIT_NOFILE, &files) == 0;
    *original = (arcp_launch_limit){
        .resource = RLIMIT_NOFILE,
        .soft = files.rlim_cur == RLIM_INFINITY ? ARCP_LAUNCH_NO_LIMIT : (uint64_t)files.rlim_cur,
        .hard = files.rlim_max == RLIM_INFINITY ? ARCP_LAUNCH_NO_LIMIT : (uint64_t)files.rlim_max};
    if (is_known) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* if this fails, the limit stays as it was */
    }
}
