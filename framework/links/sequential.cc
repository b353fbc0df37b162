#include "kusari/framework/links/sequential.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/list_place.h"

namespace kusari {

Sequential::Sequential(const Sequential& other) : Chain(other) { extend(other); }

Sequential& Sequential::operator=(const Sequential& other) {
  if (this == &other) return *this;
  Chain::operator=(other);
  const size_t common = std::min(layers_.size(), other.layers_.size());
  for (size_t i = 0; i < common; ++i) {
    if (!layers_[i]->assign(*other.layers_[i])) layers_[i] = other.layers_[i]->clone();
  }
  layers_.resize(common);
  for (size_t i = common; i < other.layers_.size(); ++i) layers_.push_back(other.layers_[i]->clone());
  structure_changed();
  return *this;
}

Sequential& Sequential::extend(const Sequential& other) {
  const size_t n = other.layers_.size();  // `other` may be this one
  layers_.reserve(layers_.size() + n);
  for (size_t i = 0; i < n; ++i) layers_.push_back(other.layers_[i]->clone());
  structure_changed();
  return *this;
}

Sequential& Sequential::insert_layer(int64_t i, Owned<detail::AnyCallable> layer) {
  const size_t place = detail::list_place("Sequential", i, layers_.size(), true);
  layers_.insert(layers_.begin() + static_cast<ptrdiff_t>(place), std::move(layer));
  structure_changed();
  return *this;
}

Sequential& Sequential::replace_layer(int64_t i, Owned<detail::AnyCallable> layer) {
  layers_[detail::list_place("Sequential", i, layers_.size())] = std::move(layer);
  structure_changed();
  return *this;
}

Sequential& Sequential::erase(int64_t i) {
  pop(i);
  return *this;
}

Sequential Sequential::pop(int64_t i) {
  const auto place = layers_.begin() + static_cast<ptrdiff_t>(detail::list_place("Sequential", i, layers_.size()));
  Sequential popped;
  popped.layers_.push_back(std::move(*place));
  layers_.erase(place);
  structure_changed();
  return popped;
}

Sequential& Sequential::remove(const Link& layer) { return erase(static_cast<int64_t>(index(layer))); }

Sequential& Sequential::remove_by_layer_type(const std::string& class_name) {
  std::erase_if(layers_, [&](const auto& layer) {
    return layer->link() != nullptr && detail::class_name(*layer->link()) == class_name;
  });
  structure_changed();
  return *this;
}

size_t Sequential::count_by_layer_type(const std::string& class_name) const {
  return static_cast<size_t>(std::count_if(layers_.begin(), layers_.end(), [&](const auto& layer) {
    return layer->link() != nullptr && detail::class_name(*layer->link()) == class_name;
  }));
}

size_t Sequential::index(const Link& layer, size_t start, std::optional<size_t> end) const {
  const size_t last = std::min(end.value_or(layers_.size()), layers_.size());
  for (size_t i = start; i < last; ++i) {
    if (layers_[i]->link() == &layer) return i;
  }
  throw ValueError("Sequential: the link is none of its layers");
}

bool Sequential::contains(const Link& layer) const noexcept {
  return std::any_of(layers_.begin(), layers_.end(), [&](const auto& own) { return own->link() == &layer; });
}

Sequential Sequential::slice(int64_t begin, std::optional<int64_t> end, CopyMode mode) const {
  const detail::CopyScope scope(mode);
  const auto n = static_cast<int64_t>(layers_.size());
  const auto clipped = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  Sequential result;
  for (int64_t i = clipped(begin); i < clipped(end.value_or(n)); ++i) {
    result.layers_.push_back(layers_[static_cast<size_t>(i)]->clone());
  }
  return result;
}

Sequential Sequential::reversed() const {
  Sequential result(*this);
  std::reverse(result.layers_.begin(), result.layers_.end());
  return result;
}

void Sequential::clear() noexcept {
  layers_.clear();
  structure_changed();
}

Sequential Sequential::flatten() const {
  Sequential flat;
  for (const auto& layer : layers_) {
    if (const auto* nested = dynamic_cast<const Sequential*>(layer->link())) {
      flat.extend(nested->flatten());
    } else {
      flat.layers_.push_back(layer->clone());
    }
  }
  return flat;
}

Sequential operator+(const Sequential& a, const Sequential& b) {
  Sequential sum(a);
  sum.extend(b);
  return sum;
}

std::vector<std::pair<std::string, std::string>> Sequential::printable_list() {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Link* const link = layers_[i]->link();
    entries.emplace_back(std::to_string(i), link != nullptr ? to_string(*link) : "<callable>");
  }
  return entries;
}

Sequential Sequential::repeat(size_t n, CopyMode mode) const {
  const detail::CopyScope scope(mode);
  Sequential result;
  for (size_t i = 0; i < n; ++i) result.extend(*this);
  return result;
}

Variable Sequential::call(std::span<const Variable> inputs) const {
  const LinkCall call(*this);
  if (layers_.empty()) {
    throw StateError(is_moved_from() ? "Sequential: its layers were moved away" : "Sequential: it has no layers");
  }
  Variable x = layers_.front()->call(inputs);
  for (size_t i = 1; i < layers_.size(); ++i) {
    const Variable before = std::move(x);
    x = layers_[i]->call({&before, 1});
  }
  return x;
}

size_t Sequential::list_size() const noexcept {
  size_t links = 0;
  for (const auto& layer : layers_) links += layer->link() != nullptr ? 1 : 0;
  return links;
}

size_t Sequential::list_item_size(size_t index) const noexcept {
  for (const auto& layer : layers_) {
    if (layer->link() != nullptr && index-- == 0) return layer->size();
  }
  return 0;
}

Link& Sequential::list_item(size_t index) {
  for (const auto& layer : layers_) {
    if (layer->link() != nullptr && index-- == 0) return *layer->link();
  }
  return Chain::list_item(index);
}

}  // namespace kusari
