#include "hosting/hosting.h"

#include <stdarg.h>
#include <stdio.h>

void arcp__hosting_log(const arcp__hosting *hosting, arcp__hosting_level level, const char *format,
                       ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    hosting->log(hosting->user, level, line);
}

void arcp__process_agent_environment(const arcp__process_agent *agent,
                                     arcp__environment *environment)
{
    if (!agent->env_is_all) {
        arcp__environment_base(environment, agent->spec.user);
    }
    arcp__environment_pass(environment, agent->env);
}
