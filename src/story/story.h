/* Protocol stories: texts that a reader of the draft can follow, played to a runtime. The tests of
 * this tree and `arcp conformance` are written so.
 *
 *   # text              a comment
 *   connect a           client a connects and says nothing; its name is one letter
 *   drop a              its connection breaks
 *   a> {...}            it sends a frame as it stands; it connects when it is not connected
 *   a> TYPE #ID {...}   it sends a message with this payload; without #ID it gets an id of its own,
 *                       which is $id from then on. Without a payload it has an empty one.
 *   a< {...}            the next frame for a has at least these members
 *   a< TYPE {...}       the next message for a has this type and at least these members
 *   a< close CODE       its connection was closed with this code
 *   a< nothing          there is no frame for it
 *   a refused CODES     a job.error or session.error with one of the codes (the draft leaves open
 *                       which of the two answers a request): NOT_THIS|NOR_THAT
 *   a answers +-+       what comes next of job.accepted (+) and of refusals (-), in this order
 *   a ends $job         the job's end, whatever it is; job.cancelled may come before it
 *   a quiet             a ping is answered, and nothing about jobs comes before the pong
 *   a endless           a ping is answered, and no end of a job comes before the pong; an event may
 *                       have been on its way
 *   a settle            a ping is answered, whatever comes before the pong
 *   a lacks $name       the message that was taken last does not have this value in it
 *   differ $x $y        two variables are not the same
 *   forget x y          these variables have no value any more
 *
 * A line that begins with white space continues the one before. What else there is belongs to the
 * stage that the story is played on: its verbs, and macros,
 *
 *   define hello CLIENT NAME
 *   ...
 *   end
 *
 * in which words in capitals stand for the words behind the macro's name, the last one for the rest
 * of the line.
 *
 * In what is sent $name is replaced by the JSON of a variable, within a string by its text. $now,
 * $in_2s and $ago_1h are instants, the same one wherever a story has them again.
 *
 * In what is expected, members that are not named may be anything; an array has these items and no
 * others, or with "$more" as its last item at least these, in any order. "$name" is the variable's
 * value, or becomes it. "$string", "$number", "$boolean", "$array", "$object" and "$absent" say
 * what kind of value is there, "$versioned" a name@version, "$_" any value. */
#ifndef ARCP_STORY_STORY_H
#define ARCP_STORY_STORY_H

#include "base/ulid.h"
#include "story/match.h"

typedef struct arcp__story arcp__story;

/* Which of the frames that come is the one that is waited for. */
typedef enum arcp__story_order {
    ARCP__STORY_NEXT, /* the next one: they come in one possible order */
    ARCP__STORY_ANY,  /* the first that has come and fits; the others are left for later */
    /* the next one but for what may come at any time from a runtime that is not known: events,
     * answers that may have been lost, answers to pings */
    ARCP__STORY_PASSING
} arcp__story_order;

/* What comes from a runtime: to a client, or to somebody else whom a stage has. */
typedef struct arcp__story_source {
    arcp__story_order order;
    /* The index-th text that was not removed, waited for where that makes sense; NULL: there is
     * none, and arcp__story_fail may have said why. Borrowed until the next call. */
    const char *(*peek)(void *user, const char *name, unsigned index);
    void (*remove)(void *user, const char *name, unsigned index);
} arcp__story_source;

/* A word that begins a line; `rest` is what stands behind it, and may be written to. False: the
 * story has failed. */
typedef struct arcp__story_verb {
    const char *name;
    bool (*play)(arcp__story *story, char *rest);
} arcp__story_verb;

/* Where stories are played. */
typedef struct arcp__story_stage {
    void *user;
    arcp__story_source clients;
    bool names_ids;                /* messages name session and job in their envelope, too */
    const arcp__story_verb *verbs; /* the stage's own; the last one has no name */
    const char *macros;
    void (*step)(void *user); /* before each line; may be NULL */
    bool (*is_connected)(void *user, const char *client);
    /* False: the story has failed. */
    bool (*connect)(void *user, const char *client);
    bool (*send)(void *user, const char *client, const char *frame);
    int (*close_code)(void *user, const char *client); /* 0: open */
    void (*drop)(void *user, const char *client);
    int64_t (*now)(void *user); /* by the wall clock */
} arcp__story_stage;

struct arcp__story {
    const arcp__story_stage *stage;
    arcp__variables variables;
    unsigned line;       /* the one that is played */
    const char *awaited; /* what is waited for */
    arcp_buf frame;      /* the last one looked at, NUL-terminated behind it */
    arcp_json json;      /* of it */
    arcp_buf why;        /* the story has failed */
    bool shows_frame;    /* because of `frame` */
    arcp__ulid_source ids;
};

/* The stage is borrowed. */
void arcp__story_init(arcp__story *story, const arcp__story_stage *stage);
void arcp__story_fini(arcp__story *story);

/* Plays a text, line by line. False: `line` and `why` say where and why it failed. */
ARCP_MUST_CHECK bool arcp__story_play(arcp__story *story, arcp_span text);

/* ---- for the verbs of stages: functions that return false have said why ---- */

/* Appends to `why`. Returns false. */
bool arcp__story_fail(arcp__story *story, const char *format, ...) ARCP_PRINTF(2, 3);
/* Takes the next word off the line; "" at its end. */
const char *arcp__story_word(char **rest);

/* Appends the text with the variables' values, and a NUL behind it. */
ARCP_MUST_CHECK bool arcp__story_expand(arcp__story *story, const char *text, arcp_buf *out);
/* The value of $name; NULL: it has none, which was said. */
const arcp_buf *arcp__story_value(arcp__story *story, const char *word);

/* Sends a message. `id` may be NULL: a new one. */
ARCP_MUST_CHECK bool arcp__story_send(arcp__story *story, const char *client, const char *type,
                                      const char *id, const char *payload);
/* Takes the next text, whatever it is. */
ARCP_MUST_CHECK bool arcp__story_take(arcp__story *story, const char *client, const char *awaited);
/* Takes the text that fits the pattern; `type` may be "": any. */
ARCP_MUST_CHECK bool arcp__story_expect(arcp__story *story, const arcp__story_source *source,
                                        const char *name, const char *type, const char *pattern);
/* Whether there is nothing, where that can be told. */
ARCP_MUST_CHECK bool arcp__story_expect_nothing(arcp__story *story,
                                                const arcp__story_source *source, const char *name);
/* The text that was looked at last is not `wanted`. Returns false. */
bool arcp__story_unexpected(arcp__story *story, const char *wanted);

/* ---- client.c ---- */

/* Plays a line that begins with a, a> or a<. */
ARCP_MUST_CHECK bool arcp__story_play_client(arcp__story *story, const char *word, char *rest);

/* ---- what a frame has ---- */

arcp_json_ref arcp__frame_member(const arcp_json *json, const char *name);
arcp_json_ref arcp__payload_member(const arcp_json *json, const char *name);
/* Whether the frame is of this type. */
bool arcp__frame_is(const arcp_json *json, const char *type);

#endif
