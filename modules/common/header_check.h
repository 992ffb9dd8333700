/* SPDX-License-Identifier: Apache-2.0
 * Whether a script may put these bytes in a header: refuses what would split or spoil a message. */
#ifndef INTERPOOL_HEADER_CHECK_H
#define INTERPOOL_HEADER_CHECK_H

#include <apr.h>

/* NULL when the name is a token as RFC 9110 has it, else the reason ("a header name must not
 * contain a line feed"), a constant. */
const char *header_check_name(const char *name, apr_size_t length);

/* NULL when the value has no CR, LF, NUL or other control character (a tab is fine), else the
 * reason, a constant. httpd would answer 500 to a response with such a header. */
const char *header_check_value(const char *value, apr_size_t length);

#endif
