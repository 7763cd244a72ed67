// _flashfit_native: the shortest way from Python objects to flashfit_attention_forward. It words nothing: what it
// cannot read, and what the C API refuses, goes back to the Python package.
#include <cstdint>
#include <new>

#include "flashfit/flashfit.h"
#include "python/eager.hpp"
#include "python/tensor.hpp"

namespace flashfit::python {
namespace {

using Forward = decltype(&flashfit_attention_forward);

/// Of one interpreter.
struct State {
  Forward forward = nullptr;
  TensorTypes types;
  Eager eager;
};

State& state_of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

/// False, with an exception, unless a function got the arguments that it wants.
bool expect(const char* name, Py_ssize_t count, Py_ssize_t wanted, const State& state) {
  if (count == wanted && state.forward) return true;
  PyErr_Format(PyExc_TypeError, "%s: %zd arguments, %s; accepted: %zd, after connect()", name, count,
               state.forward ? "connected" : "not connected", wanted);
  return false;
}

PyObject* connect(PyObject* module, PyObject* address) {
  void* forward = PyLong_AsVoidPtr(address);
  if (!forward && PyErr_Occurred()) return nullptr;
  state_of(module).forward = reinterpret_cast<Forward>(forward);
  return Py_NewRef(Py_None);
}

PyObject* connect_torch(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  State& state = state_of(module);
  enum {
    kTensorType,
    kDtypes,
    kCurrentStream,
    kAlways,
    kQuiet,
    kForwardAd,
    kIsGradEnabled,
    kEmptyLike,
    kCheckLike,
    kCount
  };
  if (!expect("connect_torch", count, kCount, state)) return nullptr;
  if (!PyDict_Check(args[kDtypes])) {
    PyErr_SetString(PyExc_TypeError, "connect_torch: dtypes; accepted: a dict");
    return nullptr;
  }
  if (!state.eager.connect({args[kTensorType], args[kAlways], args[kQuiet], args[kForwardAd], args[kIsGradEnabled],
                            args[kEmptyLike], args[kCheckLike]}))
    return nullptr;
  if (!state.types.set_torch(args[kTensorType], args[kDtypes], args[kCurrentStream])) return nullptr;
  return Py_NewRef(Py_None);
}

/// A call's tensors, by their place in the arguments of attend().
enum Place { kQ, kK, kV, kOut, kLse, kCuSeqlensQ, kCuSeqlensK, kTensors };

constexpr int kUnreadable = -1;

/// A call of the library and the tensors that its arguments point to.
struct Call {
  flashfit_attention_args args{};
  Tensor tensors[kTensors];

  /// False if the object is neither None nor a tensor that can be read.
  bool read(State& state, Place place, PyObject* object, bool heads_first) {
    if (object == Py_None) return true;
    const DLTensor** const slots[kTensors] = {
        &args.q, &args.k, &args.v, &args.out, &args.lse, &args.cu_seqlens_q, &args.cu_seqlens_k};
    *slots[place] = &tensors[place].get();
    return tensors[place].read(object, state.types, heads_first && place <= kOut);
  }

  /// The status of the call, or kUnreadable. Has all but its stream if `find_stream`.
  int run(State& state, bool find_stream) {
    if (find_stream && !current_stream(tensors[kQ], state.types, &args.stream)) return kUnreadable;
    args.struct_size = sizeof args;
    flashfit_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = state.forward(&args);
    Py_END_ALLOW_THREADS;
    return status;
  }
};

PyObject* attend(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kFlags = kTensors, kScale, kStream, kVariant, kHeadsFirst, kCount };
  State& state = state_of(module);
  if (!expect("attend", count, kCount, state)) return nullptr;
  Call call;
  call.args.flags = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(args[kFlags]));
  call.args.softmax_scale = static_cast<float>(PyFloat_AsDouble(args[kScale]));
  if (args[kVariant] != Py_None) call.args.variant = PyBytes_AsString(args[kVariant]);
  if (args[kStream] != Py_None) call.args.stream = PyLong_AsVoidPtr(args[kStream]);
  if (PyErr_Occurred()) return nullptr;
  for (const Place place : {kQ, kK, kV, kOut, kLse, kCuSeqlensQ, kCuSeqlensK})
    if (!call.read(state, place, args[place], args[kHeadsFirst] == Py_True)) return PyLong_FromLong(kUnreadable);
  return PyLong_FromLong(call.run(state, args[kStream] == Py_None));
}

