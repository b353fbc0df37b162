#include "kusari/framework/links/attention/kv_cache.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"

namespace kusari {

KVCacheLayer::Filled KVCacheLayer::append(const Variable& key, const Variable& value) {
  functions::expect_given(key, "KVCacheLayer::append", "key");
  functions::expect_given(value, "KVCacheLayer::append", "value");
  const auto fits = [&](const Array& x, const Array& kept, const char* name) {
    const bool is_first = !kept.is_defined();
    bool same = x.ndim() == 4 && x.shape()[2] == key.array().shape(2);
    for (const int axis : {0, 1, 3}) same = same && (is_first || x.shape()[axis] == kept.shape()[axis]);
    if (same && (is_first || (x.dtype() == kept.dtype() && x.device() == kept.device()))) return;
    throw TypeError(std::string("KVCacheLayer::append: ") + name + " has shape " + to_string(x.shape()) +
                    " and dtype " + kusari::name(x.dtype()) +
                    (is_first ? ": it must have four axes, (batch, heads, places, width)"
                              : ": the cache holds " + to_string(kept.shape()) + " of " + kusari::name(kept.dtype())));
  };
  fits(key.array(), key_, "key");
  fits(value.array(), value_, "value");
  const int64_t count = key.shape()[2];
  if (length_ + count > capacity_) {
    throw StateError("KVCacheLayer::append: there are " + std::to_string(length_) + " places in the cache of " +
                     std::to_string(capacity_) + ": no room for " + std::to_string(count) + " more");
  }
  const auto room = [&](Array& kept, const Array& x) {
    if (kept.is_defined()) return;
    kept = empty({x.shape()[0], x.shape()[1], capacity_, x.shape()[3]}, x.dtype(), x.device());
  };
  room(key_, key.array());
  room(value_, value.array());
  key_.slice(2, length_, count).copy_from(key.array());
  value_.slice(2, length_, count).copy_from(value.array());
  length_ += count;
  return {Variable(key_.slice(2, 0, length_), false), Variable(value_.slice(2, 0, length_), false)};
}

KVCacheLayer::Filled KVCacheLayer::filled() const {
  if (length_ == 0) throw StateError("KVCacheLayer::filled: there are no places in the cache");
  return {Variable(key_.slice(2, 0, length_), false), Variable(value_.slice(2, 0, length_), false)};
}

void KVCacheLayer::truncate(int64_t length) {
  if (length < 0 || length > length_) {
    throw ValueError("KVCache::truncate: length is " + std::to_string(length) + ": it must be in [0, " +
                     std::to_string(length_) + "]");
  }
  length_ = length;
}

void KVCacheLayer::select(const Array& rows) {
  if (!rows.is_defined() || rows.ndim() != 1 || !is_integral(rows.dtype()) || rows.dtype() == Dtype::bool_) {
    throw TypeError("KVCache::select: rows " +
                    (rows.is_defined()
                         ? "has shape " + to_string(rows.shape()) + " and dtype " + kusari::name(rows.dtype())
                         : std::string("is not given")) +
                    ": it must be a vector of integers");
  }
  if (length_ == 0) {
    key_ = value_ = Array();  // the next places decide on the batch
    return;
  }
  const auto selected = [&](const Array& kept) {
    const Array taken = functions::get_item(Variable(kept.slice(2, 0, length_), false), rows).array();
    Shape shape = kept.shape();
    shape[0] = rows.size();
    const Array result = empty(shape, kept.dtype(), kept.device());
    result.slice(2, 0, length_).copy_from(taken);
    return result;
  };
  const Array key = selected(key_);
  value_ = selected(value_);
  key_ = key;
}

KVCache::KVCache(int64_t layers, int64_t capacity)
    : layers_(static_cast<size_t>(argument::count("KVCache", "layers", layers)),
              KVCacheLayer(argument::positive("KVCache", "capacity", capacity))) {}

void KVCache::truncate(int64_t length) {
  for (KVCacheLayer& layer : layers_) layer.truncate(length);
}

void KVCache::select(const Array& rows) {
  for (KVCacheLayer& layer : layers_) layer.select(rows);
}

}  // namespace kusari
