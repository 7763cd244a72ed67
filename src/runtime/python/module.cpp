// _flashfit_native: the shortest way from Python objects to flashfit_attention_run, flashfit_moe_route and
// flashfit_fused_moe_run. It words nothing: what it cannot read, and what the C API refuses, goes back to the Python
// package.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>

#include "flashfit/flashfit.h"
#include "runtime/python/abi3t.hpp"
#include "runtime/python/describe_call.hpp"
#include "runtime/python/eager.hpp"
#include "runtime/python/layer.hpp"
#include "runtime/python/node_forward.hpp"
#include "runtime/python/sdpa_kernel.hpp"
#include "runtime/python/tensor.hpp"
#include "runtime/python/vectorcall.hpp"
#include "runtime/python/workspace.hpp"

namespace flashfit::python {
namespace {

using Attend = decltype(&flashfit_attention_run);
using Route = decltype(&flashfit_moe_route);

/// Of one interpreter.
struct State {
  Attend attention_run = nullptr;
  Route moe_route = nullptr;
  RunLayer fused_moe_run = nullptr;
  TensorTypes types;
  Eager eager;
};

State& state_of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

/// False, with an exception, unless a function got the arguments that it wants and what it calls is connected.
bool expect(const char* name, Py_ssize_t count, Py_ssize_t wanted, bool connected) {
  if (count == wanted && connected) return true;
  PyErr_Format(PyExc_TypeError, "%s: %zd arguments, %s; accepted: %zd, after connect()", name, count,
               connected ? "connected" : "not connected", wanted);
  return false;
}
bool expect(const char* name, Py_ssize_t count, Py_ssize_t wanted, const State& state) {
  return expect(name, count, wanted, state.attention_run != nullptr);
}

PyObject* connect(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kAttentionRun, kMoeRoute, kFusedMoeRun, kCount };
  void* functions[kCount] = {};
  if (!expect("connect", count == kMoeRoute ? Py_ssize_t{kCount} : count, kCount, true)) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) functions[i] = PyLong_AsVoidPtr(args[i]);
  if (PyErr_Occurred()) return nullptr;
  state_of(module).attention_run = reinterpret_cast<Attend>(functions[kAttentionRun]);
  state_of(module).moe_route = reinterpret_cast<Route>(functions[kMoeRoute]);
  state_of(module).fused_moe_run = reinterpret_cast<RunLayer>(functions[kFusedMoeRun]);
  return new_reference(Py_None);
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
    kCountModes,
    kScratch,
    kCount
  };
  if (!expect("connect_torch", count, kCount, state)) return nullptr;
  if (!is_dict(args[kDtypes])) {
    PyErr_SetString(PyExc_TypeError, "connect_torch: dtypes; accepted: a dict");
    return nullptr;
  }
  // Other threads may be in a call that reads torch's part, so it is not written again.
  if (state.types.torch_tensor_type()) {
    PyErr_SetString(PyExc_TypeError, "connect_torch: connected already; accepted: one call for each module");
    return nullptr;
  }
  const auto count_modes = reinterpret_cast<std::int64_t (*)()>(PyLong_AsVoidPtr(args[kCountModes]));
  if (PyErr_Occurred()) return nullptr;
  if (!state.eager.connect({args[kTensorType], args[kAlways], args[kQuiet], args[kForwardAd], args[kIsGradEnabled],
                            args[kEmptyLike], args[kCheckLike], args[kScratch], count_modes}))
    return nullptr;
  if (!state.types.set_torch(args[kTensorType], args[kDtypes], args[kCurrentStream])) return nullptr;
  return new_reference(Py_None);
}

PyObject* connect_shim(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  const State& state = state_of(module);
  if (!expect("connect_shim", count, torch_shim::kFunctions, state)) return nullptr;
  void* addresses[torch_shim::kFunctions] = {};
  for (Py_ssize_t i = 0; i < count; ++i) addresses[i] = PyLong_AsVoidPtr(args[i]);
  if (PyErr_Occurred()) return nullptr;
  std::memcpy(&torch_shim::functions, addresses, sizeof addresses);
  connect_node_forward(state.attention_run);
  const auto address = [](NodeOperator name) { return reinterpret_cast<void*>(node_forward(name)); };
  const Owned kernels[] = {Owned(PyLong_FromVoidPtr(address(NodeOperator::kOnCpu))),
                           Owned(PyLong_FromVoidPtr(address(NodeOperator::kOnGpu))),
                           Owned(PyLong_FromVoidPtr(address(NodeOperator::kOnGpuRowsFirst)))};
  if (PyErr_Occurred()) return nullptr;
  return PyTuple_Pack(3, kernels[0].get(), kernels[1].get(), kernels[2].get());
}

