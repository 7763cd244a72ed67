#pragma once
// The arguments of an entry of PTX as a person writes them, and the memory that they point to.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proof/emu/memory.hpp"
#include "proof/ptx/module.hpp"

namespace flashfit::cli {

/// A type of elements: "fp16", NumPy's "<f2".
struct ElementType {
  const char* name;
  const char* descr;
  std::size_t bytes;
  enum class Kind : unsigned char { kFloat, kSigned, kUnsigned } kind;
};

/// What a tensor holds before a run.
struct Fill {
  enum class Kind : unsigned char { kRandom, kUniform, kFile, kNothing } kind = Kind::kRandom;
  double low = 0, high = 0;      ///< of kUniform; equal: that number everywhere
  std::vector<std::byte> bytes;  ///< of kFile
};

/// Memory that a pointer among the arguments points to.
class PtxTensor {
 public:
  PtxTensor(std::string name, const ElementType& type, std::vector<std::int64_t> shape, bool readable, bool writable,
            Fill fill);

  const std::string& name() const { return name_; }
  const ElementType& type() const { return *type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  bool writable() const { return writable_; }
  const char* access() const { return !writable_ ? "in" : readable_ ? "inout" : "out"; }
  std::span<std::byte> bytes() { return {data_, elements_ * type_->bytes}; }
  std::size_t elements() const { return elements_; }
  /// Element i as a number; NaN where nothing has written an `out`.
  double at(std::size_t i) const;
  bool is_unwritten(std::size_t i) const;
  std::string in_words() const;  ///< "fp16[4,128]"

  /// What it holds before a run: random numbers by the seed.
  void fill(std::uint64_t seed);

 private:
  std::string name_;
  const ElementType* type_;
  std::vector<std::int64_t> shape_;
  bool readable_, writable_;
  Fill fill_;
  std::size_t elements_ = 1;
  std::unique_ptr<std::byte[]> storage_;
  std::byte* data_;
};

/// All arguments of a launch.
class PtxArguments {
 public:
  /// One text for each of the entry's parameters. wrong() where one is not understood, or not what is declared.
  PtxArguments(const ptx::Entry& entry, const std::vector<std::string>& texts);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<PtxTensor>& tensors() { return tensors_; }
  /// All tensors as a run begins; each has random numbers of its own.
  void fill(std::uint64_t seed);
  emu::Memory memory();

 private:
  class Reader;

  std::vector<std::byte> bytes_;
  std::vector<PtxTensor> tensors_;
  std::size_t tensor_bytes_ = 0;
};

}  // namespace flashfit::cli
