#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari::distributed {

namespace detail {

/// A link that gives one variable or several, on the heap and copied by value.
struct KUSARI_API StageLink {
  virtual ~StageLink();
  virtual Owned<StageLink> clone() const = 0;
  /// Assigns an object of the same type; returns false for another type.
  virtual bool assign(const StageLink& other) = 0;
  virtual Variables call(std::span<const Variable> inputs) = 0;
  virtual Link& link() noexcept = 0;
  /// Bytes of the link.
  virtual size_t size() const noexcept = 0;
};

template <class T, size_t... kIndex>
constexpr bool gives_variables(std::index_sequence<kIndex...>) {
  if constexpr (std::is_invocable_v<T&, kusari::detail::InputOf<kIndex>...>) {
    return std::is_same_v<std::remove_cvref_t<std::invoke_result_t<T&, kusari::detail::InputOf<kIndex>...>>, Variables>;
  } else {
    return false;
  }
}
/// Whether T, called with n variables, gives Variables.
template <class T, size_t n>
inline constexpr bool kGivesVariables = gives_variables<T>(std::make_index_sequence<n>());
template <class T, size_t... kCount>
constexpr bool gives_some(std::index_sequence<kCount...>) {
  return (kGivesVariables<T, kCount> || ...);
}
using InputCounts = std::make_index_sequence<kusari::detail::kMaxModelInputs + 1>;
template <class T>
inline constexpr bool kGivesSome = gives_some<T>(InputCounts());

template <class T, size_t... kIndex>
Variables call_with(T& link, [[maybe_unused]] std::span<const Variable> inputs, std::index_sequence<kIndex...>) {
  return link(inputs[kIndex]...);
}
/// link(inputs[0], ..) of a link that gives Variables. Throws TypeError when it takes another number.
template <class T, size_t... kCount>
Variables call_stage(T& link, std::span<const Variable> inputs, std::index_sequence<kCount...>) {
  Variables result;
  const auto attempt = [&]<size_t n>(std::integral_constant<size_t, n>) {
    if constexpr (kGivesVariables<T, n>) {
      if (inputs.size() != n) return false;
      result = call_with(link, inputs, std::make_index_sequence<n>());
      return true;
    } else {
      return false;
    }
  };
  if (!(attempt(std::integral_constant<size_t, kCount>()) || ...)) {
    constexpr bool kAccepted[] = {kGivesVariables<T, kCount>...};
    kusari::detail::throw_input_count("MultiNodeChainList: the link", inputs.size(), kAccepted, false);
  }
  return result;
}

template <class T>
struct StageLinkOf final : StageLink {
  explicit StageLinkOf(T link) : object{std::move(link)} {}
  Owned<StageLink> clone() const override { return Owned<StageLink>(new StageLinkOf(object)); }
  bool assign(const StageLink& other) override {
    if (typeid(other) != typeid(*this)) return false;
    object = static_cast<const StageLinkOf&>(other).object;
    return true;
  }
  Variables call(std::span<const Variable> inputs) override {
    if constexpr (kusari::detail::kIsModel<T>) {
      return {kusari::detail::call_spread(object, {inputs}, "MultiNodeChainList: the link")};
    } else {
      return call_stage(object, inputs, InputCounts());
    }
  }
  Link& link() noexcept override { return object; }
  size_t size() const noexcept override { return sizeof(T); }
  T object;
};

}  // namespace detail

/// Ranks of a communicator: `1`, `{0, 2}`, or none.
class Ranks : public std::vector<int> {
 public:
  Ranks() = default;
  Ranks(int rank) : std::vector<int>{rank} {}
  Ranks(std::initializer_list<int> ranks) : std::vector<int>(ranks) {}
  Ranks(std::vector<int> ranks) : std::vector<int>(std::move(ranks)) {}
};

/// From where a component of a model gets what it takes, and where what it gives goes.
struct MultiNodeLinkOptions {
  Ranks rank_in = {};   ///< ranks from which it receives, in the order of its arguments; none: the model's inputs
  Ranks rank_out = {};  ///< ranks that get its outputs; none: they are the model's
};

/// A child of MultiNodeChainList: a link of any type with its ranks, held on the heap by value. In the tree of
/// parameters it is the link it holds.
class KUSARI_API MultiNodeStage : public Link {
 public:
  template <class T>
  requires(LinkType<T> && !std::is_base_of_v<MultiNodeStage, T>) MultiNodeStage(T link, MultiNodeLinkOptions options)
      : held_{new detail::StageLinkOf<T>(std::move(link))}, options_{std::move(options)} {
    static_assert(kusari::detail::kIsModel<T> || detail::kGivesSome<T>,
                  "MultiNodeChainList needs links that give a Variable or Variables when called with Variables");
  }
  MultiNodeStage(const MultiNodeStage& other);
  MultiNodeStage(MultiNodeStage&& other) noexcept = default;
  /// In place where both hold the same type of link, else with a copy of the other's.
  MultiNodeStage& operator=(const MultiNodeStage& other);
  MultiNodeStage& operator=(MultiNodeStage&& other) noexcept = default;

  const MultiNodeLinkOptions& options() const noexcept { return options_; }
  Variables call(std::span<const Variable> inputs) const;
  /// Where the link is, and what it receives goes.
  Device link_device() const { return held_ ? held_->link().device() : Device(); }
  /// The link as a T, or null when it is none.
  template <class T>
  T* get() noexcept {
    return held_ ? dynamic_cast<T*>(&held_->link()) : nullptr;
  }

  Link& self() noexcept override { return held_ ? held_->link().self() : *this; }

 protected:
  size_t object_size() const noexcept override;

 private:
  Owned<detail::StageLink> held_;
  MultiNodeLinkOptions options_;
};

}  // namespace kusari::distributed
