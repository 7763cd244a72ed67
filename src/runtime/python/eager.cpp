#include "runtime/python/eager.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace flashfit::python {

namespace {

bool are_pairs(PyObject* tuple) {
  if (!is_tuple(tuple)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) {
    PyObject* pair = PyTuple_GetItem(tuple, i);
    if (!is_tuple(pair) || PyTuple_Size(pair) != 2) return false;
  }
  return true;
}

/// The tensors that are given, as a tuple, each once: torch's check is never true of one that comes twice.
Owned tuple_of(PyObject* const* tensors, int count, unsigned& given) {
  PyObject* present[Eager::kMost];
  Py_ssize_t size = 0;
  given = 0;
  for (int i = 0; i < count; ++i) {
    if (tensors[i] == Py_None || std::find(present, present + size, tensors[i]) != present + size) continue;
    given |= 1u << i;
    present[size++] = tensors[i];
  }
  Owned tuple(PyTuple_New(size));
  for (Py_ssize_t i = 0; tuple && i < size; ++i) PyTuple_SetItem(tuple.get(), i, new_reference(present[i]));
  return tuple;
}

}  // namespace

bool Eager::connect(const Torch& torch) {
  if (!are_pairs(torch.always) || !are_pairs(torch.quiet) || !is_dict(torch.forward_ad)) {
    PyErr_SetString(PyExc_TypeError,
                    "connect_torch: always, quiet, forward_ad; accepted: tuples of pairs (callable, object), a dict");
    return false;
  }
  const Owned requires_grad(PyUnicode_InternFromString("requires_grad"));
  const Owned is_neg(PyUnicode_InternFromString("is_neg"));
  const Owned level(PyUnicode_InternFromString("_current_level"));
  const Owned no_level(PyLong_FromLong(-1));
  if (!requires_grad || !is_neg || !level || !no_level) return false;
  replace(always_, torch.always);
  replace(quiet_, torch.quiet);
  replace(forward_ad_, torch.forward_ad);
  replace(is_grad_enabled_, torch.is_grad_enabled);
  replace(empty_like_, torch.empty_like);
  replace(check_like_, torch.check_like);
  replace(scratch_, torch.scratch);
  replace(requires_grad_, requires_grad.get());
  replace(is_neg_, is_neg.get());
  replace(level_, level.get());
  replace(no_level_, no_level.get());
  count_modes_ = torch.count_modes;
  tensor_type_.store(new_reference(torch.tensor_type), std::memory_order_release);
  return true;
}

bool Eager::hold(PyObject* pairs) const {
  for (Py_ssize_t i = 0, n = PyTuple_Size(pairs); i < n; ++i) {
    PyObject* pair = PyTuple_GetItem(pairs, i);
    const Owned found(PyObject_CallNoArgs(PyTuple_GetItem(pair, 0)));
    if (found.get() != PyTuple_GetItem(pair, 1)) return false;
  }
  return true;
}

bool Eager::is_alone() const {
  if (count_modes_ && count_modes_() != 0) return false;
  const Owned level(PyObject_GetItem(forward_ad_, level_));  // another thread may replace it meanwhile
  return level && PyObject_RichCompareBool(level.get(), no_level_, Py_EQ) == 1 && hold(always_);
}

bool Eager::vouches(const Known& known, PyObject* tensors, unsigned given) {
  PyObject* const check = known.check.load(std::memory_order_acquire);
  return check && known.given == given && Owned(PyObject_Call(check, tensors, nullptr)).get() == Py_True;
}

bool Eager::is_known(PyObject* tensors, unsigned given) {
  const int latest = latest_.load(std::memory_order_relaxed);
  if (vouches(known_[latest], tensors, given)) return true;
  for (int i = 0; i < kKnown; ++i) {
    if (i == latest || !vouches(known_[i], tensors, given)) continue;
    latest_.store(i, std::memory_order_relaxed);
    return true;
  }
  return false;
}

