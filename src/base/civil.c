#include "base/civil.h"

/* Years begin in March here, so that the leap day comes last. */
int64_t arcp__civil_days(int year, int month, int day)
{
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t m = month <= 2 ? month + 9 : month - 3;
    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 - 719468 + day - 1;
}

/* The reverse: cycles of 400 years, which have 146097 days. */
arcp__civil arcp__civil_of_days(int64_t days)
{
    const int64_t z = days + 719468;
    const int64_t cycle = z / 146097;
    const int64_t day_of_cycle = z % 146097;
    const int64_t year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36524 - day_of_cycle / 146096) / 365;
    const int64_t day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    const int64_t march_month = (5 * day_of_year + 2) / 153;
    const int month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
    return (arcp__civil){.year = (int)(year_of_cycle + cycle * 400 + (month <= 2 ? 1 : 0)),
                         .month = month,
                         .day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1)};
}
