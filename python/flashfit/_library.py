"""Finds and loads libflashfit.so, on first use: importing flashfit never fails and never touches a GPU."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from threading import Lock

from ._errors import BY_STATUS, FlashfitError
from ._version import __version__

_NAME = "libflashfit.so"


def _candidates() -> list[Path]:
    """Where the library may be, the first that exists wins. FLASHFIT_LIBRARY, where set, is the only candidate."""
    override = os.environ.get("FLASHFIT_LIBRARY")
    if override:
        path = Path(override)
        return [path / _NAME if path.is_dir() else path]
    return default_paths()


def default_paths() -> list[Path]:
    """Where an installed package has the library, and where a build in the tree has it."""
    here = Path(__file__).resolve().parent
    return [here / _NAME, here.parent.parent / "build" / "lib" / _NAME]


class ExplainArgs(ctypes.Structure):
    """flashfit_explain_args."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("gpu", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("batch", ctypes.c_int64),
        ("seqlen_q", ctypes.c_int64),
        ("seqlen_k", ctypes.c_int64),
        ("heads_q", ctypes.c_int64),
        ("heads_kv", ctypes.c_int64),
        ("head_dim", ctypes.c_int64),
        ("cuda_version", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        ("variant", ctypes.c_char_p),
        ("total_q", ctypes.c_int64),
        ("total_k", ctypes.c_int64),
        ("block_m", ctypes.c_int32),
        ("block_n", ctypes.c_int32),
        ("warps", ctypes.c_int32),
        ("stages", ctypes.c_int32),
        ("head_dim_v", ctypes.c_int64),
        ("window_left", ctypes.c_int64),
        ("window_right", ctypes.c_int64),
        ("bias", ctypes.c_char_p),
    ]


class RouteExplainArgs(ctypes.Structure):
    """flashfit_moe_route_explain_args."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("gpu", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("tokens", ctypes.c_int64),
        ("experts", ctypes.c_int64),
        ("top_k", ctypes.c_int64),
        ("variant", ctypes.c_char_p),
        ("cuda_version", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
    ]


class ExpertsExplainArgs(ctypes.Structure):
    """flashfit_fused_moe_explain_args."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("gpu", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("tokens", ctypes.c_int64),
        ("experts", ctypes.c_int64),
        ("top_k", ctypes.c_int64),
        ("hidden", ctypes.c_int64),
        ("intermediate", ctypes.c_int64),
        ("variant", ctypes.c_char_p),
        ("cuda_version", ctypes.c_int32),
        ("experts_low", ctypes.c_int32),
        ("experts_high", ctypes.c_int32),
        ("activation", ctypes.c_int32),
    ]


#: flashfit_allocate
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)


class Library:
    """The C API with its prototypes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.c = ctypes.CDLL(str(path))
        except OSError as error:
            raise FlashfitError(f"{path} does not load: {error}") from error
        self.c.flashfit_version.restype = ctypes.c_uint32
        self.c.flashfit_version.argtypes = []
        self.c.flashfit_last_error.restype = ctypes.c_char_p
        self.c.flashfit_last_error.argtypes = []
        self.c.flashfit_attention_run.argtypes = [ctypes.c_void_p, ALLOCATE, ctypes.c_void_p]
        self.c.flashfit_moe_route.argtypes = [ctypes.c_void_p]
        self.c.flashfit_fused_moe_run.argtypes = [ctypes.c_void_p, ALLOCATE, ctypes.c_void_p]
        self.c.flashfit_fused_moe_backward.argtypes = [ctypes.c_void_p]
        self.c.flashfit_moe_activation_backward.argtypes = [ctypes.c_void_p]
        self.c.flashfit_moe_rows_product.argtypes = [ctypes.c_void_p, ALLOCATE, ctypes.c_void_p]
        self.c.flashfit_moe_weights_product.argtypes = [ctypes.c_void_p, ALLOCATE, ctypes.c_void_p]
        self.c.flashfit_moe_gather_rows.argtypes = [ctypes.c_void_p]
        self.c.flashfit_moe_sort_rows.argtypes = [ctypes.c_void_p, ALLOCATE, ctypes.c_void_p]
        self.c.flashfit_moe_sum_rows.argtypes = [ctypes.c_void_p]
        self.c.flashfit_explain_json.argtypes = [ctypes.POINTER(ExplainArgs), ctypes.POINTER(ctypes.c_void_p)]
        self.c.flashfit_moe_route_explain_json.argtypes = [
            ctypes.POINTER(RouteExplainArgs),
            ctypes.POINTER(ctypes.c_void_p),
        ]
        self.c.flashfit_fused_moe_explain_json.argtypes = [
            ctypes.POINTER(ExpertsExplainArgs),
            ctypes.POINTER(ctypes.c_void_p),
        ]
        self.c.flashfit_images_json.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.c.flashfit_gpus_json.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.c.flashfit_free.argtypes = [ctypes.c_void_p]
        self.c.flashfit_free.restype = None
        self.attention_run = self.c.flashfit_attention_run
        self.fused_moe_run = self.c.flashfit_fused_moe_run
        number = int(self.c.flashfit_version())
        version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        if version != __version__:
            raise FlashfitError(
                f"{path} is flashfit {version}; this Python package is {__version__}: install both from one build"
            )

    def error(self, status: int, note: str = "") -> FlashfitError:
        """The exception for a status that is not 0, with this thread's message."""
        message = self.c.flashfit_last_error() or b"no message"
        return BY_STATUS.get(status, FlashfitError)(message.decode("utf-8", "replace") + note)


_lock = Lock()
_loaded: Library | None = None


def library() -> Library:
    """The library, loaded once."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                tried = _candidates()
                path = next((p for p in tried if p.is_file()), None)
                if path is None:
                    raise FlashfitError(
                        f"{_NAME} is not at {' nor '.join(map(str, tried))}; "
                        "build it (./dev build) or set FLASHFIT_LIBRARY to its path"
                    )
                _loaded = Library(path)
    return _loaded
