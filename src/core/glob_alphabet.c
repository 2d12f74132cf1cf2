#include "core/glob_alphabet.h"

/* Printable ASCII, the bytes that read best in a witness first. */
static const char printable[] = "xabcdefghijklmnopqrstuvwyz1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "-_.~+=,!@$&()%:;'^|`[]{}<>\"#?\\ /*";

static bool is_special(arcp__target_kind kind, unsigned char byte)
{
    return arcp__glob_class_of(kind, byte) != ARCP__GLOB_ORDINARY;
}

static void add_special(arcp__glob_alphabet *alphabet, arcp__target_kind kind, unsigned char byte)
{
    if (is_special(kind, byte)) {
        alphabet->special[alphabet->special_count++] = byte;
    }
}

void arcp__glob_alphabet_fill(arcp__glob_alphabet *alphabet, arcp__target_kind kind,
                              const bool used[256])
{
    *alphabet = (arcp__glob_alphabet){0};
    add_special(alphabet, kind, '/');
    add_special(alphabet, kind, '.');
    add_special(alphabet, kind, '?');
    for (size_t i = 0; i < sizeof printable - 1; i++) {
        const unsigned char byte = (unsigned char)printable[i];
        if (!used[byte] && !is_special(kind, byte)) {
            alphabet->ordinary[alphabet->ordinary_count++] = byte;
        }
    }
    alphabet->fresh_count = alphabet->ordinary_count;
    for (int byte = 1; byte < 256; byte++) {
        if (used[byte] && !is_special(kind, (unsigned char)byte)) {
            alphabet->ordinary[alphabet->ordinary_count++] = (unsigned char)byte;
        }
    }
}
