"""Memory moved between machines over TCP, through the node service (`tcpx serve`).

A thin layer over libtcpx_p2p.so, of the standard library alone:

    session = tcpx_p2p.Session("decode-0")
    memory = session.register(buffer)                      # bytearray, array, NumPy, torch
    peer = session.load_peer("prefill-0", their_info)
    region = peer.load_region(their_key, their_bytes)
    peer.write([(memory, 0, region, 0, memory.bytes)]).wait(1.0)

Failures are TcpxError with a `status` and the name of it; docs/service.md lists them. What belongs
to a session that is closed, or was released, is TCPX_ERR_STATE; no thread may be in a call of a
session while another closes it. In a forked child everything is TCPX_ERR_FORKED. The library is
looked for in $TCPX_P2P_LIBRARY, beside this file, in ../lib and ../build/native, then where the
system looks; `tcpx library` says where it is, and makes it where it is not.
"""

import ctypes
import mmap
import os
import weakref

READ = 1
WRITE = 2
_IN_PROGRESS = 1
_ARGUMENT = -1
_STATE = -2
_NOT_FOUND = -3
_TIMEOUT = -7
_SERVICE_GONE = -17
_PROTOCOL = -19
_FORKED = -21
_SYSTEM = -22
# What a call about a transfer answers of itself; anything else is what became of the transfer.
_OF_THE_CALL = (_ARGUMENT, _STATE, _SERVICE_GONE, _PROTOCOL, _FORKED)


class TcpxError(Exception):
    """A call failed; `status` is its tcpx_status, `name` what that is called."""

    def __init__(self, status, message=""):
        name, _, meaning = _library().tcpx_status_text(status).decode().partition(": ")
        self.status, self.name = status, name
        text = message or meaning
        # Some lines of the library begin with the name themselves.
        said = text[len(name) + 2 :] if text.startswith(name + ": ") else text
        super().__init__(f"{name}: {said}")


class _Block(ctypes.Structure):
    _fields_ = [
        ("memory", ctypes.c_uint32),
        ("region", ctypes.c_uint32),
        ("local_offset", ctypes.c_uint64),
        ("remote_offset", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
    ]


class _PostOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("notify", ctypes.c_void_p),
        ("notify_bytes", ctypes.c_size_t),
        ("deadline_ms", ctypes.c_uint32),
    ]


_TEXTS = {
    "tcpx_conn_info": [ctypes.c_void_p],
    "tcpx_describe": [ctypes.c_void_p, ctypes.c_uint32],
    "tcpx_memory_way": [ctypes.c_void_p, ctypes.c_uint32],
    "tcpx_last_error": [],
    "tcpx_status_text": [ctypes.c_int],
    "tcpx_version": [],
}
_P, _U, _S, _T, _I = (
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.c_size_t,
    ctypes.c_char_p,
    ctypes.c_int,
)
_CALLS = {
    "tcpx_open": [_T, _T, _T, _P],
    "tcpx_alive": [_P],
    "tcpx_telemetry": [_P, _P, _S],
    "tcpx_accept": [_P, _T, _I],
    "tcpx_load_peer": [_P, _T, _T, _P],
    "tcpx_connect": [_P, _U, _I],
    "tcpx_disconnect": [_P, _U],
    "tcpx_register": [_P, _P, _S, _I, ctypes.c_uint, _P],
    "tcpx_deregister": [_P, _U],
    "tcpx_alloc": [_P, _S, _P],
    "tcpx_free": [_P, _P],
    "tcpx_load_region": [_P, _U, _T, ctypes.c_uint64, _P],
    "tcpx_unload_region": [_P, _U],
    "tcpx_prepare": [_P, _I, _U, _P, _S, _P],
    "tcpx_post": [_P, _P],
    "tcpx_test": [_P],
    "tcpx_wait": [_P, _I],
    "tcpx_cancel": [_P],
    "tcpx_release": [_P, _I],
    "tcpx_explain": [_P, _P, _S],
    "tcpx_receipt": [_P, _P, _S],
    "tcpx_notify": [_P, _U, _P, _S],
    "tcpx_next_notification": [_P, _P, _P, _P, _P],
    "tcpx_wait_event": [_P, _I],
}
_NAME = "libtcpx_p2p.so"
_loaded = None


