/* SPDX-License-Identifier: Apache-2.0
 * What changes a table: names and values are checked before anything is stored.
 *
 * Both are copied into the table's pool, and what is replaced stays there until the pool ends: for
 * a table of a request that is the request, for one made by a script the object. */
#include "modules/python/table.h"

#include <string.h>
#include "modules/common/header_check.h"

/* What a list or tuple of values means: the name once for each, replacing what was there. */
static int store_all(pp_table *self, const char *name, PyObject *values)
{
    apr_table_t *table = self->table;
    apr_pool_t *pool = apr_table_elts(table)->pool;
    PyObject *tuple = PySequence_Tuple(values);
    const char **texts;
    Py_ssize_t i;
    Py_ssize_t n;
    int rc = -1;

    if (!tuple)
        return -1;
    n = PyTuple_GET_SIZE(tuple);
    texts = apr_palloc(pool, (apr_size_t)(n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++) {
        texts[i] = pp_text_copy(pool, PyTuple_GET_ITEM(tuple, i), self->kind, name);
        if (!texts[i])
            goto cleanup;
    }
    /* From here on nothing can fail. */
    apr_table_unset(table, name);
    for (i = 0; i < n; i++)
        apr_table_addn(table, name, texts[i]);
    rc = 0;

cleanup:
    Py_DECREF(tuple);
    return rc;
}

/* 0, or -1. `name` is in the table's pool already. */
static int store_one(pp_table *self, const char *name, PyObject *value, int add)
{
    const char *text = pp_text_copy(apr_table_elts(self->table)->pool, value, self->kind, name);

    if (!text)
        return -1;
    /* setn drops every other entry of that name, as mod_python's tables do. */
    if (add)
        apr_table_addn(self->table, name, text);
    else
        apr_table_setn(self->table, name, text);
    return 0;
}

/* The name in the table's pool, or NULL with an exception. */
static const char *copy_name(pp_table *self, PyObject *name)
{
    const char *key =
        pp_text_copy(apr_table_elts(self->table)->pool, name, PP_TEXT_LINE, "a table's name");
    const char *why = NULL;

    if (key && self->kind == PP_TEXT_HEADER)
        why = header_check_name(key, strlen(key));
    else if (key && !*key)
        why = "a table's name must not be empty";
    if (why) {
        PyErr_Format(PyExc_ValueError, "%R: %s", name, why);
        return NULL;
    }
    return key;
}

/* 0, or -1 with an exception that names the entry; then the table is as before. */
static int store(pp_table *self, PyObject *name, PyObject *value, int add)
{
    const char *key;
    int rc = -1;

    if (pp_guard_enter(self->guard) != 0)
        return -1;
    /* The copy is made inside the guard, since the pool is the request's. */
    key = copy_name(self, name);
    if (key && !add && (PyList_Check(value) || PyTuple_Check(value)))
        rc = store_all(self, key, value);
    else if (key)
        rc = store_one(self, key, value, add);
    pp_guard_leave(self->guard);
    return rc;
}

/* table[name] = value, and del table[name]; as in mod_python a name that is missing can be deleted.
 */
int pp_table_ass_subscript(PyObject *op, PyObject *name, PyObject *value)
{
    pp_table *self = (pp_table *)op;
    pp_bytes bytes;
    int rc = -1;

    if (value)
        return store(self, name, value, 0);
    if (pp_text_open(&bytes, name, PP_TEXT_ANY, "a table's name") != 0)
        return -1;
    if (pp_guard_enter(self->guard) == 0) {
        apr_table_unset(self->table, bytes.data);
        pp_guard_leave(self->guard);
        rc = 0;
    }
    pp_bytes_close(&bytes);
    return rc;
}

/* add(name, value) */
PyObject *pp_table_add(PyObject *op, PyObject *args)
{
    PyObject *name;
    PyObject *value;

    if (!PyArg_ParseTuple(args, "OO:add", &name, &value) ||
        store((pp_table *)op, name, value, 1) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* setdefault(name[, value]): mod_python's default is '', not None, which no table can hold */
PyObject *pp_table_setdefault(PyObject *op, PyObject *args)
{
    PyObject *name;
    PyObject *value = NULL;
    PyObject *found;

    if (!PyArg_ParseTuple(args, "O|O:setdefault", &name, &value))
        return NULL;
    found = pp_table_find(op, name, 0);
    if (found || PyErr_Occurred())
        return found;
    /* Given back as it was given, as dict does, though the table holds text. */
    value = value ? Py_NewRef(value) : PyUnicode_FromString("");
    if (value && store((pp_table *)op, name, value, 0) != 0)
        Py_CLEAR(value);
    return value;
}

/* pop(name[, default]): what table[name] was; KeyError when it was nothing and there is no default
 */
PyObject *pp_table_pop(PyObject *op, PyObject *args)
{
    PyObject *name;
    PyObject *otherwise = NULL;
    PyObject *found;

    if (!PyArg_ParseTuple(args, "O|O:pop", &name, &otherwise))
        return NULL;
    /* Another thread may take the same name in between: both then have it, and it is gone once. */
    found = pp_table_find(op, name, 1);
    if (found && pp_table_ass_subscript(op, name, NULL) != 0)
        Py_CLEAR(found);
    if (found || PyErr_Occurred())
        return found;
    if (otherwise)
        return Py_NewRef(otherwise);
    PyErr_SetObject(PyExc_KeyError, name);
    return NULL;
}

/* The first name with all its values, which leave together. */
PyObject *pp_table_popitem(PyObject *op, PyObject *unused)
{
    PyObject *keys = pp_table_list(op, PP_LIST_KEYS);
    PyObject *pair = NULL;
    PyObject *key;
    PyObject *value;

    (void)unused;
    if (!keys)
        return NULL;
    if (PyList_GET_SIZE(keys) == 0) {
        PyErr_SetString(PyExc_KeyError, "popitem(): the table is empty");
    } else {
        key = PyList_GET_ITEM(keys, 0);
        value = pp_table_subscript(op, key);
        if (value && pp_table_ass_subscript(op, key, NULL) == 0)
            pair = PyTuple_Pack(2, key, value);
        Py_XDECREF(value);
    }
    Py_DECREF(keys);
    return pair;
}

/* clear(): the entries go; their memory stays with the pool */
PyObject *pp_table_clear(PyObject *op, PyObject *unused)
{
    pp_table *self = (pp_table *)op;

    (void)unused;
    if (pp_guard_enter(self->guard) != 0)
        return NULL;
    apr_table_clear(self->table);
    pp_guard_leave(self->guard);
    Py_RETURN_NONE;
}

/* 0, or -1: stores the (name, value) pairs that `pairs` yields. */
static int store_pairs(pp_table *self, PyObject *pairs, int add)
{
    PyObject *iterator = PyObject_GetIter(pairs);
    PyObject *item;
    int rc = 0;

    if (!iterator)
        return -1;
    /* Stops at the first pair that can't be stored; those before it are. */
    while (rc == 0 && (item = PyIter_Next(iterator)) != NULL) {
        PyObject *pair = PySequence_Tuple(item);

        if (pair && PyTuple_GET_SIZE(pair) != 2)
            PyErr_Format(PyExc_ValueError, "a table takes (name, value) pairs, not %R", item);
        rc = pair && PyTuple_GET_SIZE(pair) == 2
                 ? store(self, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), add)
                 : -1;
        Py_XDECREF(pair);
        Py_DECREF(item);
    }
    Py_DECREF(iterator);
    return PyErr_Occurred() ? -1 : rc;
}

/* New reference: list of (name, value) of a table, where a name that stands n times has a list. */
static PyObject *merged_items(PyObject *table)
{
    PyObject *keys = pp_table_list(table, PP_LIST_KEYS);
    Py_ssize_t i;

    for (i = 0; keys && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        PyObject *value = pp_table_subscript(table, key);
        PyObject *pair = value ? PyTuple_Pack(2, key, value) : NULL;

        Py_XDECREF(value);
        if (!pair || PyList_SetItem(keys, i, pair) != 0)
            Py_CLEAR(keys);
    }
    return keys;
}

/* Decides what `source` is; a table first, since it would do as a mapping but its lists would be
 * lost. */
int pp_table_fill(pp_table *self, PyObject *source)
{
    PyObject *items;
    int rc;

    if (Py_TYPE(source) == Py_TYPE(self)) {
        items = merged_items(source);
        /* What dict.update takes for a mapping. */
    } else if (PyMapping_Check(source) && PyObject_HasAttrString(source, "keys")) {
        items = PyMapping_Items(source);
    } else {
        items = Py_NewRef(source);
    }
    if (!items)
        return -1;
    rc = store_pairs(self, items, 0);
    Py_DECREF(items);
    return rc;
}

/* update(source) */
PyObject *pp_table_update(PyObject *op, PyObject *source)
{
    if (pp_table_fill((pp_table *)op, source) != 0)
        return NULL;
    Py_RETURN_NONE;
}
