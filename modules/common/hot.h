/* SPDX-License-Identifier: Apache-2.0
 * A mark for functions that every request runs through. Compilers put them side by side, so that a
 * request brings fewer pages and cache lines of code into a processor that has just done something
 * else. That is most of what a small request costs. */
#ifndef INTERPOOL_HOT_H
#define INTERPOOL_HOT_H

#ifdef __GNUC__
#define HOT_PATH __attribute__((hot))
#else
#define HOT_PATH
#endif

#endif
