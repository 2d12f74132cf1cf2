/* An engine in memory on a store that a test can hold, and one client of it. */
#ifndef ARCP_TESTS_ENGINE_SCENE_H
#define ARCP_TESTS_ENGINE_SCENE_H

#include "engine/disk.h"
#include "engine/frames.h"
#include "story/engine_rig.h"

typedef struct scene {
    engine_rig rig;
    disk disk;
    rig_client *client; /* connected, and silent so far */
} scene;

/* Settings may be NULL: the defaults. Ends with scene_end, which frees it. */
scene *scene_begin(const arcp_settings *settings);
void scene_end(scene *s);

/* Takes all received frames, also from a slow transport; returns how many have the word. */
unsigned scene_takes(scene *s, const char *word);

#endif
