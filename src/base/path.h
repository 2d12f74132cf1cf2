/* Absolute canonical paths, as texts: no file is looked at. A path has no component "." or "..",
 * no empty one, and no slash at its end, but for "/" itself.
 *
 * Spans are borrowed. Any thread. */
#ifndef ARCP_BASE_PATH_H
#define ARCP_BASE_PATH_H

#include <arcp/span.h>
#include <arcp/visibility.h>

/* Whether the path is the directory or below it. No path is within an empty one. Two relative paths
 * of the same directory are compared in the same way. */
ARCP_MUST_CHECK bool arcp__path_is_within(arcp_span path, arcp_span directory);

/* The same of two texts that end with a NUL. */
static inline bool arcp__path_is_within_cstr(const char *path, const char *directory)
{
    return arcp__path_is_within(arcp_span_cstr(path), arcp_span_cstr(directory));
}

/* Whether the path is within one of `count` directories. */
ARCP_MUST_CHECK bool arcp__path_is_within_any(arcp_span path, const arcp_span *directories,
                                              size_t count);

/* The directory that the path is in, a part of `path`. "/" is in itself; an empty path stays empty.
 */
ARCP_MUST_CHECK arcp_span arcp__path_parent(arcp_span path);

#endif
