/* SPDX-License-Identifier: Apache-2.0
 * A mark for functions that every request runs through. Compilers put them side by side, so that a
 * request brings fewer pages and cache lines of code into a processor that has just done something
 * else. That is most of what a small request costs. COLD_PATH is for what such functions seldom
 * call: the calls then lie out of the way, too. */
#ifndef INTERPOOL_HOT_H
#define INTERPOOL_HOT_H

#ifdef __GNUC__
#define HOT_PATH  __attribute__((hot))
#define COLD_PATH __attribute__((cold))
#else
#define HOT_PATH
#define COLD_PATH
#endif

#endif
