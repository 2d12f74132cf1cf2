/* Log lines of the runtime and of the engine. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/runtime_state.h"

static void log_span(arcp_runtime *runtime, arcp_log_level level, arcp_span text, arcp_span fields)
{
    if (runtime->options.log == NULL) {
        return;
    }
    arcp_buf_clear(&runtime->text);
    arcp_buf_append(&runtime->text, text);
    arcp_buf_append_byte(&runtime->text, '\0');
    arcp_buf_append(&runtime->text, fields);
    arcp_buf_append_byte(&runtime->text, '\0');
    if (!runtime->text.failed) {
        runtime->options.log(runtime->options.log_user, level, runtime->text.data,
                             runtime->text.data + text.size + 1);
    }
}

void arcp__runtime_log(arcp_runtime *runtime, const arcp__job *job, arcp_log_level level,
                       const char *format, ...)
{
    char line[512];
    arcp_buf fields = arcp_buf_init();
    va_list arguments;
    if (job != NULL && runtime->options.log != NULL) {
        arcp__job_fields(job, &fields);
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log_span(runtime, level, arcp_span_cstr(line), arcp_buf_span(&fields));
    arcp_buf_fini(&fields);
}

static void log_hosting(void *user, arcp__hosting_level level, const char *text)
{
    static const arcp_log_level levels[] = {[ARCP__HOSTING_INFO] = ARCP_LOG_INFO,
                                            [ARCP__HOSTING_WARN] = ARCP_LOG_WARN,
                                            [ARCP__HOSTING_ERROR] = ARCP_LOG_ERROR};
    log_span(user, levels[level], arcp_span_cstr(text), arcp_span_make(NULL, 0));
}

void arcp__runtime_init_hosting(arcp_runtime *runtime)
{
    runtime->hosting.wake = &runtime->wake;
    runtime->hosting.log = log_hosting;
    runtime->hosting.user = runtime;
}

void arcp__runtime_log_effect(arcp_runtime *runtime, const arcp__effect *effect)
{
    log_span(runtime, (arcp_log_level)effect->level, effect->text, effect->fields);
}
