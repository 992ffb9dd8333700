/* SPDX-License-Identifier: Apache-2.0
 * The table object: made, read, compared; what changes it is in table_change.c.
 *
 * Nothing is cached: httpd and its modules change the same apr_table_t at any time. A lookup
 * compares names one by one, as APR does; tables of a request have some ten entries. Views and
 * iterators are lists made at once, so a table may be changed while it is walked through. */
#include "modules/python/table.h"

#include <strings.h>

/* New reference, zeroed: a half-made table can be dropped. */
static PyObject *table_alloc(PyTypeObject *type)
{
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

/* The pool is the request's, so nothing of the table itself has to be freed. */
PyObject *pp_table_new(PyTypeObject *type, apr_table_t *table, pp_guard *guard, PyObject *owner,
                       pp_text_kind kind)
{
    pp_table *self = (pp_table *)table_alloc(type);

    if (!self)
        return NULL;
    self->table = table;
    self->guard = guard;
    self->owner = Py_NewRef(owner);
    self->kind = kind;
    return (PyObject *)self;
}

/* A pool without a parent: it may be used by any thread, and ends with the object. */
PyObject *pp_table_copy(PyTypeObject *type, const apr_table_t *from)
{
    pp_table *self = (pp_table *)table_alloc(type);

    if (!self)
        return NULL;
    /* Never shut: the table lives as long as the object. Two threads may still use it at once. */
    pp_guard_init(&self->own_guard, NULL);
    self->guard = &self->own_guard;
    self->kind = PP_TEXT_ANY;
    if (apr_pool_create_unmanaged(&self->pool) != APR_SUCCESS) {
        self->pool = NULL;
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->table = from ? apr_table_clone(self->pool, from) : apr_table_make(self->pool, 8);
    return (PyObject *)self;
}

/* apr_table_do's callback; 1 goes on. */
static int add_if_set(void *to, const char *name, const char *value)
{
    if (*value)
        apr_table_add(to, name, value);
    return 1;
}

PyObject *pp_table_copy_set(PyTypeObject *type, const apr_table_t *from)
{
    PyObject *self = pp_table_copy(type, NULL);

    if (self && from)
        apr_table_do(add_if_set, ((pp_table *)self)->table, from, NULL);
    return self;
}

/* A table has an owner or a pool, never both. */
static void table_dealloc(PyObject *op)
{
    pp_table *self = (pp_table *)op;
    PyTypeObject *type = Py_TYPE(op);

    Py_XDECREF(self->owner);
    if (self->pool)
        apr_pool_destroy(self->pool);
    PyObject_Free(op);
    Py_DECREF(type);
}

/* ---- reading ---- */

/* New reference: the value of `name`, a list when it stands more than once and `all`; NULL without
 * an exception when there is none. */
static PyObject *find(pp_table *self, const char *name, int all)
{
    const apr_array_header_t *entries = apr_table_elts(self->table);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)entries->elts;
    PyObject *found = NULL;
    PyObject *list = NULL;
    int i;

    /* By hand and not by apr_table_get, which stops at the first. */
    for (i = 0; i < entries->nelts; i++) {
        if (strcasecmp(entry[i].key, name) != 0)
            continue;
        /* The second one: what was found first begins a list. */
        if (found && !list) {
            list = PyList_New(1);
            if (!list)
                goto failed;
            PyList_SET_ITEM(list, 0, Py_NewRef(found));
        }
        Py_XSETREF(found, pp_text(entry[i].val));
        if (!found || (list && PyList_Append(list, found) != 0))
            goto failed;
        if (!all)
            break;
    }
    if (list)
        Py_XSETREF(found, list);
    return found;

failed:
    Py_XDECREF(found);
    Py_XDECREF(list);
    return NULL;
}

/* As find, for a name that comes from the script; TypeError when it is no text. */
PyObject *pp_table_find(PyObject *op, PyObject *name, int all)
{
    pp_table *self = (pp_table *)op;
    PyObject *found = NULL;
    pp_bytes bytes;

    if (pp_text_open(&bytes, name, PP_TEXT_ANY, "a table's name") != 0)
        return NULL;
    if (pp_guard_enter(self->guard) == 0) {
        found = find(self, bytes.data, all);
        pp_guard_leave(self->guard);
    }
    pp_bytes_close(&bytes);
    return found;
}

PyObject *pp_table_subscript(PyObject *op, PyObject *name)
{
    PyObject *found = pp_table_find(op, name, 1);

    if (!found && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return found;
}

/* 1, 0, or -1 with TypeError when the name is no text. */
static int table_contains(PyObject *op, PyObject *name)
{
    PyObject *found = pp_table_find(op, name, 0);

    if (!found)
        return PyErr_Occurred() ? -1 : 0;
    Py_DECREF(found);
    return 1;
}

/* Entries, not names: len(t) is len(t.items()). */
static Py_ssize_t table_length(PyObject *op)
{
    pp_table *self = (pp_table *)op;
    Py_ssize_t n;

    if (pp_guard_enter(self->guard) != 0)
        return -1;
    n = apr_table_elts(self->table)->nelts;
    pp_guard_leave(self->guard);
    return n;
}

/* New reference: what a list of keys, values or items holds for one entry. */
static PyObject *entry_object(const apr_table_entry_t *entry, pp_list_what what)
{
    PyObject *key;
    PyObject *value;
    PyObject *pair = NULL;

    /* A value may be NULL: httpd itself puts such entries into subprocess_env. It becomes None. */
    if (what != PP_LIST_ITEMS)
        return pp_text(what == PP_LIST_KEYS ? entry->key : entry->val);
    key = pp_text(entry->key);
    value = pp_text(entry->val);
    if (key && value)
        pair = PyTuple_Pack(2, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return pair;
}

/* New reference: one element for each entry, in the order of the table. */
PyObject *pp_table_list(PyObject *op, pp_list_what what)
{
    pp_table *self = (pp_table *)op;
    const apr_array_header_t *entries;
    PyObject *list;
    int i;

    if (pp_guard_enter(self->guard) != 0)
        return NULL;
    entries = apr_table_elts(self->table);
    list = PyList_New(entries->nelts);
    for (i = 0; list && i < entries->nelts; i++) {
        PyObject *element = entry_object(&((apr_table_entry_t *)entries->elts)[i], what);

        if (element)
            PyList_SET_ITEM(list, i, element);
        else
            Py_CLEAR(list);
    }
    pp_guard_leave(self->guard);
    return list;
}

/* New reference: an iterator over a list made now. */
static PyObject *iterate(PyObject *op, pp_list_what what)
{
    PyObject *list = pp_table_list(op, what);
    PyObject *iterator = NULL;

    if (list) {
        iterator = PyObject_GetIter(list);
        Py_DECREF(list);
    }
    return iterator;
}

static PyObject *table_iter(PyObject *op)
{
    return iterate(op, PP_LIST_KEYS);
}

/* keys(), values(), items() and their iterators: METH_NOARGS passes a second argument that is NULL.
 */
static PyObject *table_keys(PyObject *op, PyObject *unused)
{
    (void)unused;
    return pp_table_list(op, PP_LIST_KEYS);
}

static PyObject *table_values(PyObject *op, PyObject *unused)
{
    (void)unused;
    return pp_table_list(op, PP_LIST_VALUES);
}

static PyObject *table_items(PyObject *op, PyObject *unused)
{
    (void)unused;
    return pp_table_list(op, PP_LIST_ITEMS);
}

static PyObject *table_iterkeys(PyObject *op, PyObject *unused)
{
    (void)unused;
    return iterate(op, PP_LIST_KEYS);
}

static PyObject *table_itervalues(PyObject *op, PyObject *unused)
{
    (void)unused;
    return iterate(op, PP_LIST_VALUES);
}

static PyObject *table_iteritems(PyObject *op, PyObject *unused)
{
    (void)unused;
    return iterate(op, PP_LIST_ITEMS);
}

/* has_key(name): bool */
static PyObject *table_has_key(PyObject *op, PyObject *name)
{
    int there = table_contains(op, name);

    return there < 0 ? NULL : PyBool_FromLong(there);
}

/* The first value, as mod_python gives it, so that a header sent twice is still a str. */
static PyObject *table_get(PyObject *op, PyObject *args)
{
    PyObject *name;
    PyObject *otherwise = Py_None;
    PyObject *found;

    if (!PyArg_ParseTuple(args, "O|O:get", &name, &otherwise))
        return NULL;
    found = pp_table_find(op, name, 0);
    if (!found && !PyErr_Occurred())
        return Py_NewRef(otherwise);
    return found;
}

/* As a dict shows itself; a name that stands twice is shown twice. */
static PyObject *table_repr(PyObject *op)
{
    PyObject *items = pp_table_list(op, PP_LIST_ITEMS);
    PyObject *text = NULL;
    Py_ssize_t i;

    /* Joined piece by piece: tables are short, and nobody prints them often. */
    for (i = 0; items && i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        PyObject *longer =
            PyUnicode_FromFormat("%V%s%R: %R", text, "", text ? ", " : "",
                                 PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));

        Py_XSETREF(text, longer);
        if (!longer)
            Py_CLEAR(items);
    }
    if (items) {
        Py_DECREF(items);
        Py_XSETREF(text, PyUnicode_FromFormat("{%V}", text, ""));
    }
    return text;
}

/* ---- comparing ---- */

/* 0, or -1. Puts (key, value) into `folded` under the key in lower case; values of one key make a
 * list. */
static int fold(PyObject *folded, PyObject *key, PyObject *value)
{
    PyObject *lower =
        PyUnicode_Check(key) ? PyObject_CallMethod(key, "lower", NULL) : Py_NewRef(key);
    PyObject *list;
    PyObject *before;
    int rc = -1;

    if (!lower)
        return -1;
    before = PyDict_GetItemWithError(folded, lower); /* borrowed */
    if (!before && !PyErr_Occurred())
        rc = PyDict_SetItem(folded, lower, value);
    else if (before && PyList_Check(before))
        rc = PyList_Append(before, value);
    else if (before && (list = Py_BuildValue("[OO]", before, value)) != NULL) {
        rc = PyDict_SetItem(folded, lower, list);
        Py_DECREF(list);
    }
    Py_DECREF(lower);
    return rc;
}

/* New reference: a dict with keys in lower case. */
static PyObject *folded_dict(PyObject *mapping)
{
    PyObject *items =
        PyDict_Check(mapping) ? PyDict_Items(mapping) : pp_table_list(mapping, PP_LIST_ITEMS);
    PyObject *folded = items ? PyDict_New() : NULL;
    Py_ssize_t i;

    for (i = 0; folded && i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);

        if (fold(folded, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1)) != 0)
            Py_CLEAR(folded);
    }
    Py_XDECREF(items);
    return folded;
}