PyObject* connect_sdpa(PyObject*, PyObject* const* args, Py_ssize_t count) {
  enum { kRedispatch, kModeStackLen, kOwn, kOurs, kCount };
  if (!expect("connect_sdpa", count, kCount, torch_shim::functions.get_sizes != nullptr)) return nullptr;
  const sdpa::Torch torch = {PyLong_AsVoidPtr(args[kRedispatch]), PyLong_AsVoidPtr(args[kModeStackLen]),
                             PyLong_AsUnsignedLongLong(args[kOwn]), PyLong_AsUnsignedLongLong(args[kOurs])};
  if (PyErr_Occurred()) return nullptr;
  if (!sdpa::connect(torch)) return new_reference(Py_None);
  return PyLong_FromVoidPtr(reinterpret_cast<void*>(sdpa::kernel));
}

constexpr char kCallsName[] = "flashfit.known_calls";

/// What a host's module of the package holds of its known calls.
PyObject* capsule_of(KnownCalls* calls, PyCapsule_Destructor destroy) {
  PyObject* const capsule = PyCapsule_New(calls, kCallsName, destroy);
  if (!capsule && destroy) delete calls;
  return capsule;
}

PyObject* new_calls(PyObject*, PyObject*) {
  auto* const calls = new (std::nothrow) KnownCalls;
  if (!calls) return PyErr_NoMemory();
  return capsule_of(
      calls, [](PyObject* capsule) { delete static_cast<KnownCalls*>(PyCapsule_GetPointer(capsule, kCallsName)); });
}

PyObject* sdpa_calls(PyObject*, PyObject*) { return capsule_of(&sdpa::known_calls(), nullptr); }

/// nullptr, with an exception, if the object holds none.
KnownCalls* calls_of(PyObject* capsule) { return static_cast<KnownCalls*>(PyCapsule_GetPointer(capsule, kCallsName)); }

/// Known calls and a line of their log: a function's first two arguments.
struct Line {
  KnownCalls* calls;
  int number;  ///< -1, with an exception, if the arguments are none
};

Line line_of(const char* function, PyObject* const* args, Py_ssize_t count) {
  KnownCalls* const calls = count >= 2 ? calls_of(args[0]) : nullptr;
  const long number = calls ? PyLong_AsLong(args[1]) : -1;
  if (number >= 0 && number < KnownCalls::kLines) return {calls, static_cast<int>(number)};
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "%s: line; accepted: one, 0 to %d", function, KnownCalls::kLines - 1);
  return {calls, -1};
}

PyObject* know_call(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const Line line = line_of("know_call", args, count);
  if (line.number < 0) return nullptr;
  KnownCalls::Found found = {.fate = Fate::kLeft, .line = line.number};
  if (count == 3) {
    found.way = static_cast<int>(PyLong_AsLong(args[2]));
    if (PyErr_Occurred()) return nullptr;
    found.fate = found.way < 0 ? Fate::kPlain : Fate::kByWay;
  }
  line.calls->add(found.line);
  if (asked_now && asked_now->calls == line.calls) line.calls->remember(asked_now->signature, found);
  return new_reference(Py_None);
}

PyObject* count_calls(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const Line line = line_of("count_calls", args, count);
  return line.number < 0 ? nullptr : PyLong_FromUnsignedLongLong(line.calls->count(line.number));
}

PyObject* forget_calls(PyObject*, PyObject* capsule) {
  KnownCalls* const calls = calls_of(capsule);
  if (!calls) return nullptr;
  calls->forget();
  return new_reference(Py_None);
}

/// A call's tensors: by their place in the arguments of attend(), then in its options.
enum Place {
  kQ,
  kK,
  kV,
  kOut,
  kLse,
  kCuSeqlensQ,
  kCuSeqlensK,
  kTensors,
  kAlibiSlopes = kTensors,
  kSinks,
  kBias,
  kSequsedK,
  kPlaces
};

/// A call of the library and the tensors that its arguments point to.
struct Call {
  flashfit_attention_args args{};
  Tensor tensors[kTensors];
  PyObject* allocate = nullptr;  ///< a function that gives the address of so many bytes

