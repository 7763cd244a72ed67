// _flashfit_native: the shortest way from Python objects to flashfit_attention_forward. It decides nothing: what it
// cannot read it leaves to the Python package, which has the words, and what the C API refuses it hands back as a
// status.
#include <cstdint>
#include <new>

#include "flashfit/flashfit.h"
#include "python/tensor.hpp"

namespace flashfit::python {
namespace {

using Forward = decltype(&flashfit_attention_forward);

/// Of one interpreter.
struct State {
  Forward forward = nullptr;
  TensorTypes types;
};

State& state_of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

PyObject* connect(PyObject* module, PyObject* address) {
  void* forward = PyLong_AsVoidPtr(address);
  if (!forward && PyErr_Occurred()) return nullptr;
  state_of(module).forward = reinterpret_cast<Forward>(forward);
  return Py_NewRef(Py_None);
}

PyObject* connect_torch(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyDict_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "connect_torch: accepted: a tensor type, a dict of dtypes, a callable or None");
    return nullptr;
  }
  state_of(module).types.set_torch(args[0], args[1], args[2]);
  return Py_NewRef(Py_None);
}

/// Where each argument of attend() stands.
enum Place { kQ, kK, kV, kOut, kLse, kCuSeqlensQ, kCuSeqlensK, kFlags, kScale, kStream, kVariant, kHeadsFirst, kCount };

constexpr int kUnreadable = -1;

PyObject* attend(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  State& state = state_of(module);
  if (count != kCount || !state.forward) {
    PyErr_Format(PyExc_TypeError, "attend: %zd arguments, %s; accepted: %d, after connect()", count,
                 state.forward ? "connected" : "not connected", static_cast<int>(kCount));
    return nullptr;
  }
  flashfit_attention_args call{};
  call.struct_size = sizeof call;
  call.flags = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(args[kFlags]));
  call.softmax_scale = static_cast<float>(PyFloat_AsDouble(args[kScale]));
  if (args[kVariant] != Py_None) call.variant = PyBytes_AsString(args[kVariant]);
  if (args[kStream] != Py_None) call.stream = PyLong_AsVoidPtr(args[kStream]);
  if (PyErr_Occurred()) return nullptr;

  Tensor tensors[kFlags];
  const DLTensor** const slots[] = {&call.q,           &call.k, &call.v, &call.out, &call.lse, &call.cu_seqlens_q,
                                    &call.cu_seqlens_k};
  for (int i = kQ; i <= kCuSeqlensK; ++i) {
    if (args[i] == Py_None) continue;
    const bool heads_first = i <= kOut && args[kHeadsFirst] == Py_True;
    if (!tensors[i].read(args[i], state.types, heads_first)) return PyLong_FromLong(kUnreadable);
    *slots[i] = &tensors[i].get();
  }
  if (args[kStream] == Py_None && !current_stream(tensors[kQ], state.types, &call.stream))
    return PyLong_FromLong(kUnreadable);

  flashfit_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = state.forward(&call);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

PyMethodDef methods[] = {
    {"connect", connect, METH_O, "connect(address): of flashfit_attention_forward in the library that is loaded."},
    {"connect_torch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(connect_torch)), METH_FASTCALL,
     "connect_torch(tensor_type, dtypes, current_stream): how tensors of torch without the exchange API are read; "
     "dtypes maps torch.dtype to DLPack code * 256 + bits, current_stream a device index to a CUstream."},
    {"attend", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(attend)), METH_FASTCALL,
     "attend(q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, flags, softmax_scale, stream, variant, heads_first): "
     "flashfit_attention_forward's status, or -1 if a tensor cannot be read. Tensors: None, objects whose type has "
     "DLPack's C exchange API, torch tensors, or (data, device type, device index, DLPack code, bits, shape, strides). "
     "stream: a CUstream, or None for the current one of q's package. variant: bytes or None. heads_first: q, k, v and "
     "out have heads before tokens."},
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject* module) {
  new (&state_of(module)) State;
  return 0;
}

int traverse(PyObject* module, visitproc visit, void* arg) { return state_of(module).types.traverse(visit, arg); }

int clear(PyObject* module) {
  state_of(module).types.clear();
  return 0;
}

void release(void* module) { clear(static_cast<PyObject*>(module)); }

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_flashfit_native", nullptr, sizeof(State), methods, slots, traverse, clear, release,
};

}  // namespace
}  // namespace flashfit::python

PyMODINIT_FUNC PyInit__flashfit_native() { return PyModuleDef_Init(&flashfit::python::definition); }
