#include "context/context.h"

size_t arcp__frame_room(const arcp__context *context)
{
    return (size_t)context->settings.limits_frame_bytes - ARCP__FRAME_HEAD_MAX;
}

bool arcp__frame_fits_job(const arcp__context *context, size_t accepted_size)
{
    return accepted_size + ARCP__CREDENTIALS_MAX <= arcp__frame_room(context);
}

size_t arcp__frame_room_of_text(const arcp__context *context)
{
    return (arcp__frame_room(context) - ARCP__REPEATED_MAX) / 6;
}
