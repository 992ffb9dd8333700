/* SPDX-License-Identifier: Apache-2.0
 * A pool of idle interpreters. */
#ifndef INTERPOOL_IDLE_POOL_H
#define INTERPOOL_IDLE_POOL_H
typedef struct idle_pool idle_pool;
#endif
