#include "kusari/framework/autograd/input_caster.h"

namespace kusari {

constinit thread_local InputCaster* detail::t_input_caster = nullptr;

namespace {

constinit thread_local ScopedInputCaster* t_latest __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

InputCaster::~InputCaster() = default;
uint64_t InputCaster::signature() const noexcept { return reinterpret_cast<uintptr_t>(this); }
bool InputCaster::cast_composite(const char*, Inputs&) { return false; }
Callable<std::shared_ptr<void>()> InputCaster::maker() {
  return [this] { return std::make_shared<ScopedInputCaster>(this); };
}

ScopedInputCaster::ScopedInputCaster(InputCaster* caster) noexcept : caster_{caster}, below_{t_latest} {
  t_latest = this;
  detail::t_input_caster = caster;
}

ScopedInputCaster::~ScopedInputCaster() {
  if (t_latest == this) [[likely]] {
    t_latest = below_;
    detail::t_input_caster = below_ != nullptr ? below_->caster_ : nullptr;
    return;
  }
  ScopedInputCaster* above = t_latest;
  while (above != nullptr && above->below_ != this) above = above->below_;
  if (above != nullptr) above->below_ = below_;
}

detail::CastInputs::CastInputs(const FunctionNode& function, std::span<const Variable* const> inputs)
    : inputs_(inputs) {
  InputCaster* const caster = t_input_caster;
  const ScopedInputCaster none(nullptr);
  caster->cast(function, inputs_);
}

void CompositeInputs::cast(const char* name, std::span<const Variable* const> inputs) {
  InputCaster* const caster = detail::t_input_caster;
  without_caster_.emplace(nullptr);
  inputs_.emplace(inputs);
  if (caster->cast_composite(name, *inputs_)) return;
  inputs_.reset();
  without_caster_.reset();
}

}  // namespace kusari
