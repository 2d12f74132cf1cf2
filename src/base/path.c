#include "base/path.h"

bool arcp__path_is_within(arcp_span path, arcp_span directory)
{
    if (directory.size == 0 || !arcp_span_starts_with(path, directory)) {
        return false;
    }
    const bool is_root = directory.size == 1 && directory.data[0] == '/';
    return is_root || path.size == directory.size || path.data[directory.size] == '/';
}

bool arcp__path_is_within_any(arcp_span path, const arcp_span *directories, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (arcp__path_is_within(path, directories[i])) {
            return true;
        }
    }
    return false;
}

arcp_span arcp__path_parent(arcp_span path)
{
    size_t size = path.size;
    while (size > 1 && path.data[size - 1] != '/') {
        size--;
    }
    return arcp_span_first(path, size > 1 ? size - 1 : size);
}
