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
