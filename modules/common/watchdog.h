/* SPDX-License-Identifier: Apache-2.0
 * Deadlines: calls a function when a watched piece of work takes too long.
 *
 * One thread per child, started by the first watchdog_add, with all signals blocked. It sleeps
 * until the earliest deadline it has seen, so an idle child has no wake-ups, and arming a watch
 * wakes it only for a deadline earlier than that: about once per limit, not once per request.
 *
 * Times are those of watchdog_now(): microseconds of the monotonic clock, never the wall clock. */
#ifndef INTERPOOL_WATCHDOG_H
#define INTERPOOL_WATCHDOG_H

#include <apr_pools.h>
#include <apr_time.h>

typedef struct watchdog watchdog;
typedef struct watch watch;

/* Called on the watchdog's thread, without a lock, for a watch whose deadline has passed; again
 * every WATCHDOG_REPEAT until the watch is disarmed or armed anew. It may take a while (other
 * watches are late by that) and may itself arm and disarm watches: a periodic job is a watch whose
 * expire function arms it again. It may add watches, and remove others than its own.
 *
 * The work may end, and the next begin, between the decision to call and the call. Whatever harms
 * must therefore ask watch_overdue() at a point where the watched thread can't go on, such as in a
 * signal handler on that thread or while holding the interpreter's lock. */
typedef void (*watchdog_expire)(void *baton);

#define WATCHDOG_REPEAT (APR_USEC_PER_SEC / 10)

/* Makes a watchdog without a thread. Its memory is its own (malloc), because its thread may outlive
 * the child's pool for a moment; when `pool` goes, the thread calls nobody any more. That cleanup
 * takes no lock: prefork runs it in a signal handler. */
apr_status_t watchdog_make(watchdog **dog, apr_pool_t *pool);

/* Ends the thread, waits for it, frees all. No watch may be used afterwards. For tests, and for
 * whoever is sure that no expire function can hang. */
void watchdog_stop(watchdog *dog);

/* Registers a watch, disarmed. Takes a lock; to be done once per thread or interpreter and not per
 * request. Starts the thread, unless `dog` was made for watchdog_check. */
apr_status_t watchdog_add(watchdog *dog, watch **added, watchdog_expire expire, void *baton);

/* Unregisters a watch and frees it; waits while its expire function runs. The caller must not hold
 * anything that this function may wait for (such as a GIL), and must not be that function. */
void watchdog_remove(watch *w);

/* Sets the deadline `limit` from now; a limit <= 0 means none. One atomic store and a look; no
 * system call but for a deadline earlier than all that the thread knows. */
void watch_arm(watch *w, apr_interval_time_t limit);
void watch_arm_at(watch *w, apr_time_t deadline);

/* One atomic store. The expire function may still be running or about to run (see above). */
void watch_disarm(watch *w);

/* Whether the watch is armed and its deadline has passed. Safe in a signal handler. */
int watch_overdue(const watch *w);

/* The monotonic clock, the cheap one where there is a choice (then it steps by up to 4 ms). */
apr_time_t watchdog_now(void);

/* One round as the thread does it, at the time `now`, in the calling thread; returns when the next
 * is due, or WATCHDOG_NEVER. For tests: watchdog_make_manual gives a watchdog that has no thread.
 */
#define WATCHDOG_NEVER APR_INT64_MAX
apr_status_t watchdog_make_manual(watchdog **dog, apr_pool_t *pool);
apr_time_t watchdog_check(watchdog *dog, apr_time_t now);

#endif
