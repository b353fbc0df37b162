#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/link.h"

namespace kusari {

/// A link with a list of children on the heap, named "0", "1", ...: links of one type, or AnyLinks.
/// `Child<ChainList<L::Linear>> layers{*this, "layers"}`, then `layers.append(L::Linear(10, 20))`. chainer.ChainList.
template <LinkType T = AnyLink>
class ChainList : public Chain {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a link's move constructor must be noexcept");

 public:
  ChainList() = default;
  ChainList(const ChainList&) = default;
  ChainList(ChainList&&) noexcept = default;
  /// In place as far as both lists have children.
  ChainList& operator=(const ChainList& other) {
    if (this == &other) return *this;
    Chain::operator=(other);
    const size_t common = items_.size() < other.items_.size() ? items_.size() : other.items_.size();
    for (size_t i = 0; i < common; ++i) items_[i] = other.items_[i];
    while (items_.size() > common) items_.pop_back();
    for (size_t i = common; i < other.items_.size(); ++i) items_.push_back(other.items_[i]);
    return *this;
  }
  ChainList& operator=(ChainList&&) noexcept = default;

  /// Adds a child; references to the others become invalid.
  T& append(T link) {
    items_.push_back(std::move(link));
    structure_changed();
    return items_.back();
  }
  /// Adds a child before number i <= size(); those behind it get the next numbers.
  T& insert(size_t i, T link) {
    const auto place =
        items_.insert(items_.begin() + static_cast<ptrdiff_t>(check(i, items_.size() + 1)), std::move(link));
    structure_changed();
    return *place;
  }
  /// Removes child number i; those behind it get the numbers before.
  void erase(size_t i) {
    items_.erase(items_.begin() + static_cast<ptrdiff_t>(check(i, items_.size())));
    structure_changed();
  }
  void clear() noexcept {
    items_.clear();
    structure_changed();
  }
  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  T& operator[](size_t i) noexcept { return items_[i]; }
  const T& operator[](size_t i) const noexcept { return items_[i]; }
  auto begin() noexcept { return items_.begin(); }
  auto end() noexcept { return items_.end(); }

 protected:
  size_t list_size() const noexcept override { return items_.size(); }
  Link& list_item(size_t index) override { return items_[index]; }

 private:
  static size_t check(size_t i, size_t n) {
    if (i >= n) throw IndexError("ChainList: there is no place " + std::to_string(i) + " among " + std::to_string(n));
    return i;
  }

  std::vector<T> items_;
};

/// A list of links of one type.
template <LinkType T>
using LinkList = ChainList<T>;

}  // namespace kusari
