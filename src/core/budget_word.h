/* One atomic 16-byte word: word_load and word_swap. */
#ifndef ARCP_CORE_BUDGET_WORD_H
#define ARCP_CORE_BUDGET_WORD_H

#if defined(__x86_64__) && !defined(ARCP__BUDGET_WORD_GENERIC)
#include "core/budget_word_x86_64.h"
#else
#include "core/budget_word_generic.h"
#endif

#endif