/* Only == and != mean something; anything but a dict or a table compares by identity. */
static PyObject *table_richcompare(PyObject *op, PyObject *other, int how)
{
    PyObject *mine;
    PyObject *theirs;
    PyObject *answer = NULL;

    if ((how != Py_EQ && how != Py_NE) || (!PyDict_Check(other) && Py_TYPE(op) != Py_TYPE(other)))
        Py_RETURN_NOTIMPLEMENTED;
    /* Two dicts compare as Python compares them, so values are equal as str and list are. */
    mine = folded_dict(op);
    theirs = mine ? folded_dict(other) : NULL;
    if (theirs)
        answer = PyObject_RichCompare(mine, theirs, how);
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    return answer;
}

/* copy(): lives as long as the script wants, even when the original is a request's */
static PyObject *table_copy(PyObject *op, PyObject *unused)
{
    pp_table *self = (pp_table *)op;
    PyObject *copy;

    (void)unused;
    if (pp_guard_enter(self->guard) != 0)
        return NULL;
    copy = pp_table_copy(Py_TYPE(op), self->table);
    pp_guard_leave(self->guard);
    return copy;
}

/* apache.table([mapping or pairs]) */
static PyObject *table_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *source = NULL;
    PyObject *self;

    /* table(name="value") would lose header names with '-': as in mod_python there is no such form.
     */
    if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "table() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "|O:table", &source))
        return NULL;
    /* A copy keeps names that stand more than once in their order; filling would group them. */
    if (source && Py_TYPE(source) == type)
        return table_copy(source, NULL);
    self = pp_table_copy(type, NULL);
    if (self && source && pp_table_fill((pp_table *)self, source) != 0)
        Py_CLEAR(self);
    return self;
}

