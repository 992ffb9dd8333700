/* SPDX-License-Identifier: Apache-2.0
 * Holds a script to the Content-Length that it announced.
 *
 * A client, or a proxy that serves others too, takes what follows the announced bytes for the next
 * response. So what is too much is cut off, and what is too little ends the connection. Answers
 * that come in one piece never get here: httpd counts those itself. */
#ifndef INTERPOOL_LENGTH_GUARD_H
#define INTERPOOL_LENGTH_GUARD_H

#include <httpd.h>
#include <util_filter.h>

/* At start-up. Every module has a filter of its own, by its own name. */
ap_filter_rec_t *length_guard_register(const char *name);

/* Before the first part of a response is passed on: forgets a Transfer-Encoding, which is httpd's
 * affair, and watches over a Content-Length. May be called again; does nothing once the header has
 * been sent, nor for a sub-request, which sends none. */
void length_guard_begin(request_rec *r, ap_filter_rec_t *filter);

/* Unless the header has been sent: forgets a Content-Length and a Transfer-Encoding, since another
 * response than the script's will be sent. */
void length_guard_forget(request_rec *r);

#endif
