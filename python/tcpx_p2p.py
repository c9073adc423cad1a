"""Memory moved between machines over TCP, through the node service (`tcpx serve`).

A thin layer over libtcpx_p2p.so, with nothing to build and nothing but the standard library:

    session = tcpx_p2p.Session("decode-0")
    memory = session.register(buffer)                      # bytearray, array, NumPy, torch (CPU)
    peer = session.load_peer("prefill-0", their_info)
    region = peer.load_region(their_key, their_bytes)
    peer.write([(memory, 0, region, 0, memory.bytes)]).wait(1.0)

Failures are TcpxError with a `status` and the name of it; docs/service.md lists them. The library is
looked for in $TCPX_P2P_LIBRARY, beside this file, in ../lib and ../build/native, then where the
system looks.
"""

import ctypes
import os

READ = 1
WRITE = 2
_IN_PROGRESS = 1
_TIMEOUT = -7


class TcpxError(Exception):
    """A call failed; `status` is its tcpx_status, `name` what that is called."""

    def __init__(self, status, message):
        text = _library().tcpx_status_text(status).decode()
        self.status = status
        self.name = text.split(":", 1)[0]
        super().__init__(f"{self.name}: {message or text}")


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
        library = ctypes.CDLL(_places()[0])
        for name, arguments in _TEXTS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_char_p
        for name, arguments in _CALLS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        library.tcpx_close.argtypes, library.tcpx_close.restype = [_P], None
        _loaded = library
    return _loaded


def _call(name, *arguments):
    """The status, 0 or above; raises below."""
    library = _library()
    status = getattr(library, name)(*arguments)
    if status < 0:
        raise TcpxError(status, library.tcpx_last_error().decode(errors="replace"))
    return status


def version():
    return _library().tcpx_version().decode()


def _milliseconds(seconds):
    return -1 if seconds is None else max(0, int(seconds * 1000))


class Session:
    """An attachment to the service under one name; a context manager."""

    def __init__(self, name, folder=None, settings=None):
        lines = "\n".join(f"{key}={value}" for key, value in (settings or {}).items())
        handle = ctypes.c_void_p()
        place = folder.encode() if folder else None
        _call("tcpx_open", place, name.encode(), lines.encode(), ctypes.byref(handle))
        self._handle = handle
        self._name = ctypes.create_string_buffer(256)
        self._message = ctypes.create_string_buffer(4096)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Everything of the session is gone then: memory, peers, requests."""
        if self._handle:
            _library().tcpx_close(self._handle)
            self._handle = None

    @property
    def conn_info(self):
        """Text that peers load this session by."""
        return _library().tcpx_conn_info(self._handle).decode()

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
        """Memory of a writable buffer, which is kept alive until it is deregistered."""
        view = memoryview(buffer).cast("B")
        owner = (ctypes.c_char * len(view)).from_buffer(view)
        return self.register_address(ctypes.addressof(owner), len(view), rights, keep=owner)

    def register_address(self, address, length, rights=READ | WRITE, cuda=False, keep=None):
        """Memory by its address: of a tensor `data_ptr()`, with cuda=True for one on a GPU."""
        number = ctypes.c_uint32()
        place = ctypes.byref(number)
        _call("tcpx_register", self._handle, address, length, 1 if cuda else 0, rights, place)
        return Memory(self, number.value, length, keep)

    def allocate(self, length):
        """A memoryview of memory that the service shares: no copy when it is registered."""
        address = ctypes.c_void_p()
        _call("tcpx_alloc", self._handle, length, ctypes.byref(address))
        return memoryview((ctypes.c_char * length).from_address(address.value)).cast("B")

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
                raise TcpxError(status, _library().tcpx_last_error().decode(errors="replace"))
            self._message = ctypes.create_string_buffer(size.value)

    def wait_event(self, timeout=None):
        """Sleeps until something has happened: True, or False when the time is over."""
        status = _library().tcpx_wait_event(self._handle, _milliseconds(timeout))
        if status == _TIMEOUT:
            return False
        if status < 0:
            raise TcpxError(status, _library().tcpx_last_error().decode(errors="replace"))
        return True


class Memory:
    """Registered memory of this process."""

    def __init__(self, session, number, length, keep):
        self.session, self.number, self.bytes, self._keep = session, number, length, keep

    @property
    def key(self):
        """Text that peers load the region by, with its length."""
        return _library().tcpx_describe(self.session._handle, self.number).decode()

    @property
    def way(self):
        """How the service reaches it: copied, shared, ipc, vmm or pool."""
        return _library().tcpx_memory_way(self.session._handle, self.number).decode()

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
        self._handle = handle

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
            raise TcpxError(status, self._text("tcpx_explain"))
        return status == 0

    def cancel(self):
        _call("tcpx_cancel", self._handle)

    def release(self, timeout=2.0):
        _call("tcpx_release", self._handle, _milliseconds(timeout))
        self._handle = None

    @property
    def receipt(self):
        """What the last transfer was like, as JSON: path, NICs, bytes, times."""
        return self._text("tcpx_receipt")

    def _text(self, name):
        text = ctypes.create_string_buffer(16384)
        getattr(_library(), name)(self._handle, text, len(text))
        return text.value.decode(errors="replace")