/* mod_python's names, with pop besides. */
static PyMethodDef table_methods[] = {
    {"add", pp_table_add, METH_VARARGS, "add(name, value): one more entry, whatever is there"},
    {"clear", pp_table_clear, METH_NOARGS, "Removes every entry."},
    {"copy", table_copy, METH_NOARGS, "A table of its own with the same entries."},
    {"get", table_get, METH_VARARGS, "get(name[, default]): the first value of name"},
    {"has_key", table_has_key, METH_O, "has_key(name): name in table"},
    {"items", table_items, METH_NOARGS, "List of (name, value), one for each entry."},
    {"iteritems", table_iteritems, METH_NOARGS, "Iterator over items()."},
    {"iterkeys", table_iterkeys, METH_NOARGS, "Iterator over keys()."},
    {"itervalues", table_itervalues, METH_NOARGS, "Iterator over values()."},
    {"keys", table_keys, METH_NOARGS, "List of names, one for each entry."},
    {"pop", pp_table_pop, METH_VARARGS, "pop(name[, default]): removes name, gives what it held"},
    {"popitem", pp_table_popitem, METH_NOARGS, "Removes the first name, gives (name, value)."},
    {"setdefault", pp_table_setdefault, METH_VARARGS,
     "setdefault(name[, value='']): get, or set it"},
    {"update", pp_table_update, METH_O, "update(mapping or pairs): sets each"},
    {"values", table_values, METH_NOARGS, "List of values, one for each entry."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot table_slots[] = {{Py_tp_new, table_tp_new},
                                    {Py_tp_dealloc, table_dealloc},
                                    {Py_tp_repr, table_repr},
                                    {Py_tp_hash, PyObject_HashNotImplemented},
                                    {Py_tp_richcompare, table_richcompare},
                                    {Py_tp_iter, table_iter},
                                    {Py_tp_methods, table_methods},
                                    {Py_mp_length, table_length},
                                    {Py_mp_subscript, pp_table_subscript},
                                    {Py_mp_ass_subscript, pp_table_ass_subscript},
                                    {Py_sq_contains, table_contains},
                                    {0, NULL}};

static PyType_Spec table_spec = {.name = "_apache.table",
                                 .basicsize = sizeof(pp_table),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = table_slots};

PyObject *pp_table_type_new(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &table_spec, NULL);
}
