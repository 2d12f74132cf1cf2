#include "engine/scene.h"

#include "support/check.h"

#include "base/alloc.h"

scene *scene_begin(const arcp_settings *settings)
{
    scene *s = arcp__alloc(sizeof *s);
    assert_non_null(s);
    disk_init(&s->disk);
    rig_begin(&s->rig, settings);
    s->rig.store = &s->disk.store;
    rig_open(&s->rig);
    s->client = rig_connect(&s->rig, "a1");
    return s;
}

void scene_end(scene *s)
{
    rig_stop(&s->rig);
    arcp__free(s);
}

unsigned scene_takes(scene *s, const char *word)
{
    unsigned found = 0;
    for (char *frame = rig_read(&s->rig, s->client); frame != NULL;
         frame = rig_read(&s->rig, s->client)) {
        found += strstr(frame, word) != NULL;
        arcp__free(frame);
    }
    return found;
}
