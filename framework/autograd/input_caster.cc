#include "kusari/framework/autograd/input_caster.h"

#include <utility>

namespace kusari {

constinit thread_local InputCaster* detail::t_input_caster = nullptr;

InputCaster::~InputCaster() = default;

ScopedInputCaster::ScopedInputCaster(InputCaster* caster) noexcept
    : previous_{std::exchange(detail::t_input_caster, caster)} {}
ScopedInputCaster::~ScopedInputCaster() { detail::t_input_caster = previous_; }

detail::CastInputs::CastInputs(const FunctionNode& function, std::span<const Variable* const> inputs)
    : inputs_(inputs) {
  InputCaster* const caster = t_input_caster;
  const ScopedInputCaster none(nullptr);
  caster->cast(function, inputs_);
}

}  // namespace kusari
