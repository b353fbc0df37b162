#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/small_vector.h"

namespace kusari::datasets {

/// What a data set holds at one index: one Array per component, for example an image and its label (a 0-d array).
using Example = SmallVector<Array, 2>;

/// A sequence of examples. Derive from it, and from nothing else, to feed own data to an iterator.
/// Iterators with workers call get() from several threads or processes at once.
class KUSARI_API Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() const = 0;
  /// Example i, 0 <= i < size(). Throws IndexError for another i.
  virtual Example get(int64_t i) const = 0;
  /// get(i); a negative i counts from the end.
  Example operator[](int64_t i) const { return get(i < 0 ? i + size() : i); }

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
  DatasetRef(const Dataset& dataset) : dataset_{std::shared_ptr<void>(), &dataset} {}
  template <std::derived_from<Dataset> D>
  requires(!std::is_const_v<D>) DatasetRef(D&& dataset)  // binds rvalues only: an lvalue would make D a reference
      : dataset_{std::make_shared<D>(std::move(dataset))} {}
  template <std::derived_from<Dataset> D>
  DatasetRef(std::shared_ptr<D> dataset) : dataset_{std::move(dataset)} {}

  const Dataset& operator*() const noexcept { return *dataset_; }
  const Dataset* operator->() const noexcept { return dataset_.get(); }

 private:
  std::shared_ptr<const Dataset> dataset_;
};

}  // namespace kusari::datasets
