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

/* Eight bytes at once: whether none is a control character. */
#define WORD       8
#define EACH(byte) (~(apr_uint64_t)0 / 255 * (byte))

static int is_plain_word(const char *bytes)
{
    apr_uint64_t word, deletes;

    memcpy(&word, bytes, WORD);
    deletes = word ^ EACH(0x7f); /* zero where the byte is 0x7f */
    return !((((word - EACH(0x20)) & ~word) | ((deletes - EACH(1)) & ~deletes)) & EACH(0x80));
}

COLD_PATH static const char *fault_of_value(char c)
{
    switch (c) {
    case '\n':
        return "a header value must not contain a line feed";
    case '\r':
        return "a header value must not contain a carriage return";
    case '\0':
        return "a header value must not contain a NUL";
    default:
        return "a header value must not contain a control character";
    }
}

HOT_PATH const char *header_check_value(const char *value, apr_size_t length)
{
    const char *end = value + length;

    while (end - value >= WORD && is_plain_word(value))
        value += WORD;
    for (; value < end; value++)
        if (is_control(*value) && *value != '\t')
            return fault_of_value(*value);
    return NULL;
}
