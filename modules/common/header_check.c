/* SPDX-License-Identifier: Apache-2.0
 * Whether a script may put these bytes in a header. */
#include "modules/common/header_check.h"

#include <string.h>

#include "modules/common/hot.h"

static int is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

const char *header_check_name(const char *name, apr_size_t length)
{
    apr_size_t i;

    if (length == 0)
        return "a header name must not be empty";
    for (i = 0; i < length; i++) {
        unsigned char c = name[i];

        if (c == '\n')
            return "a header name must not contain a line feed";
        if (c == '\r')
            return "a header name must not contain a carriage return";
        if (c == '\0')
            return "a header name must not contain a NUL";
        if (is_control(c) || c >= 0x80 || strchr(" \"(),/:;<=>?@[\\]{}", c))
            return "a header name may contain letters, digits and !#$%&'*+-.^_`|~ only";
    }
    return NULL;
}

HOT_PATH const char *header_check_value(const char *value, apr_size_t length)
{
    apr_size_t i;

    for (i = 0; i < length; i++) {
        unsigned char c = value[i];

        if (c == '\n')
            return "a header value must not contain a line feed";
        if (c == '\r')
            return "a header value must not contain a carriage return";
        if (c == '\0')
            return "a header value must not contain a NUL";
        if (is_control(c) && c != '\t')
            return "a header value must not contain a control character";
    }
    return NULL;
}
