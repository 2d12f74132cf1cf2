#include "arcp_worker/say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void arcp__say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = snprintf(line, sizeof line, "arcp-worker: ");
    size += vsnprintf(line + size, sizeof line - (size_t)size - 1, format, arguments);
    va_end(arguments);
    size = size < (int)sizeof line - 1 ? size : (int)sizeof line - 2;
    line[size] = '\n';
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0) {
        (void)!write(STDERR_FILENO, line, (size_t)size + 1);
    }
}