  /// False if the object is neither None nor a tensor that can be read.
  bool read(State& state, Place place, PyObject* object, bool heads_first) {
    return read(state, place, tensors[place], object, heads_first && place <= kOut);
  }
  bool read(State& state, Place place, Tensor& tensor, PyObject* object, bool heads_first) {
    static constexpr const DLTensor* flashfit_attention_args::* kSlots[kPlaces] = {
        &flashfit_attention_args::q,
        &flashfit_attention_args::k,
        &flashfit_attention_args::v,
        &flashfit_attention_args::out,
        &flashfit_attention_args::lse,
        &flashfit_attention_args::cu_seqlens_q,
        &flashfit_attention_args::cu_seqlens_k,
        &flashfit_attention_args::alibi_slopes,
        &flashfit_attention_args::sinks,
        &flashfit_attention_args::bias,
        &flashfit_attention_args::seqused_k,
    };
    if (object == Py_None) return true;
    args.*kSlots[place] = &tensor.get();
    return tensor.read(object, state.types, heads_first);
  }

  /// The status of the call, or kUnreadable. With `find_stream` it lacks its stream, which torch knows, and torch gives
  /// its workspace.
  int run(State& state, bool find_stream) {
    if (find_stream && !current_stream(tensors[kQ], state.types, &args.stream)) return kUnreadable;
    args.struct_size = sizeof args;
    const auto attend = [&](flashfit_allocate give, void* context) {
      return state.attention_run(&args, give, context);
    };
    return Workspace(state.eager, state.types, allocate, tensors[kQ]).run(attend, allocate || find_stream);
  }
};

/// A call's options, apart from it: plain calls need no room for them.
struct Options {
  Tensor tensors[kPlaces - kTensors];

  /// Of attend()'s last argument, a tuple. False if it holds a tensor that cannot be read, or, with an exception, if it
  /// is none.
  bool read(State& state, PyObject* options, Call& call) {
    enum { kLeft, kRight, kSoftcap, kFirst, kMemory = kFirst + kPlaces - kTensors, kBytes, kAllocate, kCount };
    if (!is_tuple(options) || PyTuple_Size(options) != kCount) {
      PyErr_SetString(PyExc_TypeError, "attend: options; accepted: a tuple of 10");
      return false;
    }
    call.args.window_left = PyLong_AsLongLong(PyTuple_GetItem(options, kLeft));
    call.args.window_right = PyLong_AsLongLong(PyTuple_GetItem(options, kRight));
    call.args.softcap = static_cast<float>(PyFloat_AsDouble(PyTuple_GetItem(options, kSoftcap)));
    call.args.workspace = PyLong_AsVoidPtr(PyTuple_GetItem(options, kMemory));
    call.args.workspace_bytes = PyLong_AsUnsignedLongLong(PyTuple_GetItem(options, kBytes));
    if (PyErr_Occurred()) return false;
    PyObject* const allocate = PyTuple_GetItem(options, kAllocate);
    call.allocate = allocate == Py_None ? nullptr : allocate;
    for (int i = 0; i < kPlaces - kTensors; ++i) {
      const auto place = static_cast<Place>(kTensors + i);
      if (!call.read(state, place, tensors[i], PyTuple_GetItem(options, kFirst + i), false)) return false;
    }
    return true;
  }
};

PyObject* run(State& state, Call& call, bool find_stream) {
  const int status = call.run(state, find_stream);
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(status);
}

PyObject* run_with(State& state, Call& call, bool find_stream, PyObject* given) {
  Options options;
  if (options.read(state, given, call)) return run(state, call, find_stream);
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(kUnreadable);
}

PyObject* attend(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kFlags = kTensors, kScale, kStream, kVariant, kHeadsFirst, kCount, kOptions = kCount };
  State& state = state_of(module);
  const bool has_options = count == kCount + 1;
  if (!expect("attend", has_options ? Py_ssize_t{kCount} : count, kCount, state)) return nullptr;
  Call call;
  call.args.flags = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(args[kFlags]));
  call.args.softmax_scale = static_cast<float>(PyFloat_AsDouble(args[kScale]));
  if (args[kVariant] != Py_None) call.args.variant = PyBytes_AsString(args[kVariant]);
  if (args[kStream] != Py_None) call.args.stream = PyLong_AsVoidPtr(args[kStream]);
  if (PyErr_Occurred()) return nullptr;
  for (const Place place : {kQ, kK, kV, kOut, kLse, kCuSeqlensQ, kCuSeqlensK})
    if (!call.read(state, place, args[place], args[kHeadsFirst] == Py_True)) return PyLong_FromLong(kUnreadable);
  const bool find_stream = args[kStream] == Py_None;
  return has_options ? run_with(state, call, find_stream, args[kOptions]) : run(state, call, find_stream);
}

