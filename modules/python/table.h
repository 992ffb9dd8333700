/* SPDX-License-Identifier: Apache-2.0
 * The table object: a mapping over an apr_table_t. Names are compared without regard to case and
 * may stand more than once. A table of a request (headers, notes, ...) refuses every access once
 * the request is over; a table made by the script has a pool of its own. */
#ifndef INTERPOOL_PYTHON_TABLE_H
#define INTERPOOL_PYTHON_TABLE_H

#include "modules/python/guard.h"
#include "modules/python/text.h"
#include <apr_tables.h>

typedef struct pp_table {
    PyObject_HEAD
    apr_table_t *table;
    pp_guard *guard;   /* the owner's, or its own */
    PyObject *owner;   /* NULL: made by a script */
    apr_pool_t *pool;  /* of a table made by a script */
    pp_text_kind kind; /* of the values */
    pp_guard own_guard;
} pp_table;

typedef enum pp_list_what {
    PP_LIST_KEYS,
    PP_LIST_VALUES,
    PP_LIST_ITEMS
} pp_list_what;

/* New reference: the heap type, made once for each interpreter. */
PyObject *pp_table_type_new(PyObject *module);

/* New reference: a view of `table`, which lives as long as `guard` lets in; `owner` keeps the guard
 * alive. `kind` says what values may contain. */
PyObject *pp_table_new(PyTypeObject *type, apr_table_t *table, pp_guard *guard, PyObject *owner,
                       pp_text_kind kind);

/* New reference: a table of its own, with the entries of `from` (NULL: empty). */
PyObject *pp_table_copy(PyTypeObject *type, const apr_table_t *from);

/* New reference: as pp_table_copy, but without entries whose value is empty. */
PyObject *pp_table_copy_set(PyTypeObject *type, const apr_table_t *from);

/* Between table.c and table_change.c. All take a table object. */

/* New reference: the value of `name` (a list when it stands more than once and `all`), or NULL,
 * without an exception when there is none. */
PyObject *pp_table_find(PyObject *table, PyObject *name, int all);
/* As pp_table_find with `all`; KeyError when there is none. */
PyObject *pp_table_subscript(PyObject *table, PyObject *name);
/* New reference: list with one element for each entry, in the order of the table. */
PyObject *pp_table_list(PyObject *table, pp_list_what what);
/* 0, or -1. Stores what `source` holds: a table, a mapping or (name, value) pairs. */
int pp_table_fill(pp_table *self, PyObject *source);

/* The methods that change a table. */
int pp_table_ass_subscript(PyObject *op, PyObject *name, PyObject *value);
PyObject *pp_table_add(PyObject *op, PyObject *args);
PyObject *pp_table_setdefault(PyObject *op, PyObject *args);
PyObject *pp_table_pop(PyObject *op, PyObject *args);
PyObject *pp_table_popitem(PyObject *op, PyObject *unused);
PyObject *pp_table_clear(PyObject *op, PyObject *unused);
PyObject *pp_table_update(PyObject *op, PyObject *source);

#endif
