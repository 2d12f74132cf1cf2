/* The files of the page, as the build made them part of the program (cmake/ArcpPages.cmake). */
#ifndef ARCP_DASHBOARD_FILES_H
#define ARCP_DASHBOARD_FILES_H

#include <stddef.h>

typedef struct arcp__dashboard_file {
    const char *name; /* "app.js" */
    const char *type; /* Content-Type */
    const char *data, *end;
    const char *gzip, *gzip_end; /* the same, compressed */
} arcp__dashboard_file;

/* index.html comes first. */
extern const arcp__dashboard_file arcp__dashboard_files[];
extern const size_t arcp__dashboard_file_count;
/* Names the content of all files. */
extern const char arcp__dashboard_hash[];

#endif
