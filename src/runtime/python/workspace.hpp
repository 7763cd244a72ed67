#pragma once
// Where a call's workspace comes from: a Python function that gives its address, or else torch.
#include <cstdint>

#include "flashfit/flashfit.h"
#include "runtime/python/eager.hpp"
#include "runtime/python/tensor.hpp"

namespace flashfit::python {

/// What calls return, beside a status of the C API: a tensor cannot be read.
inline constexpr int kUnreadable = -1;

/// What is allocated goes when this does: work that uses the memory again is queued behind the call's.
class Workspace {
 public:
  /// allocate: a function of a number of bytes, or nullptr: torch's memory on the GPU of `first`.
  Workspace(Eager& eager, TensorTypes& types, PyObject* allocate, const Tensor& first)
      : eager_(eager), types_(types), allocate_(allocate), first_(first) {}

  /// The status of function(allocate, context), a call of the C API without Python's lock, which may ask for its
  /// workspace if it `allocates`; an exception of the function that was asked is set then.
  template <class Function>
  int run(Function function, bool allocates) {
    thread_ = PyEval_SaveThread();
    const flashfit_status status = function(allocates ? give : nullptr, this);
    PyEval_RestoreThread(thread_);
    if (type_) PyErr_Restore(type_, value_, traceback_);
    return status;
  }

 private:
  static void* give(void* context, std::uint64_t bytes) {
    Workspace& workspace = *static_cast<Workspace*>(context);
    PyEval_RestoreThread(workspace.thread_);
    void* const data = workspace.allocate_ ? workspace.ask(bytes) : workspace.take_of_torch(bytes);
    // No exception is set while other code runs.
    if (!data) PyErr_Fetch(&workspace.type_, &workspace.value_, &workspace.traceback_);
    workspace.thread_ = PyEval_SaveThread();
    return data;
  }

  void* ask(std::uint64_t bytes) {
    const Owned address(PyObject_CallFunction(allocate_, "K", static_cast<unsigned long long>(bytes)));
    return address ? PyLong_AsVoidPtr(address.get()) : nullptr;
  }

  void* take_of_torch(std::uint64_t bytes) {
    memory_ = eager_.scratch(bytes, static_cast<int>(first_.get().device.device_id));
    return memory_ && tensor_.read(memory_.get(), types_, false) ? tensor_.get().data : nullptr;
  }

  Eager& eager_;
  TensorTypes& types_;
  PyObject* allocate_;
  const Tensor& first_;
  Owned memory_;
  Tensor tensor_;
  PyThreadState* thread_ = nullptr;
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;  // of what the function raised
};

}  // namespace flashfit::python
