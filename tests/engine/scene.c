#include "engine/scene.h"

#include "support/check.h"

#include "base/alloc.h"

scene *scene_begin(const arcp_settings *settings)
{
    scene *self = arcp__alloc(sizeof *self);
    assert_non_null(self);
    disk_init(&self->disk);
    rig_begin(&self->rig, settings);
    self->rig.store = &self->disk.store;
    rig_open(&self->rig);
    self->client = rig_connect(&self->rig, "a1");
    return self;
}

void scene_end(scene *self)
{
    rig_stop(&self->rig);
    arcp__free(self);
}

unsigned scene_takes(scene *self, const char *word)
{
    unsigned found = 0;
    for (char *frame = rig_read(&self->rig, self->client); frame != NULL;
         frame = rig_read(&self->rig, self->client)) {
        found += strstr(frame, word) != NULL;
        arcp__free(frame);
    }
    return found;
}
