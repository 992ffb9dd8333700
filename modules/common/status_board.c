/* SPDX-License-Identifier: Apache-2.0
 * Counters of all children in anonymous shared memory, which children inherit. */
#include "modules/common/status_board.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <ap_mpm.h>
#include <apr_optional_hooks.h>
#include <apr_shm.h>
#include <http_protocol.h>
#include <mod_status.h>

#define CACHE_LINE 64

/* A row; the module's struct follows. A row of its own for each child means that no cache line is
 * written by two of them. */
typedef struct row {
    apr_int64_t pid; /* atomic; 0: free */
} row;

struct status_board {
    const status_layout *layout;
    char *rows;
    int count;
    apr_size_t stride;
};

static row *row_at(const status_board *board, int i)
{
    return (row *)(board->rows + i * board->stride);
}

static void *cells(row *taken)
{
    return taken + 1;
}

apr_status_t status_board_make(status_board **made, const status_layout *layout, apr_pool_t *pconf)
{
    status_board *board = apr_pcalloc(pconf, sizeof(*board));
    apr_shm_t *shm;
    apr_status_t rv = ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &board->count);

    if (rv != APR_SUCCESS)
        return rv;
    board->layout = layout;
    board->stride = APR_ALIGN(sizeof(row) + layout->row_size, CACHE_LINE);
    rv = apr_shm_create(&shm, board->stride * board->count, NULL, pconf);
    if (rv != APR_SUCCESS)
        return rv;
    board->rows = apr_shm_baseaddr_get(shm);
    memset(board->rows, 0, board->stride * board->count);
    *made = board;
    return APR_SUCCESS;
}

static int swap_pid(row *taken, apr_int64_t from, apr_int64_t to)
{
    return __atomic_compare_exchange_n(&taken->pid, &from, to, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* The process of a row, or 0 when it is free or its process is gone. */
static apr_int64_t living_pid(const row *taken)
{
    apr_int64_t pid = __atomic_load_n(&taken->pid, __ATOMIC_ACQUIRE);

    if (pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return 0;
    return pid;
}

static apr_status_t give_back(void *taken)
{
    swap_pid(taken, getpid(), 0);
    return APR_SUCCESS;
}

/* Takes a row that is free or, failing that, one whose process was killed. */
static row *claim_row(status_board *board)
{
    int i;

    for (i = 0; i < board->count; i++)
        if (swap_pid(row_at(board, i), 0, getpid()))
            return row_at(board, i);
    for (i = 0; i < board->count; i++) {
        row *taken = row_at(board, i);
        apr_int64_t pid = __atomic_load_n(&taken->pid, __ATOMIC_ACQUIRE);

        if (pid && !living_pid(taken) && swap_pid(taken, pid, getpid()))
            return taken;
    }
    return NULL;
}

void *status_board_claim(status_board *board, const status_layout *layout, apr_pool_t *pchild)
{
    row *taken = board ? claim_row(board) : NULL;

    if (!taken)
        return apr_pcalloc(pchild, layout->row_size);
    memset(cells(taken), 0, layout->row_size);
    apr_pool_cleanup_register(pchild, taken, give_back, apr_pool_cleanup_null);
    return cells(taken);
}

static apr_uint64_t cell(row *taken, const status_column *column)
{
    return __atomic_load_n((apr_uint64_t *)((char *)cells(taken) + column->offset),
                           __ATOMIC_RELAXED);
}

/* A total while rows are added to it. */
typedef struct total {
    apr_uint64_t value;
    int rows;
    int mixed;
} total;

static void add(total *t, const status_column *column, apr_uint64_t value)
{
    switch (column->kind) {
    case STATUS_SUM:
        t->value += value;
        break;
    case STATUS_MAX:
        if (value > t->value)
            t->value = value;
        break;
    case STATUS_WORD:
        t->mixed |= t->rows > 0 && t->value != value;
        t->value = value;
        break;
    }
    t->rows++;
}

static total add_up(const status_board *board, const status_column *column)
{
    total t = {0};
    int i;

    for (i = 0; i < board->count; i++)
        if (living_pid(row_at(board, i)))
            add(&t, column, cell(row_at(board, i), column));
    return t;
}

/* A value between `before` and `after`. */
static void print_value(request_rec *r, const char *before, const status_column *column, total t,
                        const char *after)
{
    apr_uint64_t i;

    if (column->kind != STATUS_WORD) {
        ap_rprintf(r, "%s%" APR_UINT64_T_FMT "%s", before, t.value, after);
        return;
    }
    for (i = 0; i < t.value && column->words[i]; i++)
        continue;
    ap_rputs(before, r);
    ap_rputs(t.mixed ? "mixed" : column->words[i] ? column->words[i] : "-", r);
    ap_rputs(after, r);
}

/* `prefix`Name: value */
static void print_lines(const status_board *board, request_rec *r, const char *prefix)
{
    const status_column *column;

    for (column = board->layout->columns; column->name; column++) {
        ap_rputs(prefix, r);
        ap_rputs(column->name, r);
        print_value(r, ": ", column, add_up(board, column), "\n");
    }
}

static void print_table(const status_board *board, request_rec *r)
{
    const status_column *columns = board->layout->columns;
    const status_column *column;
    int i;

    ap_rputs("<table border=\"0\"><tr><th>Child</th>", r);
    for (column = columns; column->name; column++)
        ap_rvputs(r, "<th>", column->label, "</th>", NULL);
    for (i = 0; i < board->count; i++) {
        row *taken = row_at(board, i);
        apr_int64_t pid = living_pid(taken);

        if (!pid)
            continue;
        ap_rprintf(r, "</tr>\n<tr><td>%" APR_INT64_T_FMT "</td>", pid);
        for (column = columns; column->name; column++)
            print_value(r, "<td>", column, (total){.value = cell(taken, column)}, "</td>");
    }
    ap_rputs("</tr>\n<tr><td>all</td>", r);
    for (column = columns; column->name; column++)
        print_value(r, "<td>", column, add_up(board, column), "</td>");
    ap_rputs("</tr></table>\n", r);
}

void status_board_print(const status_board *board, request_rec *r, int flags)
{
    if (flags & AP_STATUS_SHORT) {
        print_lines(board, r, board->layout->prefix);
        return;
    }
    ap_rvputs(r, "<hr>\n<h2>", board->layout->title, "</h2>\n", NULL);
    if (flags & AP_STATUS_NOTABLE) {
        ap_rputs("<pre>", r);
        print_lines(board, r, "");
        ap_rputs("</pre>\n", r);
    } else {
        print_table(board, r);
    }
}

void status_board_hook(int (*print)(request_rec *r, int flags))
{
    APR_OPTIONAL_HOOK(ap, status_hook, print, NULL, NULL, APR_HOOK_MIDDLE);
}
