/* SPDX-License-Identifier: Apache-2.0
 * One self-contained page: page.html (made a string by the build) with the JSON in its middle.
 *
 * The page needs no network and no other file. The data stand in a script element that is not run;
 * the JSON writer escapes "<", so that no text of a server or user can end it. */
#include "output.h"

#include <string.h>

void output_html(const struct result *r, FILE *out)
{
    const char *mark = strstr(output_page, "@DATA@");

    fwrite(output_page, 1, (size_t)(mark - output_page), out);
    output_json(r, out);
    fputs(mark + strlen("@DATA@"), out);
}
