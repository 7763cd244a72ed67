#pragma once
// Python objects as DLTensors.
#include <atomic>

#include "runtime/python/dlpack_exchange.hpp"
#include "runtime/python/object.hpp"

namespace flashfit::python {

/// What the module remembers of tensor types, for one interpreter. Threads may call it at once, without a lock of
/// Python's: what is remembered is written once, and then read.
class TensorTypes {
 public:
  ~TensorTypes() { clear(); }

  /// torch's part, for tensors of releases without the exchange API: its Tensor type, a dict from torch.dtype to DLPack
  /// code * 256 + bits, and a callable from a device index to the current CUstream as an int, or None. Borrowed. False,
  /// with an exception, if memory ran out. Once at most.
  bool set_torch(PyObject* tensor_type, PyObject* dtypes, PyObject* current_stream);

  /// The exchange API of the object's type, nullptr if it has none. No exception is left set.
  const ExchangeApi* exchange(PyObject* object);

  /// nullptr before set_torch(); what else is torch's may be asked for once this is not.
  PyObject* torch_tensor_type() const { return tensor_type_.load(std::memory_order_acquire); }
  PyObject* torch_dtypes() const { return dtypes_; }
  PyObject* torch_current_stream() const { return current_stream_; }

  /// The names of a torch tensor's attributes and methods, made once.
  enum Name { kDtype, kShape, kIsCpu, kIsCuda, kDataPtr, kStride, kGetDevice, kNames };
  PyObject* name(Name name) const { return names_[name]; }

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  struct Known {
    std::atomic<PyTypeObject*> type = nullptr;  ///< owned, so that its address stays its own; written after `api`
    const ExchangeApi* api = nullptr;
  };
  void remember(PyTypeObject* type, const ExchangeApi* api);

  static constexpr int kKnown = 8;  ///< a process has a handful of tensor types; more are looked up each time

  Known known_[kKnown];
  std::atomic<bool> remembering_ = false;
  std::atomic<PyObject*> tensor_type_ = nullptr;
  PyObject* dtypes_ = nullptr;
  PyObject* current_stream_ = nullptr;
  PyObject* names_[kNames] = {};
};

/// A DLTensor read from an object, and room for sizes and strides that the object does not lend.
class Tensor {
 public:
  /// Reads a tuple (data, device type, device index, DLPack code, bits, shape, strides in elements), an object whose
  /// type has the exchange API, or a torch tensor. `heads_first` swaps the heads and the tokens. False, with no
  /// exception left, if the object cannot be read; the caller knows better words for it.
  bool read(PyObject* object, TensorTypes& types, bool heads_first);

  /// Takes a DLTensor, whose sizes and strides live as long as this does.
  void take(const DLTensor& tensor, bool heads_first);

  /// Leading dimensions of size 1, up to four in all, as broadcasting has them; more than four are left as they are,
  /// to be refused by their number. False if the object does not say its strides.
  bool lead_with_ones();

  const DLTensor& get() const { return tensor_; }
  const ExchangeApi* exchange() const { return exchange_; }

 private:
  bool read_tuple(PyObject* tuple);
  bool read_torch(PyObject* tensor, TensorTypes& types);
  bool read_extents(PyObject* shape, PyObject* strides);
  bool swap_heads();
  void own_extents();

  static constexpr int kMaxDims = 4;  ///< more are refused by their number alone

  DLTensor tensor_{};
  const ExchangeApi* exchange_ = nullptr;
  int64_t shape_[kMaxDims], strides_[kMaxDims];
};

/// The stream that the tensor's package works on: 0 on the CPU and where the package names none. False as read().
bool current_stream(const Tensor& tensor, TensorTypes& types, void** stream);

}  // namespace flashfit::python
