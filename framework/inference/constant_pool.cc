#include "kusari/framework/inference/constant_pool.h"

#include <cstddef>
#include <type_traits>

namespace kusari::inference {

namespace {

// The bytes of a number: descriptions are compared, not read.
template <class T>
void append(std::string& text, const T& value) {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append(std::string& text, const Dims& dims) {
  append(text, dims.size());
  for (const int64_t value : dims) append(text, value);
}

}  // namespace

int64_t ConstantPool::number_of(const std::string& description) {
  return numbers_.try_emplace(description, static_cast<int64_t>(numbers_.size()) + 1).first->second;
}

int64_t ConstantPool::origin_of(const Array& array) {
  std::string text = "array";
  append(text, array.storage().id);
  append(text, array.storage().generation.load(std::memory_order_relaxed));
  return number_of(text);
}

void ConstantPool::note(const graphs::Program& program, const graphs::Step& step, std::vector<int64_t>& origins) {
  std::string text = "step";
  append(text, step.kernel);
  append(text, step.run);
  for (const graphs::Operand& operand : step.operands) {
    append(text, operand.kind);
    append(text, operand.bytes.size());
    text.append(reinterpret_cast<const char*>(operand.bytes.data()), operand.bytes.size());
    append(text, operand.views.size());
    for (const graphs::View& view : operand.views) {
      append(text, view.is_defined());
      if (!view.is_defined()) continue;
      const auto slot = static_cast<size_t>(view.slot);
      append(text, origins[slot]);  // of what is written, too: other parts of the slot stay
      append(text, program.slots[slot].bytes);
      append(text, view.dtype);
      append(text, view.shape);
      append(text, view.strides);
      append(text, view.offset);
    }
  }
  size_t written = 0;
  graphs::for_each_write(step, [&](const graphs::View& view) {
    std::string result = text;
    append(result, written++);
    origins[static_cast<size_t>(view.slot)] = number_of(result);
  });
}

std::shared_ptr<const Array> ConstantPool::find(int64_t origin) const {
  const auto found = kept_.find(origin);
  return found != kept_.end() ? found->second.lock() : nullptr;
}

std::shared_ptr<const Array> ConstantPool::keep(int64_t origin, const Array& array) {
  std::erase_if(kept_, [](const auto& entry) { return entry.second.expired(); });
  auto result = std::make_shared<const Array>(array);
  kept_[origin] = result;
  return result;
}

}  // namespace kusari::inference
