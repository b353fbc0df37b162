#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/core/small_vector.h"

namespace kusari::datasets {

/// What a data set holds at one index: one Array per component, for example an image and its label (a 0-d array).
using Example = SmallVector<Array, 2>;

/// Names of the components of examples, in their order.
using Keys = std::vector<std::string>;

/// Which examples Dataset::slice takes: those of Python's start:stop:step. Negative places count from the end.
struct Range {
  std::optional<int64_t> start = std::nullopt;
  std::optional<int64_t> stop = std::nullopt;
  int64_t step = 1;
};

/// A sequence of examples. Derive from it, and from nothing else, to feed own data to an iterator.
/// Iterators with workers call get() from several threads or processes at once.
class KUSARI_API Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() const = 0;
  /// Example i, 0 <= i < size(). Throws IndexError for another i.
  virtual Example get(int64_t i) const = 0;
  /// The names of the components, where examples are dictionaries in Chainer; empty where they are tuples. They belong
  /// to the data set: examples stay arrays in the order of the keys, and models that take names get them by name.
  virtual Keys keys() const;

  /// get(i); a negative i counts from the end.
  Example operator[](int64_t i) const { return get(i < 0 ? i + size() : i); }
  /// The examples at these indices, each as operator[] gives it.
  std::vector<Example> take(std::span<const int64_t> indices) const;
  /// `slice({.stop = 5})`, `slice({.step = -1})`: what ds[start:stop:step] of chainer.dataset.DatasetMixin gives.
  /// Throws ValueError for step 0.
  std::vector<Example> slice(const Range& range) const;
  /// The place of a component. Throws KeyError, naming those that there are.
  size_t component(std::string_view key) const;

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;
  /// Throws IndexError, naming `call`, unless 0 <= i < size.
  static void check_index(const char* call, int64_t i, int64_t size) {
    if (i < 0 || i >= size) throw_index(call, i, size);
  }

 private:
  [[noreturn]] static void throw_index(const char* call, int64_t i, int64_t size);
};

/// How data sets and iterators hold a data set: one given by lvalue is referred to and must live as long; one given by
/// rvalue, or in a shared_ptr, is owned.
class DatasetRef {
 public:
  DatasetRef(const Dataset& dataset) : dataset_{Shared<const Dataset>::to(dataset)} {}
  template <std::derived_from<Dataset> D>
  requires(!std::is_const_v<D>) DatasetRef(D&& dataset)  // binds rvalues only: an lvalue would make D a reference
      : dataset_{Shared<const Dataset>::of<D>(std::move(dataset))} {}
  template <std::derived_from<Dataset> D>
  DatasetRef(std::shared_ptr<D> dataset) : dataset_{std::move(dataset)} {}

  const Dataset& operator*() const noexcept { return *dataset_; }
  const Dataset* operator->() const noexcept { return dataset_.get(); }

 private:
  Shared<const Dataset> dataset_;
};

}  // namespace kusari::datasets