def _places():
    if os.environ.get("TCPX_P2P_LIBRARY"):
        return [os.environ["TCPX_P2P_LIBRARY"]]
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [[], ["..", "lib"], ["..", "build", "native"]]
    beside = [os.path.join(here, *folder, _NAME) for folder in folders]
    return [path for path in beside if os.path.exists(path)] + [_NAME]


def _library():
    global _loaded
    if _loaded is None:
        path = _places()[0]
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            hint = 'export TCPX_P2P_LIBRARY="$(npx tcpx library)", or where a bundle has it in lib'
            raise OSError(f"{error}; {hint}") from None
        for name, arguments in _TEXTS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_char_p
        for name, arguments in _CALLS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        library.tcpx_close.argtypes, library.tcpx_close.restype = [_P], None
        _loaded = library
    return _loaded


def _last_error():
    return _library().tcpx_last_error().decode(errors="replace")


def _call(name, *arguments):
    """The status, 0 or above; raises below."""
    status = getattr(_library(), name)(*arguments)
    if status < 0:
        raise TcpxError(status, _last_error())
    return status


_HUGE_BYTES = 2 << 20
_MAP_NORESERVE, _MREMAP_MAYMOVE, _MREMAP_FIXED = 0x4000, 1, 2
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _libc.mremap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [_P, _S, _I, _I, _I, ctypes.c_long]
_libc.mremap.argtypes = [_P, _S, _S, _I, _P]
_libc.munmap.argtypes = [_P, _S]