PyObject* route(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kLogits, kWeights, kIds, kRouteTensors, kFlags = kRouteTensors, kStream, kVariant, kCount, kOptions = kCount };
  State& state = state_of(module);
  const bool has_options = count == kCount + 1;
  if (!expect("route", has_options ? Py_ssize_t{kCount} : count, kCount, state.moe_route != nullptr)) return nullptr;
  flashfit_moe_route_args call{};
  call.struct_size = sizeof call;
  call.flags = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(args[kFlags]));
  if (args[kVariant] != Py_None) call.variant = PyBytes_AsString(args[kVariant]);
  if (args[kStream] != Py_None) call.stream = PyLong_AsVoidPtr(args[kStream]);
  if (PyErr_Occurred()) return nullptr;
  Tensor tensors[kRouteTensors];
  for (int i = 0; i < kRouteTensors; ++i)
    if (!tensors[i].read(args[i], state.types, false)) return PyLong_FromLong(kUnreadable);
  call.logits = &tensors[kLogits].get();
  call.weights = &tensors[kWeights].get();
  call.ids = &tensors[kIds].get();
  Tensor bias;
  if (has_options) {
    enum { kBias, kGroups, kGroupsKept, kScale, kOptionCount };
    PyObject* const options = args[kOptions];
    if (!is_tuple(options) || PyTuple_Size(options) != kOptionCount) {
      PyErr_SetString(PyExc_TypeError, "route: options; accepted: a tuple of 4");
      return nullptr;
    }
    call.groups = static_cast<std::int32_t>(PyLong_AsLong(PyTuple_GetItem(options, kGroups)));
    call.groups_kept = static_cast<std::int32_t>(PyLong_AsLong(PyTuple_GetItem(options, kGroupsKept)));
    call.scale = static_cast<float>(PyFloat_AsDouble(PyTuple_GetItem(options, kScale)));
    if (PyErr_Occurred()) return nullptr;
    if (PyObject* const given = PyTuple_GetItem(options, kBias); given != Py_None) {
      if (!bias.read(given, state.types, false)) return PyLong_FromLong(kUnreadable);
      call.router_bias = &bias.get();
    }
  }
  if (args[kStream] == Py_None && !current_stream(tensors[kLogits], state.types, &call.stream))
    return PyLong_FromLong(kUnreadable);
  flashfit_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = state.moe_route(&call);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

PyObject* layer(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kTensors, kNumbers, kStream, kSpace, kCount };
  State& state = state_of(module);
  if (!expect("layer", count, kCount, state.fused_moe_run != nullptr)) return nullptr;
  const LayerCall call = {args[kTensors], args[kNumbers], args[kStream], args[kSpace]};
  const int status = run_layer(state.fused_moe_run, state.eager, state.types, call);
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(status);
}

