#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/small_vector.h"

namespace kusari {

/// Converts the inputs of functions before they are checked and computed: what autocast is to the engine. One at a time
/// per thread; none while a backward pass runs, whose functions meet the dtypes of the forward computation anyway.
class KUSARI_API InputCaster {
 public:
  InputCaster() = default;
  InputCaster(const InputCaster&) = delete;
  InputCaster& operator=(const InputCaster&) = delete;
  virtual ~InputCaster();

  /// The inputs of one application. `replace(i, x)` puts x in the place of input i.
  class Inputs {
   public:
    explicit Inputs(std::span<const Variable* const> inputs) : inputs_(inputs.begin(), inputs.end()) {
      kept_.reserve(inputs.size());
    }
    size_t size() const noexcept { return inputs_.size(); }
    /// May be undefined: an optional argument not given.
    const Variable& operator[](size_t i) const noexcept { return *inputs_[i]; }
    void replace(size_t i, const Variable& x) { inputs_[i] = &kept_.emplace_back(x); }
    std::span<const Variable* const> get() const noexcept { return {inputs_.data(), inputs_.size()}; }

   private:
    SmallVector<const Variable*, 4> inputs_;
    SmallVector<Variable, 4> kept_;  // never grows past its reserve: each input is replaced once at most
  };
  /// Replaces what `function` should get otherwise. Functions that this applies itself are not cast again.
  virtual void cast(const FunctionNode& function, Inputs& inputs) = 0;
  /// A number that differs where what is done to inputs differs: part of the signature of a static graph. Never 0.
  virtual uint64_t signature() const noexcept;
  /// The same as cast() for a function that is made of others (CompositeInputs). False: nothing is replaced, and the
  /// functions inside are cast one by one.
  virtual bool cast_composite(const char* name, Inputs& inputs);
  /// What does the same to inputs once more, for a computation that is repeated: called on any thread, it makes a
  /// caster that is in force there for the life of the result. By default that is this one, which must still be there.
  /// What the maker's casters convert, they convert for their own use alone.
  virtual Callable<std::shared_ptr<void>()> maker();
};

/// Makes a caster this thread's, or with null none, for the object's life. Scopes end on the thread where they began,
/// in any order: the latest that is left counts.
class KUSARI_API ScopedInputCaster {
 public:
  explicit ScopedInputCaster(InputCaster* caster) noexcept;
  ScopedInputCaster(const ScopedInputCaster&) = delete;
  ScopedInputCaster& operator=(const ScopedInputCaster&) = delete;
  ~ScopedInputCaster();

 private:
  InputCaster* caster_;
  ScopedInputCaster* below_;
};

namespace detail {

KUSARI_API extern constinit thread_local InputCaster* t_input_caster __attribute__((tls_model("initial-exec")));

/// The inputs as this thread's caster, which there must be, wants them.
class CastInputs {
 public:
  CastInputs(const FunctionNode& function, std::span<const Variable* const> inputs);
  std::span<const Variable* const> get() const noexcept { return inputs_.get(); }

 private:
  InputCaster::Inputs inputs_;
};

}  // namespace detail

/// For a function that is made of others, but has a name and rules of its own: its inputs as this thread's caster wants
/// them for that name. The functions inside then run without a caster.
///
///     if (const CompositeInputs in("huber_loss", {x, t}); in.is_cast()) return huber_loss(in[0], in[1], delta,
///     reduce);
class CompositeInputs {
 public:
  template <size_t N>
  CompositeInputs(const char* name, const InputRef (&inputs)[N]) {
    if (detail::t_input_caster == nullptr) [[likely]]
      return;
    const Variable* pointers[N];
    for (size_t i = 0; i < N; ++i) pointers[i] = inputs[i].get();
    cast(name, pointers);
  }
  CompositeInputs(const char* name, std::span<const Variable> inputs) {
    if (detail::t_input_caster == nullptr) [[likely]]
      return;
    SmallVector<const Variable*, 4> pointers;
    for (const Variable& x : inputs) pointers.push_back(&x);
    cast(name, {pointers.data(), pointers.size()});
  }
  bool is_cast() const noexcept { return inputs_.has_value(); }
  const Variable& operator[](size_t i) const noexcept { return (*inputs_)[i]; }

 private:
  KUSARI_API void cast(const char* name, std::span<const Variable* const> inputs);

  std::optional<InputCaster::Inputs> inputs_;
  std::optional<ScopedInputCaster> without_caster_;
};

}  // namespace kusari
