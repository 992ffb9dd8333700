# SPDX-License-Identifier: Apache-2.0
"""Finds, loads and reloads the modules that handlers are in.

Each directory whose modules serve requests is a *space*: its modules see each other by their plain
names, and modules of other directories with the same names are other modules. A space's module is
`sys.modules[name]` as usual, unless another module has that name already: then it gets a name of
its own (`_mp_<directory>_<name>`), and import statements inside the space find it all the same,
because the interpreter's `__import__` asks Space.rename() first (script.c).

When a file of a space has changed the whole space is loaded anew, so that old and new classes
never mix. Requests that are under way finish with the code they began with.
"""
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
import time

import _apache

_STDLIB = getattr(sys, 'stdlib_module_names', frozenset(sys.builtin_module_names))
_SPACE = '__mod_python_space__'   # the global of a space's module that names its space

_spaces = {}        # directory -> Space
_plain = {}         # module name -> _Plain
_packages = {}      # name of a space's package -> Space, for the submodules' imports
_paths_seen = set()  # PythonPath expressions already applied
refuse = None       # called with the name of a module, raises ImportError when it must not be loaded here


# What threads wait for: the locks of this file, and those that importlib has for single modules (a lock, or a
# list of them since 3.12). Each of both kinds names its owner.
_waiting = {}
_importing = getattr(importlib._bootstrap, '_blocking_on', {})


def _blocker(thread):
    """The thread for which another one waits, or None."""
    wanted = _waiting.get(thread) or _importing.get(thread)
    if isinstance(wanted, list):
        wanted = wanted[-1] if wanted else None
    return getattr(wanted, 'owner', None)


def _waits_for_itself(thread):
    """Whether it would wait for ever, and is the one of a circle that has to go on."""
    circle = [thread]
    while (blocker := _blocker(circle[-1])) is not None and blocker not in circle:
        circle.append(blocker)
    return blocker == thread == min(one for one in circle if one in _waiting)


def _locked(watched, function, *args):
    """function(*args) with the lock of `watched` held, for which a thread may wait as long as others load modules:
    in slices, since no time limit ends a wait within one call. Threads that import each other's modules
    go on as in Python itself, with what there is of them: its owner can't use the lock meanwhile."""
    me = threading.get_ident()
    try:
        while (result := _apache.locked(watched.lock, 0.1, watched.own, me, function, args)) is NotImplemented:
            _waiting[me] = watched
            if _waits_for_itself(me):
                break
    finally:
        _waiting.pop(me, None)
    return function(*args) if result is NotImplemented else result


