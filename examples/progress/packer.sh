#!/bin/sh
# First counts the files, then packs them.
progress() {
    echo "{\"type\":\"job.event\",\"payload\":{\"kind\":\"progress\",\"body\":{$1}}}"
}
progress '"current":3,"message":"looking"'
progress '"current":1,"total":4,"units":"files","message":"a.c"'
progress '"current":2,"total":4,"units":"files","message":"b.c"'
progress '"current":4,"total":4,"units":"files","message":"c.h, d.h"'
