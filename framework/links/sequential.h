#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/link.h"

namespace kusari {

/// Layers called one after the other: links, which are children named "0", "1", ..., and other callables, which take no
/// number. `Sequential model(L::Linear(784, 100), F::relu, L::Linear(100, 10));` chainer.Sequential.
///
/// Copies of a Sequential have copies of its callables. So a lambda must not refer to an object that is copied or moved
/// together with it: `[this]`, or a pointer to another member, in a Sequential that is a member keeps pointing into the
/// old object. Write such a step as a link with members of its own, or in the operator() of the class.
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
    return insert_layer(static_cast<int64_t>(size()), make_layer(std::move(layer)));
  }
  /// Adds a layer before number i <= size(), or -i from the end. Throws IndexError for another i.
  template <class Layer>
  Sequential& insert(int64_t i, Layer layer) {
    return insert_layer(i, make_layer(std::move(layer)));
  }
  /// Puts a layer in the place of number i, or -i from the end. Throws IndexError when there is none.
  template <class Layer>
  Sequential& replace(int64_t i, Layer layer) {
    return replace_layer(i, make_layer(std::move(layer)));
  }
  /// Removes layer number i, or -i from the end. Throws IndexError when there is none.
  Sequential& erase(int64_t i);
  /// The same; returns the layer as a Sequential of its own.
  Sequential pop(int64_t i = -1);
  /// Removes this very layer. Throws ValueError when it is none. chainer.Sequential.remove.
  Sequential& remove(const Link& layer);
  /// Removes the links whose class has this name: "Linear". chainer.Sequential.remove_by_layer_type.
  Sequential& remove_by_layer_type(const std::string& class_name);
  /// How many links have a class of this name. chainer.Sequential.count_by_layer_type.
  size_t count_by_layer_type(const std::string& class_name) const;
  /// How many layers, links or not, are Layers.
  template <class Layer>
  size_t count() const noexcept {
    size_t n = 0;
    for (const auto& layer : layers_) {
      if constexpr (LinkType<Layer>) {
        n += dynamic_cast<const Layer*>(layer->link()) != nullptr ? 1 : 0;
      } else {
        n += dynamic_cast<const detail::AnyCallableOf<Layer>*>(layer.get()) != nullptr ? 1 : 0;
      }
    }
    return n;
  }
  /// The number of this very layer among those from `start` up to `end`. Throws ValueError when it is none of them.
  size_t index(const Link& layer, size_t start = 0, std::optional<size_t> end = std::nullopt) const;
  bool contains(const Link& layer) const noexcept;
  /// Copies of the layers begin, ..., end - 1; both may count from the end. Places beyond the ends are cut off, as
  /// Python does.
  Sequential slice(int64_t begin, std::optional<int64_t> end = std::nullopt, CopyMode mode = CopyMode::copy) const;
  /// Copies of the layers from the last to the first.
  Sequential reversed() const;
  void clear() noexcept;
  /// Copies of the layers, those of Sequentials among them in their place. chainer.Sequential.flatten.
  Sequential flatten() const;
  /// Adds copies of another's layers.
  Sequential& extend(const Sequential& other);
  Sequential& operator+=(const Sequential& other) { return extend(other); }
  size_t size() const noexcept { return layers_.size(); }
  /// Layer number i, or -i from the end, as a T; null when it is none.
  template <LinkType T = Link>
  T* get(int64_t i) noexcept {
    if (i < 0) i += static_cast<int64_t>(layers_.size());
    return i >= 0 && i < static_cast<int64_t>(layers_.size())
               ? dynamic_cast<T*>(layers_[static_cast<size_t>(i)]->link())
               : nullptr;
  }
  template <LinkType T = Link>
  const T* get(int64_t i) const noexcept {
    return const_cast<Sequential*>(this)->get<T>(i);
  }
  /// `n` copies of this one behind each other. chainer.Sequential.repeat.
  Sequential repeat(size_t n, CopyMode mode = CopyMode::init) const;

  /// The first layer takes the inputs, each other one what the one before gave. Throws StateError without layers.
  Variable call(std::span<const Variable> inputs) const;
  template <std::same_as<Variable>... Rest>
  Variable operator()(const Variable& first, const Rest&... rest) const {
    const Variable inputs[] = {first, rest...};
    return call(inputs);
  }

 protected:
  size_t list_size() const noexcept override;
  Link& list_item(size_t index) override;
  size_t list_item_size(size_t index) const noexcept override;
  std::vector<std::pair<std::string, std::string>> printable_list() override;

 private:
  template <class Layer>
  static Owned<detail::AnyCallable> make_layer(Layer layer) {
    static_assert(detail::kIsModel<Layer>, "a layer is a callable that takes Variables and gives a Variable");
    if constexpr (LinkType<Layer>) {
      static_assert(std::is_nothrow_move_constructible_v<Layer>, "a link's move constructor must be noexcept");
    }
    return Owned<detail::AnyCallable>(new detail::AnyCallableOf<Layer>(std::move(layer)));
  }
  Sequential& insert_layer(int64_t i, Owned<detail::AnyCallable> layer);
  Sequential& replace_layer(int64_t i, Owned<detail::AnyCallable> layer);
  std::vector<Owned<detail::AnyCallable>> layers_;
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
