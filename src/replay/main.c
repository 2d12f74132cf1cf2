/* arcp-replay, which `arcp replay` runs: plays a trace of arcpd back, and says whether the engine
 * does what it did. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "replay/replay.h"
#include "json/json_put.h"

/* The file's bytes, until they are unmapped. */
static arcp_status map_file(const char *path, void **out, size_t *size, arcp_error *err)
{
    struct stat about = {0};
    void *bytes = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_there = fd >= 0 && fstat(fd, &about) == 0;
    if (is_there && about.st_size > 0) {
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    const int number = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!is_there || bytes == MAP_FAILED) {
        return arcp_error_set(err, ARCP_E_IO, "%s cannot be read: %s", path, strerror(number));
    }
    *out = bytes;
    *size = (size_t)about.st_size;
    return ARCP_OK;
}

static const char *const end_names[] = {[ARCP__REPLAY_SAME] = "same",
                                        [ARCP__REPLAY_CUT] = "cut",
                                        [ARCP__REPLAY_FOREIGN] = "foreign",
                                        [ARCP__REPLAY_DIFFERS] = "differs",
                                        [ARCP__REPLAY_DAMAGED] = "damaged"};

static void write_json(const arcp__replay_result *result, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "result", end_names[result->end]);
    arcp__put_u64(&writer, "calls", result->calls);
    arcp__put_u64(&writer, "outcomes", result->outcomes);
    arcp__put_u64(&writer, "offset", result->offset);
    arcp__put_text(&writer, "expected", arcp_buf_span(&result->expected));
    arcp__put_text(&writer, "got", arcp_buf_span(&result->got));
    arcp_json_end_object(&writer);
}

static void write_text(const char *path, const arcp__replay_result *result, arcp_buf *out)
{
    const arcp_span expected = arcp_buf_span(&result->expected);
    const arcp_span got = arcp_buf_span(&result->got);
    arcp_buf_append_format(out, "%s: %" PRIu64 " calls gave the same %" PRIu64 " outcomes", path,
                           result->calls, result->outcomes);
    switch (result->end) {
    case ARCP__REPLAY_SAME:
        break;
    case ARCP__REPLAY_CUT:
        arcp_buf_append_format(out, "; the trace is cut off at byte %" PRIu64, result->offset);
        break;
    case ARCP__REPLAY_FOREIGN:
        arcp_buf_append_format(out,
                               "; at byte %" PRIu64 " code of the embedding program decides, which "
                               "cannot be played back",
                               result->offset);
        break;
    case ARCP__REPLAY_DIFFERS:
        arcp_buf_append_format(out,
                               "; it differs at byte %" PRIu64 "\nthe trace has: ", result->offset);
        arcp_buf_append(out, expected);
        arcp_buf_append_cstr(out, "\nthe engine gave: ");
        arcp_buf_append(out, got);
        break;
    case ARCP__REPLAY_DAMAGED:
        arcp_buf_append_format(out, "; the trace is damaged at byte %" PRIu64 ": ", result->offset);
        arcp_buf_append(out, got);
        break;
    }
}

/* 0 the same, as far as the trace goes; 1 not, or it cannot be played. */
static int replay(arcp__program *program)
{
    const char *path = program->arguments.words[0];
    arcp__replay_result result = {.end = ARCP__REPLAY_SAME};
    void *bytes = NULL;
    size_t size = 0;
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    arcp_status status = map_file(path, &bytes, &size, &err);
    if (status == ARCP_OK) {
        status =
            arcp__replay(arcp_span_make(bytes, size),
                         arcp__has(&program->arguments, ARCP__OPTION_ANY_BUILD), &result, &err);
    }
    if (status != ARCP_OK) {
        (void)arcp__program_fail_file(program, &err);
    } else {
        program->is_json ? write_json(&result, &text) : write_text(path, &result, &text);
        const bool is_same =
            result.end != ARCP__REPLAY_DIFFERS && result.end != ARCP__REPLAY_DAMAGED;
        exit_status = arcp__program_print_buf_line(program, &text) && is_same ? ARCP__EXIT_SUCCESS
                                                                              : ARCP__EXIT_ERROR;
    }
    arcp__replay_result_fini(&result);
    if (size != 0) {
        (void)munmap(bytes, size);
    }
    return exit_status;
}

int main(int argc, char **argv)
{
    return arcp__program_main(ARCP__COMMAND_REPLAY, replay, argc, argv);
}
