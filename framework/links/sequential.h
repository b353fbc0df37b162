#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/link.h"

namespace kusari {

/// Layers called one after the other: links, which are children named "0", "1", ..., and other callables, which take no
/// number. `Sequential model(L::Linear(784, 100), F::relu, L::Linear(100, 10));` chainer.Sequential.
class KUSARI_API Sequential : public Chain {
 public:
  Sequential() = default;
  template <class... Layers>
  requires(sizeof...(Layers) > 1 || (sizeof...(Layers) == 1 && (!std::is_base_of_v<Sequential, Layers> &&
                                                                ...))) explicit Sequential(Layers... layers) {
    layers_.reserve(sizeof...(Layers));
    (append(std::move(layers)), ...);
  }
  Sequential(const Sequential& other);
  Sequential(Sequential&&) noexcept = default;
  /// In place as far as both have layers of the same types.
  Sequential& operator=(const Sequential& other);
  Sequential& operator=(Sequential&&) noexcept = default;

  /// Adds a layer, a Sequential included.
  template <class Layer>
  Sequential& append(Layer layer) {
    return insert(size(), std::move(layer));
  }
  /// Adds a layer before number i <= size(). Throws IndexError for a larger i.
  template <class Layer>
  Sequential& insert(size_t i, Layer layer) {
    static_assert(detail::kIsModel<Layer>, "a layer is a callable that takes Variables and gives a Variable");
    if constexpr (LinkType<Layer>) {
      static_assert(std::is_nothrow_move_constructible_v<Layer>, "a link's move constructor must be noexcept");
    }
    return insert_layer(i, std::make_unique<detail::AnyCallableOf<Layer>>(std::move(layer)));
  }
  /// Removes layer number i. Throws IndexError when there is none.
  Sequential& erase(size_t i);
  void clear() noexcept;
  /// The same layers with those of Sequentials among them in their place. chainer.Sequential.flatten.
  Sequential flatten() const;
  /// Adds copies of another's layers.
  Sequential& extend(const Sequential& other);
  size_t size() const noexcept { return layers_.size(); }
  /// Layer number i as a T, or null when it is none.
  template <LinkType T>
  T* get(size_t i) noexcept {
    return i < layers_.size() ? dynamic_cast<T*>(layers_[i]->link()) : nullptr;
  }
  /// `n` copies of this one behind each other. chainer.Sequential.repeat.
  Sequential repeat(size_t n, CopyMode mode = CopyMode::init) const;

  /// The first layer takes the inputs, each other one what the one before gave. Throws StateError without layers.
  Variable call(std::span<const Variable> inputs);
  template <std::same_as<Variable>... Rest>
  Variable operator()(const Variable& first, const Rest&... rest) {
    const Variable inputs[] = {first, rest...};
    return call(inputs);
  }

 protected:
  size_t list_size() const noexcept override;
  Link& list_item(size_t index) override;
  std::vector<std::pair<std::string, std::string>> printable_list() override;

 private:
  Sequential& insert_layer(size_t i, std::unique_ptr<detail::AnyCallable> layer);
  std::vector<std::unique_ptr<detail::AnyCallable>> layers_;
};

/// The layers of `a`, then those of `b`, copied.
KUSARI_API Sequential operator+(const Sequential& a, const Sequential& b);

/// A Sequential of `n` copies of a link, whose parameters are by default drawn anew. chainer.Link.repeat.
template <LinkType T>
requires(!std::is_base_of_v<Sequential, T>) Sequential repeat(const T& link, size_t n, CopyMode mode = CopyMode::init) {
  Sequential result;
  for (size_t i = 0; i < n; ++i) result.append(copy(link, mode));
  return result;
}

}  // namespace kusari
