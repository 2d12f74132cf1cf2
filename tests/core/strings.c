#include "core/strings.h"

void all_strings_begin(all_strings *strings, const char *alphabet, size_t size_max)
{
    *strings = (all_strings){.alphabet = alphabet, .size_max = size_max};
}

bool all_strings_next(all_strings *strings)
{
    for (size_t i = strings->size; i > 0; i--) {
        size_t *digit = &strings->digits[i - 1];
        *digit = strings->alphabet[*digit + 1] == '\0' ? 0 : *digit + 1;
        strings->text[i - 1] = strings->alphabet[*digit];
        if (*digit != 0) {
            return true;
        }
    }
    if (strings->size == strings->size_max || strings->size == ALL_STRINGS_MAX) {
        return false;
    }
    strings->size++;
    for (size_t i = 0; i < strings->size; i++) {
        strings->digits[i] = 0;
        strings->text[i] = strings->alphabet[0];
    }
    return true;
}

uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

size_t random_below(uint64_t *state, size_t bound)
{
    return (size_t)(random_next(state) % bound);
}