Owned Eager::new_check(PyObject* tensors) const {
  for (Py_ssize_t i = 0; i < PyTuple_Size(tensors); ++i) {
    // Plain without gradients does not make it plain with them.
    if (!needs_no_gradient(PyTuple_GetItem(tensors, i))) return nullptr;
  }
  return Owned(PyObject_Call(check_like_, tensors, nullptr));
}

void Eager::remember(PyObject* tensors, unsigned given) {
  // While another thread does, this call is asked about in full once more when it comes again.
  if (remembering_.exchange(true, std::memory_order_acquire)) return;
  Known* const free = std::find_if(std::begin(known_), std::end(known_), [](const Known& k) { return !k.check; });
  if (free != std::end(known_)) {
    free->given = given;
    free->check.store(new_check(tensors).release(), std::memory_order_release);
  }
  remembering_.store(false, std::memory_order_release);
}

bool Eager::is_of_torch(PyObject* object) const {
  return reinterpret_cast<PyObject*>(type_of(object)) == tensor_type_.load(std::memory_order_acquire);
}

bool Eager::is_plain(PyObject* tensor, bool grad) const {
  if (!is_of_torch(tensor)) return false;
  if (grad && !needs_no_gradient(tensor)) return false;
  return Owned(PyObject_CallMethodObjArgs(tensor, is_neg_, nullptr)).get() == Py_False;
}

bool Eager::is_plain(PyObject* const* tensors, int count, bool readable) {
  bool plain = count <= kMost && tensor_type_.load(std::memory_order_acquire) && is_alone();
  unsigned given = 0;
  const Owned tuple = plain && readable && check_like_ != Py_None ? tuple_of(tensors, count, given) : nullptr;
  if (tuple && is_known(tuple.get(), given)) return true;
  PyErr_Clear();
  plain = plain && hold(quiet_);
  const bool grad = plain && Owned(PyObject_CallNoArgs(is_grad_enabled_)).get() != Py_False;
  for (int i = 0; plain && i < count; ++i) plain = tensors[i] == Py_None || is_plain(tensors[i], grad);
  if (plain && tuple) remember(tuple.get(), given);
  PyErr_Clear();
  return plain;
}

bool Eager::is_plain_but_for_gradients(PyObject* const* tensors, int count) const {
  bool plain = tensor_type_.load(std::memory_order_acquire) && is_alone() && hold(quiet_);
  for (int i = 0; plain && i < count; ++i) plain = tensors[i] == Py_None || is_plain(tensors[i], false);
  PyErr_Clear();
  return plain;
}

bool Eager::asks_for_gradients(PyObject* tensor) const {
  const bool asks = is_of_torch(tensor) && !needs_no_gradient(tensor);
  PyErr_Clear();
  return asks;
}

bool Eager::needs_no_gradient(PyObject* tensor) const {
  return Owned(PyObject_GetAttr(tensor, requires_grad_)).get() == Py_False;
}

Owned Eager::empty_like(PyObject* tensor) const {
  return Owned(PyObject_CallFunctionObjArgs(empty_like_, tensor, nullptr));
}

Owned Eager::scratch(std::uint64_t bytes, int device) const {
  return Owned(PyObject_CallFunction(scratch_, "Ki", static_cast<unsigned long long>(bytes), device));
}

int Eager::traverse(visitproc visit, void* arg) const {
  for (const Known& known : known_) Py_VISIT(known.check.load());
  Py_VISIT(tensor_type_.load());
  Py_VISIT(always_);
  Py_VISIT(quiet_);
  Py_VISIT(forward_ad_);
  Py_VISIT(is_grad_enabled_);
  Py_VISIT(empty_like_);
  Py_VISIT(check_like_);
  Py_VISIT(scratch_);
  return 0;
}

void Eager::clear() {
  for (Known& known : known_) Py_DecRef(known.check.exchange(nullptr));
  Py_DecRef(tensor_type_.exchange(nullptr));
  for (PyObject** member : {&always_, &quiet_, &forward_ad_, &is_grad_enabled_, &empty_like_, &check_like_, &scratch_,
                            &requires_grad_, &is_neg_, &level_, &no_level_})
    replace(*member, nullptr);
}

}  // namespace flashfit::python
