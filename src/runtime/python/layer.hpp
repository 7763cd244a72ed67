#pragma once
// A layer of experts: from Python objects to flashfit_fused_moe_run.
#include "flashfit/flashfit.h"
#include "runtime/python/eager.hpp"
#include "runtime/python/object.hpp"
#include "runtime/python/tensor.hpp"

namespace flashfit::python {

using RunLayer = decltype(&flashfit_fused_moe_run);

/// layer()'s arguments, as module.cpp describes them.
struct LayerCall {
  PyObject *tensors, *numbers, *stream, *space;
};

/// The status of the call, or kUnreadable. An exception is set where an argument is none, or of what allocates.
int run_layer(RunLayer run, Eager& eager, TensorTypes& types, const LayerCall& call);

}  // namespace flashfit::python
