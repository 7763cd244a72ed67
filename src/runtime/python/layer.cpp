#include "runtime/python/layer.hpp"

#include <cstdint>
#include <iterator>

#include "runtime/python/workspace.hpp"

namespace flashfit::python {
namespace {

using Args = flashfit_fused_moe_args;

/// In the order of the struct.
constexpr const DLTensor* Args::* kTensors[] = {
    &Args::x,
    &Args::w13,
    &Args::w2,
    &Args::out,
    &Args::topk_ids,
    &Args::topk_weights,
    &Args::router_logits,
    &Args::offsets,
    &Args::b13,
    &Args::b2,
    &Args::router_bias,
    &Args::expert_map,
    &Args::shared_w13,
    &Args::shared_w2,
    &Args::shared_gate,
    &Args::z,
};
constexpr int kTensorCount = std::size(kTensors);

bool is_tuple_of(PyObject* object, Py_ssize_t count) { return is_tuple(object) && PyTuple_Size(object) == count; }

/// False, with an exception, if it is no tuple of 11 numbers.
bool read_numbers(PyObject* numbers, Args& args) {
  enum { kFlags, kLow, kHigh, kActivation, kAlpha, kLimit, kShift, kTopK, kGroups, kGroupsKept, kScale, kCount };
  if (!is_tuple_of(numbers, kCount)) {
    PyErr_SetString(PyExc_TypeError, "layer: numbers; accepted: a tuple of 11");
    return false;
  }
  const auto whole = [&](int i) { return static_cast<std::int32_t>(PyLong_AsLong(PyTuple_GetItem(numbers, i))); };
  const auto number = [&](int i) { return static_cast<float>(PyFloat_AsDouble(PyTuple_GetItem(numbers, i))); };
  args.flags = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(PyTuple_GetItem(numbers, kFlags)));
  args.experts_low = whole(kLow);
  args.experts_high = whole(kHigh);
  args.activation = whole(kActivation);
  args.alpha = number(kAlpha);
  args.limit = number(kLimit);
  args.shift = number(kShift);
  args.top_k = whole(kTopK);
  args.groups = whole(kGroups);
  args.groups_kept = whole(kGroupsKept);
  args.scale = number(kScale);
  return !PyErr_Occurred();
}

/// False, with an exception, if it is neither None nor (address, bytes, allocate). allocate: nullptr for None.
bool read_space(PyObject* space, Args& args, PyObject*& allocate) {
  enum { kAddress, kBytes, kAllocate, kCount };
  if (space == Py_None) return true;
  if (!is_tuple_of(space, kCount)) {
    PyErr_SetString(PyExc_TypeError, "layer: space; accepted: None or a tuple of 3");
    return false;
  }
  args.workspace = PyLong_AsVoidPtr(PyTuple_GetItem(space, kAddress));
  args.workspace_bytes = PyLong_AsUnsignedLongLong(PyTuple_GetItem(space, kBytes));
  PyObject* const given = PyTuple_GetItem(space, kAllocate);
  allocate = given == Py_None ? nullptr : given;
  return !PyErr_Occurred();
}

}  // namespace

int run_layer(RunLayer run, Eager& eager, TensorTypes& types, const LayerCall& call) {
  Args args{};
  args.struct_size = sizeof args;
  PyObject* allocate = nullptr;
  if (!is_tuple_of(call.tensors, kTensorCount)) {
    PyErr_Format(PyExc_TypeError, "layer: tensors; accepted: a tuple of %d", kTensorCount);
    return kUnreadable;
  }
  if (!read_numbers(call.numbers, args) || !read_space(call.space, args, allocate)) return kUnreadable;
  Tensor tensors[kTensorCount];
  for (int i = 0; i < kTensorCount; ++i) {
    PyObject* const given = PyTuple_GetItem(call.tensors, i);
    if (given == Py_None) continue;
    if (!tensors[i].read(given, types, false)) return kUnreadable;
    args.*kTensors[i] = &tensors[i].get();
  }
  if (call.stream == Py_None) {
    if (!current_stream(tensors[0], types, &args.stream)) return kUnreadable;
  } else {
    args.stream = PyLong_AsVoidPtr(call.stream);
    if (PyErr_Occurred()) return kUnreadable;
  }
  const auto function = [&](flashfit_allocate give, void* context) { return run(&args, give, context); };
  return Workspace(eager, types, allocate, tensors[0]).run(function, allocate || call.space == Py_None);
}

}  // namespace flashfit::python
