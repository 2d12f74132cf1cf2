#include "core/glob_machine.h"

#include <assert.h>
#include <string.h>

size_t arcp__glob_machine_size(const arcp__glob_range *range, uint32_t class_count)
{
    const size_t words = (range->last - range->first) / 64 + 1;
    return sizeof(arcp__glob_machine) +
           (ARCP__GLOB_ROW_STEP + class_count) * words * sizeof(uint64_t);
}

uint32_t arcp__glob_classes_fill(arcp__target_kind kind, const arcp__glob_states *patterns,
                                 size_t count, unsigned char classes[256])
{
    memset(classes, ARCP__GLOB_BYTE_OTHER, 256);
    classes['/'] = ARCP__GLOB_BYTE_SLASH;
    if (arcp__target_kind_has_dots(kind)) {
        classes['.'] = ARCP__GLOB_BYTE_DOT;
    }
    if (kind == ARCP__TARGET_URL) {
        classes['?'] = ARCP__GLOB_BYTE_QUERY;
    }
    /* Thirteen byte values never occur in UTF-8, so there are enough classes. */
    uint32_t class_count = ARCP__GLOB_BYTE_FIRST;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < patterns[i].last; k++) {
            unsigned char *byte_class = &classes[patterns[i].literals[k]];
            if (*byte_class == ARCP__GLOB_BYTE_OTHER) {
                assert(class_count <= UINT8_MAX);
                *byte_class = (unsigned char)class_count++;
            }
        }
    }
    return class_count;
}

static uint64_t *row(arcp__glob_machine *machine, uint32_t index)
{
    return machine->rows + (size_t)index * machine->words;
}

static void set_bit(uint64_t *words, uint32_t bit)
{
    words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

void arcp__glob_machine_fill(arcp__glob_machine *machine, uint32_t pattern,
                             const arcp__glob_states *states, const arcp__glob_range *range,
                             const unsigned char classes[256])
{
    static const arcp__glob_class loop_class[ARCP__GLOB_BYTE_FIRST] = {
        [ARCP__GLOB_BYTE_OTHER] = ARCP__GLOB_ORDINARY,
        [ARCP__GLOB_BYTE_SLASH] = ARCP__GLOB_SEPARATOR,
        [ARCP__GLOB_BYTE_DOT] = ARCP__GLOB_SEPARATOR,
        [ARCP__GLOB_BYTE_QUERY] = ARCP__GLOB_QUERY};
    assert(range->last - range->first < ARCP__GLOB_STATES_MAX);
    machine->pattern = pattern;
    machine->words = (range->last - range->first) / 64 + 1;
    machine->eager = UINT32_MAX;
    set_bit(row(machine, ARCP__GLOB_ROW_START), 0);
    set_bit(row(machine, ARCP__GLOB_ROW_ACCEPT), range->last - range->first);
    set_bit(row(machine, ARCP__GLOB_ROW_ACCEPT), range->accept_too - range->first);
    for (uint32_t state = range->first; state <= range->last; state++) {
        const uint32_t bit = state - range->first;
        for (uint32_t i = 0; i < ARCP__GLOB_BYTE_FIRST; i++) {
            if (arcp__glob_loop_takes(states, state, loop_class[i])) {
                set_bit(row(machine, ARCP__GLOB_ROW_KEEP + i), bit);
            }
        }
        if (state < range->last) {
            const uint32_t byte_class = classes[states->literals[state]];
            set_bit(row(machine, ARCP__GLOB_ROW_STEP + byte_class), bit + 1);
        }
        if ((states->loops[state] & ARCP__GLOB_LOOP_SKIP) != 0) {
            set_bit(row(machine, bit == 0 ? ARCP__GLOB_ROW_START : ARCP__GLOB_ROW_SKIP), bit + 1);
        }
    }
    if (range->last == states->last && (states->loops[states->last] & ARCP__GLOB_LOOP_ANY) != 0) {
        machine->eager = range->last - range->first;
    }
}

static bool run_one_word(const arcp__glob_machine *machine, const unsigned char classes[256],
                         const unsigned char *bytes, size_t size)
{
    const uint64_t *const rows = machine->rows;
    const uint64_t skip = rows[ARCP__GLOB_ROW_SKIP];
    const uint64_t eager = machine->eager == UINT32_MAX ? 0 : UINT64_C(1) << machine->eager;
    uint64_t now = rows[ARCP__GLOB_ROW_START];
    for (size_t i = 0; i < size && (now & eager) == 0; i++) {
        const unsigned byte_class = classes[bytes[i]];
        const unsigned fixed =
            byte_class < ARCP__GLOB_BYTE_FIRST ? byte_class : ARCP__GLOB_BYTE_OTHER;
        const uint64_t skipped = byte_class == ARCP__GLOB_BYTE_SLASH ? skip : 0;
        now = (now << 1 & rows[ARCP__GLOB_ROW_STEP + byte_class]) |
              (now & rows[ARCP__GLOB_ROW_KEEP + fixed]) | (now << 2 & skipped);
        if (now == 0) {
            return false;
        }
    }
    return (now & (rows[ARCP__GLOB_ROW_ACCEPT] | eager)) != 0;
}

static bool run_words(const arcp__glob_machine *machine, const unsigned char classes[256],
                      const unsigned char *bytes, size_t size)
{
    const size_t words = machine->words;
    const uint32_t eager = machine->eager;
    const uint64_t *const skip = machine->rows + ARCP__GLOB_ROW_SKIP * words;
    uint64_t now[ARCP__GLOB_WORDS_MAX];
    memcpy(now, machine->rows + ARCP__GLOB_ROW_START * words, words * sizeof now[0]);
    for (size_t i = 0; i < size; i++) {
        const unsigned byte_class = classes[bytes[i]];
        const unsigned fixed =
            byte_class < ARCP__GLOB_BYTE_FIRST ? byte_class : ARCP__GLOB_BYTE_OTHER;
        const uint64_t *const stepped = machine->rows + (ARCP__GLOB_ROW_STEP + byte_class) * words;
        const uint64_t *const kept = machine->rows + (ARCP__GLOB_ROW_KEEP + fixed) * words;
        const bool is_slash = byte_class == ARCP__GLOB_BYTE_SLASH;
        uint64_t below = 0; /* the previous word, before this step */
        uint64_t any = 0;
        for (size_t j = 0; j < words; j++) {
            const uint64_t word = now[j];
            uint64_t next = ((word << 1 | below >> 63) & stepped[j]) | (word & kept[j]);
            if (is_slash) {
                next |= (word << 2 | below >> 62) & skip[j];
            }
            below = word;
            now[j] = next;
            any |= next;
        }
        if (any == 0) {
            return false;
        }
        if (eager != UINT32_MAX && (now[eager / 64] >> (eager % 64) & 1) != 0) {
            return true;
        }
    }
    const uint64_t *const accept = machine->rows + ARCP__GLOB_ROW_ACCEPT * words;
    for (size_t i = 0; i < words; i++) {
        if ((now[i] & accept[i]) != 0) {
            return true;
        }
    }
    return false;
}

bool arcp__glob_machine_run(const arcp__glob_machine *machine, const unsigned char classes[256],
                            const char *bytes, size_t size)
{
    const unsigned char *const text = (const unsigned char *)bytes;
    return machine->words == 1 ? run_one_word(machine, classes, text, size)
                               : run_words(machine, classes, text, size);
}