bool is_text(PyObject* object, const char* text) {
  return is_str(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

PyObject* is_plain(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  return PyBool_FromLong(state_of(module).eager.is_plain(args, static_cast<int>(count), false));
}

PyObject* is_plain_but_for_gradients(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  return PyBool_FromLong(state_of(module).eager.is_plain_but_for_gradients(args, static_cast<int>(count)));
}

std::int64_t last_size(const Tensor& tensor) {
  const DLTensor& t = tensor.get();
  return t.ndim > 0 ? t.shape[t.ndim - 1] : 0;
}

PyObject* new_out(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  State& state = state_of(module);
  if (!expect("new_out", count, 2, state)) return nullptr;
  // By attributes it would be read slower than Python asks for its shape.
  if (!state.types.exchange(args[0]) || !state.types.exchange(args[1])) return new_reference(Py_NotImplemented);
  Tensor q;
  Tensor v;
  if (!q.read(args[0], state.types, false) || !v.read(args[1], state.types, false) || last_size(q) != last_size(v))
    return new_reference(Py_NotImplemented);
  return state.eager.empty_like(args[0]).release();
}

/// attend_plain()'s arguments that are tensors, or None.
struct PlainTensors {
  PyObject *q, *k, *v, *cu_seqlens_q, *cu_seqlens_k, *out, *mask;
};

/// What attend_plain() returns.
PyObject* attend_plainly(State& state, const PlainTensors& given, bool causal, bool heads_first) {
  for (PyObject* each : {given.q, given.k, given.v})
    if (!state.eager.is_of_torch(each)) return new_reference(Py_NotImplemented);
  Call call;
  call.args.flags = causal ? FLASHFIT_CAUSAL : 0;
  PyObject* const tensors[] = {given.q,   given.k,   given.v, given.cu_seqlens_q, given.cu_seqlens_k,
                               given.out, given.mask};
  constexpr Place kPlaces[] = {kQ, kK, kV, kCuSeqlensQ, kCuSeqlensK, kOut};  // of these, in their order
  Tensor bias;
  bool readable = call.read(state, kBias, bias, given.mask, false) && (given.mask == Py_None || bias.lead_with_ones());
  for (std::size_t i = 0; i < std::size(kPlaces) && readable; ++i)
    readable = call.read(state, kPlaces[i], tensors[i], heads_first);
  // A result with another head_dim than q's is made elsewhere.
  readable = readable && (given.out != Py_None || last_size(call.tensors[kQ]) == last_size(call.tensors[kV]));
  if (!readable || !state.eager.is_plain(tensors, std::size(tensors), true)) {
    PyErr_Clear();
    return new_reference(Py_NotImplemented);
  }
  Owned out(given.out == Py_None ? state.eager.empty_like(given.q) : Owned(new_reference(given.out)));
  if (!out) return nullptr;
  if (given.out == Py_None && !call.read(state, kOut, out.get(), heads_first)) return new_reference(Py_NotImplemented);
  if (call.run(state, true) != FLASHFIT_OK) {
    PyErr_Clear();
    return new_reference(Py_NotImplemented);
  }
  return out.release();
}

/// False if the object is no truth, or names no layout: Python words it.
bool read_causal(PyObject* given, bool& causal) {
  causal = given == Py_True;
  return causal || given == Py_False;
}
bool read_layout(PyObject* given, bool& heads_first) {
  heads_first = is_text(given, "bhsd");
  return heads_first || is_text(given, "bshd");
}

PyObject* attend_plain(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kQuery, kKey, kValue, kOffsetsQ, kOffsetsK, kResult, kCausal, kLayout, kCount, kMask = kCount };
  State& state = state_of(module);
  const bool has_mask = count == kCount + 1;
  if (!expect("attend_plain", has_mask ? Py_ssize_t{kCount} : count, kCount, state)) return nullptr;
  bool causal = false, heads_first = false;
  if (!read_layout(args[kLayout], heads_first) || !read_causal(args[kCausal], causal))
    return new_reference(Py_NotImplemented);
  const PlainTensors tensors = {args[kQuery],
                                args[kKey],
                                args[kValue],
                                args[kOffsetsQ],
                                args[kOffsetsK],
                                args[kResult],
                                has_mask ? args[kMask] : Py_None};
  return attend_plainly(state, tensors, causal, heads_first);
}

/// flashfit.attention, whose calls attend_first() sees before Python does. One of a process: a call brings nothing that
/// would tell interpreters apart but the function itself, which is of one of them.
struct Attention {
  enum Name { kOut, kCausal, kLayout, kCuSeqlensQ, kCuSeqlensK, kNames };

  PyObject* module = nullptr;        ///< owned, and never given back: its state has to outlive every call
  PyObject* count_change = nullptr;  ///< owned likewise
  PyObject* names[kNames] = {};      ///< interned, as those of a call are, so that the same text is the same object
  Vectorcall python = nullptr;       ///< what Python does with a call
  /// Whether the last call that was not answered here asked for gradients: the next is asked first whether it does.
  /// While calls are answered, is_plain() tells.
  std::atomic<bool> trains = false;
} attention;

/// Whether a call of flashfit.attention is for Python, since it asks for gradients as the last one did.
bool trains_on(const Eager& eager, PyObject* q) {
  if (!attention.trains.load(std::memory_order_relaxed)) return false;
  const bool asks = eager.asks_for_gradients(q);
  if (!asks) attention.trains.store(false, std::memory_order_relaxed);
  return asks;
}

/// What attend_plain() returns, for a call of flashfit.attention(q, k, v, *, ...).
PyObject* attend_plain_call(PyObject* const* args, Py_ssize_t count, PyObject* names) {
  State& state = state_of(attention.module);
  if (count != 3 || trains_on(state.eager, args[0])) return new_reference(Py_NotImplemented);
  PlainTensors given = {args[0], args[1], args[2], Py_None, Py_None, Py_None, Py_None};
  bool causal = false, heads_first = false;
  const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const* const name = std::ranges::find(attention.names, PyTuple_GetItem(names, i));
    PyObject* const value = args[count + i];
    switch (name - attention.names) {
      case Attention::kOut:
        given.out = value;
        break;
      case Attention::kCuSeqlensQ:
        given.cu_seqlens_q = value;
        break;
      case Attention::kCuSeqlensK:
        given.cu_seqlens_k = value;
        break;
      case Attention::kCausal:
        if (!read_causal(value, causal)) return new_reference(Py_NotImplemented);
        break;
      case Attention::kLayout:
        if (!read_layout(value, heads_first)) return new_reference(Py_NotImplemented);
        break;
      default:
        return new_reference(Py_NotImplemented);
    }
  }
  Owned found(attend_plainly(state, given, causal, heads_first));
  if (found.get() == Py_NotImplemented) {
    attention.trains.store(state.eager.asks_for_gradients(given.q), std::memory_order_relaxed);
    return found.release();
  }
  if (!found || given.out == Py_None) return found.release();
  const Owned changed(PyTuple_Pack(1, given.out));
  const Owned counted(changed ? PyObject_CallFunctionObjArgs(attention.count_change, changed.get(), nullptr) : nullptr);
  return counted ? found.release() : nullptr;
}