class _Source(importlib.machinery.SourceFileLoader):
    """Always compiles the source: neither stale nor planted bytecode is run."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


_LOADERS = ((importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
            (_Source, importlib.machinery.SOURCE_SUFFIXES))


def _stamp(path):
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns // 1000, found.st_size, found.st_ino  # in httpd's resolution


class _Watched:
    """Files that were loaded, and whether one has changed since: asked at most once a second."""

    def __init__(self):
        self.lock = threading.RLock()  # taken by _locked() only
        self.owner = None  # the thread that holds the lock
        self.generation = 0
        self._stamps = {}
        self._asked = 0
        self._stale = False
        self._loading = 0  # modules being executed; guarded by lock

    def own(self, thread, function, args):
        """function(*args) for the thread that has just got the lock."""
        again = self.owner == thread
        self.owner = thread
        try:
            return function(*args)
        finally:
            if not again:
                self.owner = None

    def watch(self, path):
        if path and path not in self._stamps:
            self._stamps[path] = _stamp(path)

    def changed(self):
        now = int(time.time())
        if not self._stale and now != self._asked:
            self._asked = now
            self._stale = any(_stamp(path) != stamp
                              for path, stamp in list(self._stamps.items()))
        return self._stale

    def look(self, seen):
        """Forgets what was loaded if a file has changed. `seen` is what httpd found just now: a
        path and its stamp, or None. The lock is held."""
        if self._loading:
            return  # the modules of one loading belong together
        if seen is not None and self._stamps.get(seen[0], seen[1]) != seen[1]:
            self._stale = True
        if self.changed():
            self.forget()

    def stamp(self, path):
        """The stamp with which a file was loaded, or None."""
        return self._stamps.get(path)

    def forget(self):
        self._stamps = {}
        self._stale = False
        self.generation += 1


class Space(_Watched):
    """The modules of one directory."""

    def __init__(self, directory):
        super().__init__()
        self.directory = directory
        self.modules = {}    # plain name -> module, or what it has put in its place
        self._full = {}      # plain name -> name in sys.modules
        self._absent = set()  # names that are not here

    def rename(self, name):
        """The full name under which a module of this space, or any other module, is imported."""
        top, dot, rest = name.partition('.')
        if self.load(top) is None:
            return name
        return self._full[top] + dot + rest

    def load(self, name):
        """The module `name` of the directory, or None when it has none."""
        module = self.modules.get(name)
        if module is not None and not getattr(getattr(module, '__spec__', None), '_initializing', False):
            return module
        if name in self._absent:
            return None
        return _locked(self, self._load, name)

    def _load(self, name):
        module = self.modules.get(name)
        if module is None and name not in self._absent:
            module = self._find(name)
            if module is None:
                self._absent.add(name)
        return module

    def handler(self, name, reload, seen):
        """load() for a module of the directory, or None when it has none. The lock is held."""
        if reload:
            self.look(seen)
        if self.load(name.partition('.')[0]) is None:
            return None
        module = importlib.import_module(self.rename(name))
        self.watch_all()
        return module, (self, self.generation)

    def _find(self, name):
        if refuse:
            refuse(name)
        spec = importlib.machinery.FileFinder(self.directory, *_LOADERS).find_spec(name)
        if spec is None or spec.loader is None:  # without a loader: a mere folder
            return None
        other = sys.modules.get(name)
        if other is not None and getattr(other, '__spec__', None) is not None \
                and other.__spec__.origin == spec.origin:
            self._full[name] = name
            self.modules[name] = other
            self._watch_module(other)
            return other
        if other is not None or name in _STDLIB:
            import hashlib  # seldom needed
            digest = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:12]
            full = f'_mp_{digest}_{name}'
            spec = importlib.util.spec_from_file_location(
                full, spec.origin, loader=type(spec.loader)(full, spec.origin),
                submodule_search_locations=spec.submodule_search_locations)
        return self._execute(name, spec)

    def _execute(self, name, spec):
        module = importlib.util.module_from_spec(spec)
        setattr(module, _SPACE, self)
        self._stamps[spec.origin] = _stamp(spec.origin)  # before it is read
        self._full[name] = spec.name
        sys.modules[spec.name] = self.modules[name] = module
        if spec.submodule_search_locations is not None:
            _packages[spec.name] = self
        spec._initializing = True
        self._loading += 1
        try:
            spec.loader.exec_module(module)
        except BaseException:
            self.modules.pop(name, None)
            sys.modules.pop(spec.name, None)
            raise
        finally:
            spec._initializing = False
            self._loading -= 1
        self.modules[name] = module = sys.modules.get(spec.name, module)
        return module

    def _watch_module(self, module):
        self.watch(getattr(module, '__file__', None))

    def watch_all(self):
        """Submodules, which Python loads by itself, are found afterwards."""
        packages = tuple(self._full[name] + '.' for name, module in list(self.modules.items())
                         if hasattr(module, '__path__'))
        if packages:
            for name, module in list(sys.modules.items()):
                if name.startswith(packages):
                    self._watch_module(module)

    def changed(self):
        self._absent.clear()  # files may have been added
        if super().changed():
            return True
        self.watch_all()
        return False

    def forget(self):
        super().forget()
        for plain in list(self.modules):
            name = self._full[plain]
            _packages.pop(name, None)
            for loaded in [key for key in list(sys.modules)
                           if key == name or key.startswith(name + '.')]:
                del sys.modules[loaded]
        self.modules = {}


class _Plain(_Watched):
    """A module found on sys.path, reloaded in place."""

    def __init__(self, name):
        super().__init__()
        self.module = importlib.import_module(name)
        self.watch(getattr(self.module, '__file__', None))

    def handler(self, seen):
        """load() for this module. The lock is held."""
        self.look(seen)
        if not self._stamps:
            path = getattr(self.module, '__file__', None)
            self.watch(path)
            importlib.invalidate_caches()
            try:
                self.module = importlib.reload(self.module)
            except BaseException:
                self._stamps = {}
                raise
        return self.module, (self, self.generation)


def space_of(directory):
    directory = directory.rstrip('/') or '/'
    return _spaces.get(directory) or _spaces.setdefault(directory, Space(directory))


def rename_for(module_name, name):
    """For `__import__` in a module that is in no space by itself: a package's submodule."""
    space = _packages.get(module_name.partition('.')[0])
    return name if space is None else space.rename(name)


