/* SPDX-License-Identifier: Apache-2.0
 * Counters of all children, shown on mod_status's page.
 *
 * Shared memory with a row for each child; a row is a struct of the module's, all apr_uint64_t.
 * Only its child writes it; any child reads it. It knows no counter's meaning beyond how to add it
 * up. */
#ifndef INTERPOOL_STATUS_BOARD_H
#define INTERPOOL_STATUS_BOARD_H

#include <httpd.h>

typedef struct status_board status_board;

typedef enum {
    STATUS_SUM, /* the total is the sum of the rows */
    STATUS_MAX, /* the total is the largest, such as a longest wait */
    STATUS_WORD /* an index into `words`; the total is the word, or "mixed" */
} status_kind;

typedef struct status_column {
    const char *name;  /* CamelCase; `?auto` prints prefix and name: "LuapoolIdle: 3" */
    const char *label; /* the heading in the HTML table */
    status_kind kind;
    apr_size_t offset;        /* of the apr_uint64_t in the row */
    const char *const *words; /* STATUS_WORD only, NULL-terminated */
} status_column;

/* What a module shows; constant, lives as long as the server. */
typedef struct status_layout {
    const char *prefix; /* "Luapool" */
    const char *title;  /* "Lua interpreters (mod_luapool)" */
    apr_size_t row_size;
    const status_column *columns; /* ended by one whose name is NULL */
} status_layout;

/* In post_config: makes a board with a row for each child the MPM may have (its hard limit), in
 * memory that children inherit. It lives as long as `pconf`; children of an earlier configuration
 * keep theirs and no longer show up. */
apr_status_t status_board_make(status_board **board, const status_layout *layout,
                               apr_pool_t *pconf);

/* In child_init: takes a row, zeroed, and gives it back when `pchild` goes; rows of children that
 * were killed are found by their process ids. Never NULL: without a free row (or with a NULL board)
 * the memory is private, and so not shown. */
void *status_board_claim(status_board *board, const status_layout *layout, apr_pool_t *pchild);

/* Prints the board as a table, or as `Key: value` lines of totals when `flags` (those of
 * mod_status's hook) has AP_STATUS_SHORT. Dead children's rows are left out. */
void status_board_print(const status_board *board, request_rec *r, int flags);

/* In register_hooks: `print` (int print(request_rec *r, int flags), which returns OK) is called for
 * mod_status's page. Nothing happens when mod_status is not loaded. */
void status_board_hook(int (*print)(request_rec *r, int flags));

#endif
