#pragma once

#include <cstddef>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"

namespace kusari {

/// The inputs of a forward computation. An absent optional input is an undefined array.
class ArrayRefs {
 public:
  explicit ArrayRefs(std::span<const Variable* const> inputs) noexcept : inputs_{inputs} {}
  const Array& operator[](size_t i) const noexcept {
    const detail::VariableNode* node = inputs_[i]->node();
    return node != nullptr ? node->array : kUndefined;
  }
  size_t size() const noexcept { return inputs_.size(); }

 private:
  static inline const Array kUndefined{};
  std::span<const Variable* const> inputs_;
};

}  // namespace kusari
