#include "enforce/row.h"

#define ESCAPE(title, text, how, ...)                                                              \
    {.name = (title), .kind = ESCAPES, .program = (text), .proof = (how), __VA_ARGS__},
#define WORK(title, text, ...) {.name = (title), .kind = WORKS, .program = (text), __VA_ARGS__},
#define END(title, text, how, ...)                                                                 \
    {.name = (title), .kind = ENDED, .program = (text), .proof = (how), __VA_ARGS__},
#define REFUSE(title, ...) {.name = (title), .kind = REFUSED, .program = "sh true", __VA_ARGS__},

const escape_row escape_rows[] = {
#include "enforce/escape.def"
#include "enforce/escape_net.def"
};
const size_t escape_row_count = sizeof escape_rows / sizeof escape_rows[0];
