#pragma once

#include <array>
#include <cstddef>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/type_check.h"

namespace kusari::functions {

/// The rules of a function that is made of others, and has no node of its own:
///
///   const InputCheck c("hinge", {&x, &t});
template <size_t n>
class InputCheck : public TypeCheck {
 public:
  InputCheck(const char* function, const Variable* const (&inputs)[n]) noexcept
      : TypeCheck{function, arrays_}, inputs_{std::to_array(inputs)}, arrays_{inputs_} {}
  InputCheck(const InputCheck&) = delete;
  InputCheck& operator=(const InputCheck&) = delete;

 private:
  std::array<const Variable*, n> inputs_;
  ArrayRefs arrays_;
};

}  // namespace kusari::functions