def _reserve(length):
    """Addresses at a multiple of 2 MiB, where huge pages can be mapped as such."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    start = _libc.mmap(None, length + _HUGE_BYTES, 0, flags, -1, 0)
    if start == ctypes.c_void_p(-1).value:
        raise TcpxError(_SYSTEM, f"mmap: {os.strerror(ctypes.get_errno())}")
    aligned = -(-start // _HUGE_BYTES) * _HUGE_BYTES
    if aligned > start:
        _libc.munmap(start, aligned - start)
    _libc.munmap(aligned + length, start + _HUGE_BYTES - aligned)
    return aligned


def _map_again(address, length):
    """The pages of a shared mapping at a second place, which stays when the first is unmapped."""
    place = _reserve(length)
    # A length of 0 moves nothing: it asks for one mapping more.
    found = _libc.mremap(address, 0, length, _MREMAP_MAYMOVE | _MREMAP_FIXED, place)
    if found == place:
        return place
    reason = os.strerror(ctypes.get_errno())
    _libc.munmap(place, length)
    raise TcpxError(_SYSTEM, f"mremap: {reason}")


def _unmap(allocations, place, length):
    # First: something else may lie there as soon as it is unmapped.
    allocations.pop(place, None)
    _libc.munmap(place, length)


def version():
    return _library().tcpx_version().decode()


def _milliseconds(seconds):
    return -1 if seconds is None else max(0, int(seconds * 1000))


def _bytes_of(tensor):
    if not getattr(tensor, "is_contiguous", lambda: True)():
        raise TcpxError(_ARGUMENT, "register: the tensor is not contiguous")
    count = getattr(tensor, "nbytes", None)
    return tensor.numel() * tensor.element_size() if count is None else count


class Session:
    """An attachment to the service under one name; a context manager."""

    def __init__(self, name, folder=None, settings=None):
        # By the address of their views: where the library knows the memory, and its length.
        self._allocations = {}
        lines = "\n".join(f"{key}={value}" for key, value in (settings or {}).items())
        handle = ctypes.c_void_p()
        place = folder.encode() if folder else None
        _call("tcpx_open", place, name.encode(), lines.encode(), ctypes.byref(handle))
        self._open = handle
        self._name = ctypes.create_string_buffer(256)
        self._message = ctypes.create_string_buffer(4096)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Registrations, peers and requests are gone then. Views of allocate() stay valid."""
        if self._open is not None:
            handle, self._open = self._open, None
            _library().tcpx_close(handle)

    def _check_open(self):
        if self._open is None:
            raise TcpxError(_STATE, "the session is closed")

    @property
    def _handle(self):
        self._check_open()
        return self._open

    def _text(self, name, *arguments):
        text = getattr(_library(), name)(self._handle, *arguments)
        if text is not None:
            return text.decode()
        reason = _last_error()
        self.check()
        raise TcpxError(_NOT_FOUND, reason)

    @property
    def conn_info(self):
        """Text that peers load this session by."""
        return self._text("tcpx_conn_info")

    def check(self):
        """Raises TcpxError where the service is gone."""
        _call("tcpx_alive", self._handle)

    @property
    def telemetry(self):
        """Provider, and what went over which NIC so far, as JSON."""
        text = ctypes.create_string_buffer(16384)
        _call("tcpx_telemetry", self._handle, text, len(text))
        return text.value.decode(errors="replace")

    def accept(self, name, timeout=None):
        _call("tcpx_accept", self._handle, name.encode(), _milliseconds(timeout))

    def load_peer(self, name, conn_info):
        number = ctypes.c_uint32()
        info = conn_info.encode()
        _call("tcpx_load_peer", self._handle, name.encode(), info, ctypes.byref(number))
        return Peer(self, name, number.value)

    def register(self, buffer, rights=READ | WRITE):
        """Memory of a tensor or a writable buffer, which is kept alive until it is deregistered.

        A tensor is what has data_ptr() and nbytes (or numel() and element_size()), as those of
        torch do, on a GPU too where is_cuda is true. It must be contiguous, as a buffer must.
        """
        if hasattr(buffer, "data_ptr"):
            is_cuda = bool(getattr(buffer, "is_cuda", False))
            length = _bytes_of(buffer)
            return self.register_address(buffer.data_ptr(), length, rights, is_cuda, keep=buffer)
        view = memoryview(buffer).cast("B")
        owner = (ctypes.c_char * len(view)).from_buffer(view)
        return self.register_address(ctypes.addressof(owner), len(view), rights, keep=owner)

    def register_address(self, address, length, rights=READ | WRITE, cuda=False, keep=None):
        """Memory by its address, with cuda=True for one on a GPU; `keep` is kept alive."""
        number = ctypes.c_uint32()
        place = ctypes.byref(number)
        known = address if cuda else self._known_address(address, length)
        _call("tcpx_register", self._handle, known, length, 1 if cuda else 0, rights, place)
        return Memory(self, number.value, length, keep)

    def _known_address(self, address, length):
        for place, (known, room) in list(self._allocations.items()):
            if place <= (address or 0) and (address or 0) + length <= place + room:
                return known + address - place
        return address

    def allocate(self, length):
        """A memoryview of memory that the service shares: no copy when it is registered.

        It, its slices and arrays made of it are valid for as long as any of them is held, after
        free() and close() too; then nobody but this program reaches the memory.
        """
        address = ctypes.c_void_p()
        _call("tcpx_alloc", self._handle, length, ctypes.byref(address))
        try:
            place = _map_again(address.value, length)
        except TcpxError:
            _library().tcpx_free(self._handle, address)
            raise
        self._allocations[place] = address.value, length
        owner = (ctypes.c_char * length).from_address(place)
        # Not at the end of the program, where somebody may still look at it.
        weakref.finalize(owner, _unmap, self._allocations, place, length).atexit = False
        return memoryview(owner).cast("B")

    def free(self, view):
        """Gives memory of allocate() back, after it was deregistered: the system has it again when
        no view of it is held any more. close() does this for all."""
        place = ctypes.addressof(ctypes.c_char.from_buffer(view))
        known, _ = self._allocations.get(place, (place, 0))
        _call("tcpx_free", self._handle, known)
        self._allocations.pop(place, None)

    def next_notification(self):
        """(name of the sender, bytes), or None."""
        while True:
            name_size = ctypes.c_size_t(len(self._name))
            size = ctypes.c_size_t(len(self._message))
            sizes = ctypes.byref(name_size), ctypes.byref(size)
            status = _library().tcpx_next_notification(
                self._handle, self._name, sizes[0], self._message, sizes[1]
            )
            if status == 0:
                return self._name.value.decode(), self._message.raw[: size.value]
            if status == _IN_PROGRESS:
                return None
            if size.value <= len(self._message):
                raise TcpxError(status, _last_error())
            self._message = ctypes.create_string_buffer(size.value)

    def wait_event(self, timeout=None):
        """Sleeps until something has happened: True, or False when the time is over."""
        status = _library().tcpx_wait_event(self._handle, _milliseconds(timeout))
        if status == _TIMEOUT:
            return False
        if status < 0:
            raise TcpxError(status, _last_error())
        return True


