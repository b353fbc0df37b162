#include "kusari/framework/links/sequential.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"

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

Sequential& Sequential::insert_layer(size_t i, std::unique_ptr<detail::AnyCallable> layer) {
  if (i > layers_.size()) {
    throw IndexError("Sequential::insert: there is no place " + std::to_string(i) + " among " +
                     std::to_string(layers_.size()) + " layers");
  }
  layers_.insert(layers_.begin() + static_cast<ptrdiff_t>(i), std::move(layer));
  structure_changed();
  return *this;
}

Sequential& Sequential::erase(size_t i) {
  if (i >= layers_.size()) {
    throw IndexError("Sequential::erase: there is no layer " + std::to_string(i) + " among " +
                     std::to_string(layers_.size()));
  }
  layers_.erase(layers_.begin() + static_cast<ptrdiff_t>(i));
  structure_changed();
  return *this;
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

Variable Sequential::call(std::span<const Variable> inputs) {
  const detail::LinkCall call(*this);
  if (layers_.empty()) throw StateError("Sequential: it has no layers");
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

Link& Sequential::list_item(size_t index) {
  for (const auto& layer : layers_) {
    if (layer->link() != nullptr && index-- == 0) return *layer->link();
  }
  return Chain::list_item(index);
}

}  // namespace kusari
