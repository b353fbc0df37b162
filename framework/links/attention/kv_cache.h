#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// The keys and values that one layer has computed for the places so far.
class KUSARI_API KVCacheLayer {
 public:
  /// Places filled so far.
  int64_t length() const noexcept { return length_; }
  int64_t capacity() const noexcept { return capacity_; }
  /// Adds those of the next places and returns all so far, as views of the cache. key, value: (B, heads, n, D). The
  /// first call decides on batch, heads, width, dtype and device. Throws StateError when the cache has no room for
  /// them, TypeError when they do not fit to what is there, and leaves the cache as it was.
  struct Filled {
    Variable key, value;  ///< (B, heads, length, D)
  };
  Filled append(const Variable& key, const Variable& value);
  /// All so far, as views of the cache. Throws StateError when there are none.
  Filled filled() const;
  /// Forgets all places from `length` on.
  void truncate(int64_t length);
  /// See KVCache::select.
  void select(const Array& rows);

 private:
  friend class KVCache;
  explicit KVCacheLayer(int64_t capacity) : capacity_{capacity} {}

  int64_t capacity_, length_ = 0;
  Array key_, value_;  // (B, heads, capacity, D), made by the first call
};

/// What attention layers keep while a text is generated, so that each token is computed once. Without gradients.
class KUSARI_API KVCache {
 public:
  /// For so many layers and places. Throws ValueError unless both are positive.
  KVCache(int64_t layers, int64_t capacity);

  KVCacheLayer& layer(size_t i) { return layers_.at(i); }
  size_t size() const noexcept { return layers_.size(); }
  /// Places filled so far: where the next token goes.
  int64_t length() const noexcept { return layers_.front().length(); }
  int64_t capacity() const noexcept { return layers_.front().capacity(); }
  /// Forgets all places from `length` on: 0 begins a new text in the same memory. Throws ValueError when there are not
  /// as many.
  void truncate(int64_t length);
  /// Row i of the batch goes on from what row rows[i] was: what beam_search asks for, and how one prompt becomes
  /// several texts. rows: (n), integers, n of any size. Throws TypeError for another array, IndexError for a row that
  /// there is not. Does nothing while the cache is empty.
  void select(const Array& rows);

 private:
  std::vector<KVCacheLayer> layers_;
};

}  // namespace kusari