PyObject* attend_first(PyObject* function, PyObject* const* args, std::size_t count, PyObject* names) {
  PyObject* const found = attend_plain_call(args, arguments_of(count), names);
  if (found != Py_NotImplemented) return found;
  Py_DecRef(found);
  return attention.python(function, args, count, names);
}

PyObject* answer_first(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kFunction, kSetVectorcall, kVectorcallOf, kCountChange, kCount };
  if (!expect("answer_first", count, kCount, state_of(module).types.torch_tensor_type() != nullptr)) return nullptr;
  const auto set = reinterpret_cast<SetVectorcall>(PyLong_AsVoidPtr(args[kSetVectorcall]));
  const auto of = reinterpret_cast<VectorcallOf>(PyLong_AsVoidPtr(args[kVectorcallOf]));
  if (PyErr_Occurred()) return nullptr;
  if (attention.module) return PyBool_FromLong(0);
  constexpr const char* kTexts[] = {"out", "causal", "layout", "cu_seqlens_q", "cu_seqlens_k"};
  static_assert(std::size(kTexts) == Attention::kNames);
  for (int i = 0; i < Attention::kNames; ++i) {
    replace(attention.names[i], Owned(PyUnicode_InternFromString(kTexts[i])).get());
    if (!attention.names[i]) return nullptr;
  }
  attention.python = of(args[kFunction]);
  attention.count_change = new_reference(args[kCountChange]);
  attention.module = new_reference(module);
  set(args[kFunction], attend_first);
  return PyBool_FromLong(1);
}

/// The kernel with its arguments, of which `named` are given by name.
PyObject* call_python(PyObject* kernel, PyObject* const* args, Py_ssize_t count, PyObject* named) {
  const Owned positional(PyTuple_New(count));
  const Owned by_name(named ? PyDict_New() : nullptr);
  if (!positional || (named && !by_name)) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SetItem(positional.get(), i, new_reference(args[i]));
  for (Py_ssize_t i = 0; named && i < PyTuple_Size(named); ++i)
    if (PyDict_SetItem(by_name.get(), PyTuple_GetItem(named, i), args[count + i]) != 0) return nullptr;
  return PyObject_Call(kernel, positional.get(), by_name.get());
}

PyObject* sdpa_or(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* named) {
  enum { kKernel, kWays, kQuery, kKey, kValue, kMask, kDropout, kCausal };
  State& state = state_of(module);
  if (!expect("sdpa_or", count <= kValue ? count : Py_ssize_t{kValue + 1}, kValue + 1, state)) return nullptr;
  const Asked* const asked = asked_now;
  const KnownCalls::Found found = asked ? asked->found : KnownCalls::Found{};
  Owned out;
  if (found.fate == Fate::kPlain) {
    const auto given = [&](int i) { return count > i ? args[i] : Py_None; };
    const PlainTensors tensors = {args[kQuery], args[kKey], args[kValue], Py_None, Py_None, Py_None, given(kMask)};
    out.reset(attend_plainly(state, tensors, given(kCausal) == Py_True, true));
    if (!out) return nullptr;
  } else if (found.fate == Fate::kByWay) {
    const Owned number(PyLong_FromLong(found.way));
    PyObject* const way = number && is_dict(args[kWays]) ? PyDict_GetItemWithError(args[kWays], number.get()) : nullptr;
    if (PyErr_Occurred()) return nullptr;
    const Owned held(new_reference(way ? way : Py_NotImplemented));  // another thread may take it out meanwhile
    out.reset(way ? PyObject_CallFunctionObjArgs(way, args[kQuery], args[kKey], args[kValue], nullptr)
                  : new_reference(Py_NotImplemented));
    if (!out) return nullptr;
  }
  if (out && out.get() != Py_NotImplemented) {
    sdpa::known_calls().add(found.line);
    return out.release();
  }
  // Calls alike are another thing at present: they need gradients, or need none, or something watches them.
  if (out) sdpa::known_calls().remember(asked->signature, {});
  return call_python(args[kKernel], args + kQuery, count - kQuery, named);
}

