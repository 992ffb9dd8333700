/* SPDX-License-Identifier: Apache-2.0
 * What each unit test of APR code needs: cmocka, and an APR pool as the test's state. */
#ifndef INTERPOOL_UNIT_H
#define INTERPOOL_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_time.h>

static inline int unit_start(void **state)
{
    apr_pool_t *p;

    if (apr_pool_create(&p, NULL) != APR_SUCCESS)
        return -1;
    *state = p;
    return 0;
}

static inline int unit_end(void **state)
{
    apr_pool_destroy(*state);
    return 0;
}

#define UNIT_TEST(f) cmocka_unit_test_setup_teardown(f, unit_start, unit_end)

/* Waits until `condition`, which another thread makes true; fails when it never does. */
#define UNIT_WAIT_FOR(condition)                                                  \
    do {                                                                          \
        int unit_rounds;                                                          \
        for (unit_rounds = 0; unit_rounds < 60000 && !(condition); unit_rounds++) \
            apr_sleep(1000);                                                      \
        assert_true(condition);                                                   \
    } while (0)

#endif
