#pragma once
// JSON written as it is said, by RapidJSON's Writer. No tree of it is kept, so memory that runs out is std::bad_alloc
// and nothing worse: what frees a tree may want memory itself.
#include <rapidjson/writer.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"

namespace flashfit {

/// A compact document. Keys and values come in the order of the calls, which must make sense as JSON.
class JsonText {
 public:
  JsonText() = default;
  JsonText(const JsonText&) = delete;  // the writer knows where its text is
  JsonText& operator=(const JsonText&) = delete;

  void begin_object() { sound_ &= writer_.StartObject(); }
  void end_object() { sound_ &= writer_.EndObject(); }
  void begin_array() { sound_ &= writer_.StartArray(); }
  void end_array() { sound_ &= writer_.EndArray(); }
  void key(const char* name) { sound_ &= writer_.Key(name); }

  void value(std::nullptr_t) { sound_ &= writer_.Null(); }
  void value(bool x) { sound_ &= writer_.Bool(x); }
  void value(double x) { sound_ &= writer_.Double(x); }
  void value(std::signed_integral auto x) { sound_ &= writer_.Int64(x); }
  void value(std::unsigned_integral auto x) { sound_ &= writer_.Uint64(x); }
  void value(std::string_view text) {
    // RapidJSON reads as many bytes as a character's first one promises, past the end of a text that is cut there.
    const std::string padded = std::string(text).append(3, '\0');
    sound_ &= writer_.String(padded.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void value(const char* text) { value(std::string_view(text)); }  // else it is a bool
  template <class T>
  void value(const std::optional<T>& x) {
    x ? value(*x) : value(nullptr);
  }

  void field(const char* name, const auto& x) {
    key(name);
    value(x);
  }

  /// The document. Code::kInternal if a text in it is no UTF-8 or a number is not finite.
  Result<std::string> take() {
    if (!sound_) return fail(Code::kInternal, "a value that JSON cannot hold");
    return std::move(out_.text);
  }

 private:
  // NOLINTBEGIN(readability-identifier-naming): RapidJSON's names
  struct Out {
    using Ch = char;
    std::string text;
    void Put(char c) { text += c; }
    void Flush() {}
  };
  /// RapidJSON's own allocators give nullptr, which its stacks do not look for.
  struct Memory {
    static constexpr bool kNeedFree = true;
    static void* Malloc(std::size_t bytes) { return bytes ? ::operator new(bytes) : nullptr; }
    static void* Realloc(void* old, std::size_t old_bytes, std::size_t bytes) {
      void* const fresh = Malloc(bytes);
      if (old && fresh) std::memcpy(fresh, old, std::min(old_bytes, bytes));
      Free(old);
      return fresh;
    }
    static void Free(void* memory) { ::operator delete(memory); }
  };
  // NOLINTEND(readability-identifier-naming)

  Out out_;
  rapidjson::Writer<Out, rapidjson::UTF8<>, rapidjson::UTF8<>, Memory, rapidjson::kWriteValidateEncodingFlag> writer_{
      out_};
  bool sound_ = true;
};

}  // namespace flashfit
