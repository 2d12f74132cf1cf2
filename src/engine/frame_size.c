#include "engine/frame_size.h"

size_t arcp__frame_room(const arcp__engine *engine)
{
    return (size_t)engine->settings.limits_frame_bytes - ARCP__FRAME_HEAD_MAX;
}

bool arcp__frame_fits_job(const arcp__engine *engine, size_t accepted_size)
{
    return accepted_size + ARCP__CREDENTIALS_MAX <= arcp__frame_room(engine);
}

size_t arcp__frame_room_of_text(const arcp__engine *engine)
{
    return (arcp__frame_room(engine) - ARCP__REPEATED_MAX) / 6;
}
