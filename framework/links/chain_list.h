#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/list_place.h"

namespace kusari {

/// A link with a list of children on the heap, named "0", "1", ...: links of one type, or AnyLinks.
/// `Child<ChainList<L::Linear>> layers{*this, "layers"}`, then `layers.append(L::Linear(10, 20))`. chainer.ChainList.
template <LinkType T = AnyLink>
class ChainList : public Chain {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a link's move constructor must be noexcept");

 public:
  ChainList() = default;
  /// With these children.
  template <class... Links>
  requires(sizeof...(Links) > 0 && (std::is_constructible_v<T, Links> && ...) &&
           (!std::is_base_of_v<ChainList, Links> && ...)) explicit ChainList(Links... links) {
    items_.reserve(sizeof...(Links));
    (items_.push_back(T(std::move(links))), ...);
  }
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
  T& add_link(T link) { return append(std::move(link)); }
  /// Adds copies of another list's children.
  ChainList& extend(const ChainList& other) {
    const size_t n = other.items_.size();  // `other` may be this one
    items_.reserve(items_.size() + n);
    for (size_t i = 0; i < n; ++i) items_.push_back(other.items_[i]);
    structure_changed();
    return *this;
  }
  /// Adds a child before number i <= size(), or -i from the end; those behind it get the next numbers.
  T& insert(int64_t i, T link) {
    const auto place = items_.insert(items_.begin() + place_of(i, items_.size(), true), std::move(link));
    structure_changed();
    return *place;
  }
  /// Removes child number i, or -i from the end; those behind it get the numbers before.
  void erase(int64_t i) {
    items_.erase(items_.begin() + place_of(i, items_.size()));
    structure_changed();
  }
  /// Takes a child out of the list.
  T pop(int64_t i = -1) {
    const auto place = items_.begin() + place_of(i, items_.size());
    T link = std::move(*place);
    items_.erase(place);
    structure_changed();
    return link;
  }
  void clear() noexcept {
    items_.clear();
    structure_changed();
  }
  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  /// Child number i, unchecked; `list[i] = link` replaces it, writing in place where the shapes are equal.
  T& operator[](size_t i) noexcept { return items_[i]; }
  const T& operator[](size_t i) const noexcept { return items_[i]; }
  /// Child number i, or -i from the end. Throws IndexError when there is none.
  T& at(int64_t i) { return items_[static_cast<size_t>(place_of(i, items_.size()))]; }
  const T& at(int64_t i) const { return items_[static_cast<size_t>(place_of(i, items_.size()))]; }
  auto begin() noexcept { return items_.begin(); }
  auto end() noexcept { return items_.end(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }

 protected:
  size_t list_size() const noexcept override { return items_.size(); }
  Link& list_item(size_t index) override { return items_[index]; }
  size_t list_item_size(size_t) const noexcept override { return sizeof(T); }

 private:
  static ptrdiff_t place_of(int64_t i, size_t n, bool or_end = false) {
    return static_cast<ptrdiff_t>(detail::list_place("ChainList", i, n, or_end));
  }

  std::vector<T> items_;
};

/// A list of links of one type.
template <LinkType T>
using LinkList = ChainList<T>;

}  // namespace kusari
