#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari {
class Serializer;
}

// Objects as the strings of bytes that Communicator's *_obj methods take.
namespace kusari::distributed {

class MessageWriter {
 public:
  void number(int64_t value);
  void real(double value);
  void text(std::string_view value);
  void example(const datasets::Example& value);

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads in the order of writing. Throws StateError, naming `call`, where the bytes are of another kind: ranks that
/// call different things.
class MessageReader {
 public:
  /// `bytes` must live as long.
  MessageReader(const char* call, std::string_view bytes) : call_{call}, bytes_{bytes} {}
  int64_t number();
  double real();
  std::string text();
  datasets::Example example();

 private:
  std::string_view take(size_t size);
  [[noreturn]] void fail() const;

  const char* call_;
  std::string_view bytes_;
};

/// What an object writes when it serializes itself, and an object that reads it.
std::string state_message(const Callable<void(Serializer&)>& serialize);
void read_state_message(const char* call, std::string_view bytes, const Callable<void(Serializer&)>& serialize);

}  // namespace kusari::distributed