class Memory:
    """Registered memory of this process."""

    def __init__(self, session, number, length, keep):
        self.session, self.number, self.bytes, self._keep = session, number, length, keep

    @property
    def key(self):
        """Text that peers load the region by, with its length."""
        return self.session._text("tcpx_describe", self.number)

    @property
    def way(self):
        """How the service reaches it: copied, shared, ipc, vmm or pool."""
        return self.session._text("tcpx_memory_way", self.number)

    def deregister(self):
        _call("tcpx_deregister", self.session._handle, self.number)
        self._keep = None


class Peer:
    """Another session, here or on another machine, that can be written to and read from."""

    def __init__(self, session, name, number):
        self.session, self.name, self.number = session, name, number

    def connect(self, timeout=None):
        _call("tcpx_connect", self.session._handle, self.number, _milliseconds(timeout))

    def disconnect(self):
        _call("tcpx_disconnect", self.session._handle, self.number)

    def load_region(self, key, length):
        number = ctypes.c_uint32()
        place = ctypes.byref(number)
        _call("tcpx_load_region", self.session._handle, self.number, key.encode(), length, place)
        return Region(self, number.value, length)

    def notify(self, message):
        text = bytes(message)
        _call("tcpx_notify", self.session._handle, self.number, text, len(text))

    def prepare_write(self, blocks):
        """Blocks are (memory, offset, region, offset, bytes)."""
        return Request(self, 1, blocks)

    def prepare_read(self, blocks):
        return Request(self, 2, blocks)

    def write(self, blocks, notify=None, deadline=None):
        return Request(self, 1, blocks).post(notify, deadline)

    def read(self, blocks, notify=None, deadline=None):
        return Request(self, 2, blocks).post(notify, deadline)


class Region:
    """Memory of a peer."""

    def __init__(self, peer, number, length):
        self.peer, self.number, self.bytes = peer, number, length

    def unload(self):
        _call("tcpx_unload_region", self.peer.session._handle, self.number)


class Request:
    """Blocks to move: prepared once, posted as often as wanted."""

    def __init__(self, peer, operation, blocks):
        rows = [
            (memory.number, region.number, here, there, length)
            for memory, here, region, there, length in blocks
        ]
        table = (_Block * len(rows))(*rows)
        handle = ctypes.c_void_p()
        arguments = operation, peer.number, table, len(rows), ctypes.byref(handle)
        _call("tcpx_prepare", peer.session._handle, *arguments)
        self.peer, self._prepared = peer, handle

    @property
    def _handle(self):
        # The library has freed it with its session.
        self.peer.session._check_open()
        if self._prepared is None:
            raise TcpxError(_STATE, "the request is released")
        return self._prepared

    def post(self, notify=None, deadline=None):
        """`notify` is delivered after the data; `deadline` in seconds. Returns the request."""
        options = _PostOptions(ctypes.sizeof(_PostOptions), None, 0, 0)
        if notify is not None:
            text = ctypes.create_string_buffer(bytes(notify), len(notify) + 1)
            options.notify = ctypes.cast(text, ctypes.c_void_p)
            options.notify_bytes = len(notify)
        if deadline is not None:
            options.deadline_ms = _milliseconds(deadline)
        _call("tcpx_post", self._handle, ctypes.byref(options))
        return self

    def is_done(self):
        """True when every byte has landed; raises where the transfer failed."""
        return self._outcome(_library().tcpx_test(self._handle))

    def wait(self, timeout=None):
        """The same, but waits; False when the time is over."""
        status = _library().tcpx_wait(self._handle, _milliseconds(timeout))
        return False if status == _TIMEOUT else self._outcome(status)

    def _outcome(self, status):
        if status < 0:
            raise TcpxError(status, self._reason(status))
        return status == 0

    def _reason(self, status):
        line = _last_error() if status in _OF_THE_CALL else ""
        try:
            return self._text("tcpx_explain") or line
        except TcpxError:
            return line

    def cancel(self):
        _call("tcpx_cancel", self._handle)

    def release(self, timeout=2.0):
        """Cancels what is in flight. Does nothing where it is gone already, or its session is."""
        if self._prepared is not None and self.peer.session._open is not None:
            _call("tcpx_release", self._prepared, _milliseconds(timeout))
        self._prepared = None

    @property
    def receipt(self):
        """What the last transfer was like, as JSON: path, NICs, bytes, times."""
        return self._text("tcpx_receipt")

    def _text(self, name):
        text = ctypes.create_string_buffer(16384)
        _call(name, self._handle, text, len(text))
        return text.value.decode(errors="replace")