def _installed(module):
    """Whether a module belongs to an installation, which is not edited under a running server."""
    path = getattr(module, '__file__', None) or ''
    return (not path or 'site-packages' in path or 'dist-packages' in path
            or path.startswith((os.path.dirname(os.__file__) + '/',
                                os.path.dirname(os.path.dirname(__file__)) + '/')))


def _load_plain(name, reload, seen):
    module = sys.modules.get(name)
    if module is None or not reload:
        module = importlib.import_module(name)
    if not reload or _installed(module):
        return module, None
    plain = _plain.get(name) or _plain.setdefault(name, _Plain(name))
    return _locked(plain, plain.handler, seen)


def load(name, directory, reload, seen=None):
    """(module, token): `token` is for fresh(); None when the module can't become stale."""
    if directory:
        space = space_of(directory)
        found = _locked(space, space.handler, name, reload, seen)
        if found is not None:
            return found
    return _load_plain(name, reload, seen)


def fresh(token):
    """Whether what was loaded with `token` is still what the files say."""
    watched, generation = token
    return watched.generation == generation and not watched.changed()


def apply_path(expression):
    """PythonPath: sys.path becomes the value of the expression, once for each expression."""
    if expression in _paths_seen:
        return
    code = compile(expression.lstrip(), '<PythonPath>', 'eval')
    path = eval(code, {'sys': sys, 'os': os})  # the administrator's own words
    if not isinstance(path, list):
        raise TypeError(f'PythonPath {expression} is not a list')
    sys.path[:] = path
    _paths_seen.add(expression)


def _is_method(owner, name):
    """Whether getattr(owner, name) needs an instance of the class `owner` first."""
    for base in owner.__mro__:
        if name in vars(base):
            return callable(vars(base)[name]) and not isinstance(vars(base)[name], type)
    return False


def _instance(owner, argument):
    if owner.__init__ is object.__init__ and owner.__new__ is object.__new__:
        return owner()
    return owner(argument)


def resolve_object(module, name, argument):
    """The object `name` (dotted) of a module. A class whose method is named on the way is
    instantiated with `argument`."""
    found = module
    for part in name.split('.'):
        owner = found
        try:
            found = getattr(owner, part)
        except AttributeError:
            if owner is not module:
                raise
            where = getattr(module, '__file__', module)
            raise AttributeError(f"module '{where}' contains no '{part}'") from None
        if isinstance(owner, type) and _is_method(owner, part):
            found = getattr(_instance(owner, argument), part)
    return found


def _needs_instance(module, name):
    found = module
    for part in name.split('.'):
        if isinstance(found, type) and _is_method(found, part):
            return True
        found = getattr(found, part, None)
    return False


def resolve(module_name, object_name, directory, path, reload, file, mtime, size, inode):
    """(function, token, file, mtime, size, inode) for a handler: what answers its requests, until
    fresh(token) is false or the module's own file has another stamp. The last four arguments are
    the requested file as httpd found it, or None and zeros."""
    if path:
        apply_path(path)
    elif directory and directory.rstrip('/') not in sys.path:
        sys.path.insert(0, directory.rstrip('/') or '/')
    seen = None if file is None else (file, (mtime, size, inode))
    try:
        module, token = load(module_name, directory, reload, seen)
    except ModuleNotFoundError as error:
        if not f'{module_name}.'.startswith(f'{error.name}.'):
            raise
        raise ModuleNotFoundError(f'No module named {error.name!r}, which PythonHandler names', name=error.name) from None
    if _needs_instance(module, object_name):
        def function(request):
            return resolve_object(module, object_name, request)(request)
    else:
        function = resolve_object(module, object_name, None)
    own = getattr(module, '__file__', None)
    stamp = token and token[0].stamp(own)
    return (function, token, os.fsencode(own) if stamp else None) + (stamp or (0, 0, 0))


def import_module(name, path=None, reload=True):
    """apache.import_module, called from there: from the first of the directories in `path` that has
    it; without `path` from the caller's own; or as usual."""
    if path is None:
        space = sys._getframe(2).f_globals.get(_SPACE)
        path = [] if space is None else [space.directory]
    for directory in path:
        if space_of(directory).load(name.partition('.')[0]) is not None:
            return load(name, directory, reload)[0]
    return load(name, None, reload)[0]
