/* SPDX-License-Identifier: Apache-2.0
 * File information: req.finfo and apache.stat, a tuple whose elements have names too.
 *
 * A value, not a view: it is right for the moment it was made, and may be kept. */
#include "modules/python/server.h"

#include <apr_file_info.h>
#include "modules/python/text.h"

/* By apache.FINFO_*; `valid` has a name only. */
static PyStructSequence_Field finfo_fields[] = {{"protection", "access bits"},
                                                {"inode", NULL},
                                                {"device", NULL},
                                                {"nlink", "number of hard links"},
                                                {"user", "owner's id"},
                                                {"group", "group's id"},
                                                {"size", "bytes"},
                                                {"atime", "last access, seconds since 1970"},
                                                {"mtime", "last modification"},
                                                {"ctime", "last change of its metadata"},
                                                {"fname", "path"},
                                                {"name", "last part of the path"},
                                                {"filetype", "apache.APR_REG, ..."},
                                                {"valid", "apache.APR_FINFO_*: what is known"},
                                                {NULL, NULL}};

/* 13 elements, as mod_python documents; it had 12. */
static PyStructSequence_Desc finfo_desc = {.name = "_apache.finfo",
                                           .doc = "what is known of a file; None: not known",
                                           .fields = finfo_fields,
                                           .n_in_sequence = 13};

PyObject *pp_finfo_type_new(void)
{
    return (PyObject *)PyStructSequence_NewType(&finfo_desc);
}

/* New reference: None unless `known`. */
static PyObject *number(int known, long long value)
{
    return known ? PyLong_FromLongLong(value) : Py_NewRef(Py_None);
}

/* apr fills in what was asked for and says so in `valid`; the rest of the structure is noise. */
PyObject *pp_finfo_new(PyTypeObject *type, const apr_finfo_t *finfo)
{
    apr_int32_t valid = finfo->filetype == APR_NOFILE ? 0 : finfo->valid;
    /* In the order of finfo_fields. */
    PyObject *values[] = {
        number(valid & APR_FINFO_PROT, finfo->protection),
        number(valid & APR_FINFO_INODE, (long long)finfo->inode),
        number(valid & APR_FINFO_DEV, (long long)finfo->device),
        number(valid & APR_FINFO_NLINK, finfo->nlink),
        number(valid & APR_FINFO_USER, finfo->user),
        number(valid & APR_FINFO_GROUP, finfo->group),
        number(valid & APR_FINFO_SIZE, finfo->size),
        number(valid & APR_FINFO_ATIME, apr_time_sec(finfo->atime)),
        number(valid & APR_FINFO_MTIME, apr_time_sec(finfo->mtime)),
        number(valid & APR_FINFO_CTIME, apr_time_sec(finfo->ctime)),
        pp_text(finfo->fname),
        pp_text(valid & APR_FINFO_NAME ? finfo->name : NULL),
        number(1, finfo->filetype),
        number(valid != 0, valid),
    };
    PyObject *self = PyStructSequence_New(type);
    size_t i;

    /* SetItem steals. One failure drops the tuple; what comes after it is dropped one by one. */

    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (self && values[i])
            PyStructSequence_SetItem(self, (Py_ssize_t)i, values[i]);
        else
            Py_XDECREF(values[i]);
        if (!values[i])
            Py_CLEAR(self);
    }
    return self;
}

/* Borrowed. */
static PyObject *element(PyObject *value, int place)
{
    return PyStructSequence_GetItem(value, place);
}

/* The number at `place`; 0 for None. An exception is set when it is neither or does not fit. */
static long long number_at(PyObject *value, int place)
{
    PyObject *item = element(value, place);

    return item == Py_None ? 0 : PyLong_AsLongLong(item);
}

/* As number_at, of seconds that fit an apr_time_t. */
static apr_time_t time_at(PyObject *value, int place)
{
    const long long most = APR_INT64_MAX / APR_USEC_PER_SEC;
    long long seconds = number_at(value, place);

    if (seconds >= -most && seconds <= most)
        return apr_time_from_sec(seconds);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "req.finfo: %s is no time", finfo_fields[place].name);
    return 0;
}

/* 0, or -1. A text or None. */
static int text_at(PyObject *value, int place, apr_pool_t *pool, const char **text)
{
    PyObject *item = element(value, place);

    *text =
        item == Py_None ? NULL : pp_text_copy(pool, item, PP_TEXT_ANY, finfo_fields[place].name);
    return item == Py_None || *text ? 0 : -1;
}

int pp_finfo_read(PyTypeObject *type, PyObject *value, apr_pool_t *pool, apr_finfo_t *finfo)
{
    apr_finfo_t new = {0};

    if (Py_TYPE(value) != type) {
        PyErr_Format(PyExc_TypeError, "req.finfo must be what apache.stat gives, not %.100s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    /* Exceptions are looked for once, at the end: until then nothing is kept. */
    new.pool = pool;
    new.protection = (apr_fileperms_t)number_at(value, 0);
    new.inode = (apr_ino_t)number_at(value, 1);
    new.device = (apr_dev_t)number_at(value, 2);
    new.nlink = (apr_int32_t)number_at(value, 3);
    new.user = (apr_uid_t)number_at(value, 4);
    new.group = (apr_gid_t)number_at(value, 5);
    new.size = (apr_off_t)number_at(value, 6);
    new.atime = time_at(value, 7);
    new.mtime = time_at(value, 8);
    new.ctime = time_at(value, 9);
    new.filetype = (apr_filetype_e)number_at(value, 12);
    new.valid = (apr_int32_t)number_at(value, 13);
    if (PyErr_Occurred() || text_at(value, 10, pool, &new.fname) != 0 ||
        text_at(value, 11, pool, &new.name) != 0)
        return -1;
    *finfo = new;
    return 0;
}