bool is_text(PyObject* object, const char* text) {
  return PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

PyObject* is_plain(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  return PyBool_FromLong(state_of(module).eager.is_plain(args, static_cast<int>(count), false));
}

PyObject* attend_plain(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kQuery, kKey, kValue, kOffsetsQ, kOffsetsK, kResult, kCausal, kLayout, kCount };
  State& state = state_of(module);
  if (!expect("attend_plain", count, kCount, state)) return nullptr;
  const bool heads_first = is_text(args[kLayout], "bhsd");
  const bool known = heads_first || is_text(args[kLayout], "bshd");
  const bool causal = args[kCausal] == Py_True;
  if (!known || (!causal && args[kCausal] != Py_False)) return Py_NewRef(Py_NotImplemented);
  Call call;
  call.args.flags = causal ? FLASHFIT_CAUSAL : 0;
  constexpr Place kPlaces[] = {kQ, kK, kV, kCuSeqlensQ, kCuSeqlensK, kOut};  // of the arguments, in their order
  bool readable = true;
  for (int i = 0; i <= kResult && readable; ++i) readable = call.read(state, kPlaces[i], args[i], heads_first);
  if (!readable || !state.eager.is_plain(args, kResult + 1, true)) {
    PyErr_Clear();
    return Py_NewRef(Py_NotImplemented);
  }
  Owned out(args[kResult] == Py_None ? state.eager.empty_like(args[kQuery]) : Owned(Py_NewRef(args[kResult])));
  if (!out) return nullptr;
  if (args[kResult] == Py_None && !call.read(state, kOut, out.get(), heads_first)) return Py_NewRef(Py_NotImplemented);
  if (call.run(state, true) != FLASHFIT_OK) return Py_NewRef(Py_NotImplemented);
  return out.release();
}

PyCFunction fastcall(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"connect", connect, METH_O, "connect(address): of flashfit_attention_forward in the library that is loaded."},
    {"connect_torch", fastcall(connect_torch), METH_FASTCALL,
     "connect_torch(tensor_type, dtypes, current_stream, always, quiet, forward_ad, is_grad_enabled, empty_like, "
     "check_like): torch's functions. dtypes maps torch.dtype to DLPack code * 256 + bits; current_stream maps a "
     "device "
     "index to a CUstream, or is None; always and quiet are tuples of pairs (callable, object): eager mode is plain "
     "while each returns its object; forward_ad is the dict of the module; check_like makes of plain tensors a "
     "function that is True of others for which it need not be asked again what quiet says, nor whether they ask for "
     "gradients or are negated, or is None."},
    {"attend", fastcall(attend), METH_FASTCALL,
     "attend(q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, flags, softmax_scale, stream, variant, heads_first): "
     "flashfit_attention_forward's status, or -1 if a tensor cannot be read. Tensors: None, objects whose type has "
     "DLPack's C exchange API, torch tensors, or (data, device type, device index, DLPack code, bits, shape, strides). "
     "stream: a CUstream, or None for the current one of q's package. variant: bytes or None. heads_first: q, k, v and "
     "out have heads before tokens."},
    {"is_plain", fastcall(is_plain), METH_FASTCALL,
     "is_plain(*tensors): whether these are plain torch tensors (or None) in plain eager mode."},
    {"attend_plain", fastcall(attend_plain), METH_FASTCALL,
     "attend_plain(q, k, v, cu_seqlens_q, cu_seqlens_k, out, causal, layout): out, or a new tensor where it is None, "
     "with the attention of plain torch tensors in plain eager mode. NotImplemented, with nothing written, for "
     "anything else and for what the C API refuses."},
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject* module) {
  new (&state_of(module)) State;
  return 0;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  const State& state = state_of(module);
  const int stopped = state.types.traverse(visit, arg);
  return stopped ? stopped : state.eager.traverse(visit, arg);
}

int clear(PyObject* module) {
  state_of(module).types.clear();
  state_of(module).eager.clear();
  return 0;
}

void release(void* module) { clear(static_cast<PyObject*>(module)); }

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_flashfit_native", nullptr, sizeof(State), methods, slots, traverse, clear, release,
};

}  // namespace
}  // namespace flashfit::python

// Python forms the name from the module's.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
PyMODINIT_FUNC PyInit__flashfit_native() { return PyModuleDef_Init(&flashfit::python::definition); }
