/* Dates of the Gregorian calendar as days since 1970-01-01. */
#ifndef ARCP_BASE_CIVIL_H
#define ARCP_BASE_CIVIL_H

#include <stdint.h>

typedef struct arcp__civil {
    int year, month, day; /* month and day from 1 */
} arcp__civil;

/* Days from 1970-01-01 to the date, whose year is between 0 and 9999; a day beyond the month's last
 * counts into the next month. */
int64_t arcp__civil_days(int year, int month, int day);
/* The date after so many days, from the year 0 on. */
arcp__civil arcp__civil_of_days(int64_t days);

#endif
