#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/link.h"

namespace kusari {

/// A link with children on the heap that have names, sorted by them: links of one type, or AnyLinks. For structures
/// that are known at run time only: `ChainDict<> net; net.add_link("res2", Block(64));`. What Chainer's Chain does with
/// add_link and chain["res2"].
template <LinkType T = AnyLink>
class ChainDict : public Chain {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a link's move constructor must be noexcept");

 public:
  ChainDict() = default;
  ChainDict(const ChainDict&) = default;
  ChainDict(ChainDict&&) noexcept = default;
  /// In place where both have a child of that name.
  ChainDict& operator=(const ChainDict& other) {
    if (this == &other) return *this;
    Chain::operator=(other);
    std::erase_if(items_, [&](const Item& item) { return !other.contains(item.first); });
    for (const Item& item : other.items_) {
      if (const auto place = find(item.first); is_at(place, item.first)) {
        place->second = item.second;
      } else {
        items_.insert(place, item);
      }
    }
    structure_changed();
    return *this;
  }
  ChainDict& operator=(ChainDict&&) noexcept = default;

  /// Adds a child; references to the others become invalid. Throws ValueError for a name that is taken, empty or has a
  /// '/'.
  T& add_link(const std::string& name, T link) {
    if (name.empty() || name.find('/') != std::string::npos) {
      throw ValueError("ChainDict: '" + name + "' is no name for a link: it must not be empty or contain '/'");
    }
    auto place = find(name);
    if (is_at(place, name)) throw ValueError("ChainDict: there is a link named '" + name + "'");
    place = items_.emplace(place, name, std::move(link));
    structure_changed();
    return place->second;
  }
  /// Removes a child. Throws KeyError when there is none of that name.
  void erase(const std::string& name) {
    at(name);
    items_.erase(find(name));
    structure_changed();
  }
  void clear() noexcept {
    items_.clear();
    structure_changed();
  }
  /// Throws KeyError listing what there is.
  T& operator[](const std::string& name) { return at(name); }
  const T& operator[](const std::string& name) const { return at(name); }
  T& at(const std::string& name) { return const_cast<T&>(std::as_const(*this).at(name)); }
  const T& at(const std::string& name) const {
    for (const Item& item : items_) {
      if (item.first == name) return item.second;
    }
    std::string known;
    for (const Item& item : items_) known += " " + item.first;
    throw KeyError("ChainDict: no link named '" + name + "'; there are" + (known.empty() ? " none" : known));
  }
  bool contains(const std::string& name) const {
    for (const Item& item : items_) {
      if (item.first == name) return true;
    }
    return false;
  }
  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  /// Pairs of name and link; names must stay as they are.
  auto begin() noexcept { return items_.begin(); }
  auto end() noexcept { return items_.end(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }

 protected:
  size_t list_size() const noexcept override { return items_.size(); }
  Link& list_item(size_t index) override { return items_[index].second; }
  std::string list_name(size_t index) const override { return items_[index].first; }
  size_t list_item_size(size_t) const noexcept override { return sizeof(T); }

 private:
  using Item = std::pair<std::string, T>;
  /// Its place, or the one where it would be.
  auto find(const std::string& name) {
    auto place = items_.begin();
    while (place != items_.end() && place->first < name) ++place;
    return place;
  }
  bool is_at(typename std::vector<Item>::iterator place, const std::string& name) {
    return place != items_.end() && place->first == name;
  }

  std::vector<Item> items_;
};

}  // namespace kusari