PyObject* left_or(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  enum { kCalls, kPython, kFirst };
  State& state = state_of(module);
  if (!expect("left_or", count < kFirst ? count : Py_ssize_t{kFirst}, kFirst, state)) return nullptr;
  Asked about;
  about.calls = calls_of(args[kCalls]);
  if (!about.calls) return nullptr;
  const bool readable = describe(args + kFirst, count - kFirst, state.eager, state.types, about.signature);
  if (readable) about.found = about.calls->find(about.signature);
  if (about.found.fate == Fate::kLeft) {
    about.calls->add(about.found.line);
    return new_reference(Py_NotImplemented);
  }
  const Asking asking(readable ? &about : nullptr);
  return call_python(args[kPython], args + kFirst, count - kFirst, nullptr);
}

PyCFunction fastcall_with_names(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyCFunction fastcall(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"connect", fastcall(connect), METH_FASTCALL,
     "connect(attention_run, moe_route, fused_moe_run): addresses of flashfit_attention_run, flashfit_moe_route and "
     "flashfit_fused_moe_run in the library that is loaded. The last two may be left out where neither route() nor "
     "layer() is called."},
    {"connect_torch", fastcall(connect_torch), METH_FASTCALL,
     "connect_torch(tensor_type, dtypes, current_stream, always, quiet, forward_ad, is_grad_enabled, empty_like, "
     "check_like, count_modes, scratch): torch's functions. dtypes maps torch.dtype to DLPack code * 256 + bits; "
     "current_stream "
     "maps a "
     "device "
     "index to a CUstream, or is None; always and quiet are tuples of pairs (callable, object): eager mode is plain "
     "while each returns its object; forward_ad is the dict of the module; check_like makes of plain tensors a "
     "function that is True of others for which it need not be asked again what quiet says, nor whether they ask for "
     "gradients or are negated, or is None; count_modes is the address of "
     "c10::impl::TorchDispatchModeTLS::stack_len(), "
     "which gives 0 in plain eager mode, or 0; scratch(bytes, device index) is new memory on a GPU, a tensor."},
    {"connect_shim", fastcall(connect_shim), METH_FASTCALL,
     "connect_shim(addresses): of the functions of torch's stable C interface, in the order of torch_shim.hpp; 0 for "
     "those "
     "that may be missing. Once for each process. Returns the addresses of the kernels of aten's "
     "_scaled_dot_product_flash_attention_for_cpu, _scaled_dot_product_flash_attention and _flash_attention_forward."},
    {"connect_sdpa", fastcall(connect_sdpa), METH_FASTCALL,
     "connect_sdpa(redispatch, mode_stack_len, own, ours): the address of the kernel of aten's "
     "scaled_dot_product_attention, None where torch does not lay its tensors out as known or does not tell their "
     "layout; after connect_shim(). "
     "Addresses of at::_ops::scaled_dot_product_attention::redispatch and c10::impl::TorchDispatchModeTLS::stack_len; "
     "own, ours: sets of dispatch keys for which torch calls its own function, and the kernel of Python."},
    {"new_calls", new_calls, METH_NOARGS, "new_calls(): calls of a host of which something may be known: none yet."},
    {"sdpa_calls", sdpa_calls, METH_NOARGS, "sdpa_calls(): those that the kernel of connect_sdpa() knows."},
    {"know_call", fastcall(know_call), METH_FASTCALL,
     "know_call(calls, line, way): from a function that is asked about a call: it counts in this line of the log, and "
     "so do calls alike from now on, without asking. Without a way they are left to the host; -1: they are taken if "
     "they are plain; else what sdpa_or()'s ways have under this number answers them."},
    {"count_calls", fastcall(count_calls), METH_FASTCALL, "count_calls(calls, line): how many count in it."},
    {"forget_calls", forget_calls, METH_O, "forget_calls(calls): every call is asked about; all counts are 0."},
    {"left_or", fastcall(left_or), METH_FASTCALL,
     "left_or(calls, function, *arguments): NotImplemented, and counted, for a call like one of which the function "
     "said "
     "by know_call() that it is left to the host; else the function's result. Alike are calls whose tensors have the "
     "same dtypes, devices and sizes, and whose other arguments, None, bools and floats, are the same."},
    {"attend", fastcall(attend), METH_FASTCALL,
     "attend(q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, flags, softmax_scale, stream, variant, heads_first, "
     "options): flashfit_attention_run's status; -1 if a tensor cannot be read. Tensors: None, objects whose type has "
     "DLPack's C exchange API, torch tensors, or (data, "
     "device type, device index, DLPack code, bits, shape, strides). "
     "stream: a CUstream, or None for the current one of q's package. variant: bytes or None. heads_first: q, k, v and "
     "out have heads before tokens. options may be left out: (window_left, window_right, softcap, alibi_slopes, sinks, "
     "bias, seqused_k, workspace's address, workspace_bytes, allocate). allocate(bytes), or None, gives the address of "
     "a workspace where one is needed and none was given; with stream None torch does."},
    {"layer", fastcall(layer), METH_FASTCALL,
     "layer(tensors, numbers, stream, space): flashfit_fused_moe_run's status; -1 if a tensor cannot be read. tensors: "
     "a tuple of the 16 of flashfit_fused_moe_args in their order, as attend() takes them, or None. numbers: (flags, "
     "experts_low, experts_high, activation, alpha, limit, shift, top_k, groups, groups_kept, scale). stream: as of "
     "attend(). space: (address, bytes, allocate) of the workspace, as attend() has them last; None: torch gives it."},
    {"route", fastcall(route), METH_FASTCALL,
     "route(logits, weights, ids, flags, stream, variant, options): flashfit_moe_route's status; -1 if a tensor cannot "
     "be read. Tensors, stream and variant as attend() takes them. options may be left out: (router_bias, groups, "
     "groups_kept, scale)."},
    {"is_plain", fastcall(is_plain), METH_FASTCALL,
     "is_plain(*tensors): whether these are plain torch tensors (or None) in plain eager mode."},
    {"is_plain_but_for_gradients", fastcall(is_plain_but_for_gradients), METH_FASTCALL,
     "is_plain_but_for_gradients(*tensors): as is_plain(), whether they need gradients or not."},
    {"new_out", fastcall(new_out), METH_FASTCALL,
     "new_out(q, v): a new torch tensor like q, if v is of its head_dim and both are read quickly; else "
     "NotImplemented."},
    {"attend_plain", fastcall(attend_plain), METH_FASTCALL,
     "attend_plain(q, k, v, cu_seqlens_q, cu_seqlens_k, out, causal, layout, bias): out, or a new tensor where it is "
     "None, with the attention of plain torch tensors in plain eager mode. bias may be left out; None, or a tensor of "
     "at most four dimensions that broadcasts to the scores'. NotImplemented, with nothing written, for anything else "
     "and for what the C API refuses."},
    {"answer_first", fastcall(answer_first), METH_FASTCALL,
     "answer_first(attention, set_vectorcall, vectorcall_of, count_change): calls of the function flashfit.attention "
     "are answered as attend_plain() does before Python runs it, which does the rest: those with other options, or "
     "that need a gradient. set_vectorcall, vectorcall_of: the addresses of PyFunction_SetVectorcall and "
     "PyVectorcall_Function. count_change((out,)) counts a change of a tensor. False if a function of this process has "
     "this already. After connect_torch()."},
    {"sdpa_or", fastcall_with_names(sdpa_or), METH_FASTCALL | METH_KEYWORDS,
     "sdpa_or(kernel, ways, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa): as the kernel of "
     "Python, which is asked about all but calls of which know_call() said otherwise. ways: a dict from numbers to "
     "functions "
     "of (query, key, value), which give the result or NotImplemented. What is torch's default may be left out."},
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

#ifdef FLASHFIT_ABI3T
abi3t::AbiInfo abi;

abi3t::Slot slots[] = {
    abi3t::of_static(abi3t::kAbi, &abi),
    abi3t::of_static(abi3t::kName, "_flashfit_native"),
    abi3t::of_size(abi3t::kStateSize, sizeof(State)),
    abi3t::of_static(abi3t::kMethods, methods),
    abi3t::of_function(abi3t::kStateTraverse, traverse),
    abi3t::of_function(abi3t::kStateClear, clear),
    abi3t::of_function(abi3t::kStateFree, release),
    abi3t::of_function(abi3t::kExec, execute),
    abi3t::without_gil(),
    {},
};
#else
PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_flashfit_native", nullptr, sizeof(State), methods, slots, traverse, clear, release,
};
#endif

}  // namespace
}  // namespace flashfit::python

// Python forms the names from the module's.
#ifdef FLASHFIT_ABI3T
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("default"))) void* PyModExport__flashfit_native() {
  return flashfit::python::slots;
}
#else
// NOLINTNEXTLINE(bugprone-reserved-identifier)
PyMODINIT_FUNC PyInit__flashfit_native() { return PyModuleDef_Init(&flashfit::python::definition); }
#endif
