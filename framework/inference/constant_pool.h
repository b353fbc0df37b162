#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/inference/constant_cache.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::inference {

/// What the plans of a session have computed from parameters alone. Two results are the same if the same kernels
/// computed them from the same arrays; a plan that wants one which another plan has takes that.
class KUSARI_API ConstantPool {
 public:
  /// `cache`: where other processes find what this one computes.
  explicit ConstantPool(ConstantCache cache = ConstantCache({})) : cache_{std::move(cache)} {}
  const ConstantCache& cache() const noexcept { return cache_; }

  /// A number for how the contents of a slot came about: equal numbers, equal contents.
  static constexpr int64_t kNoOrigin = 0;

  /// Locked for all of what follows.
  std::mutex& mutex() noexcept { return mutex_; }
  /// Of an array that nobody writes to.
  int64_t origin_of(const Array& array);
  /// Sets the origins of what the step writes. `origins`: of each slot of the program.
  void note(const graphs::Program& program, const graphs::Step& step, std::vector<int64_t>& origins);
  /// Null if no plan has it.
  std::shared_ptr<const Array> find(int64_t origin) const;
  std::shared_ptr<const Array> keep(int64_t origin, const Array& array);

 private:
  int64_t number_of(const std::string& description);

  ConstantCache cache_;
  std::mutex mutex_;
  std::map<std::string, int64_t> numbers_;
  std::map<int64_t, std::weak_ptr<const Array>> kept_;
};

}  // namespace kusari::inference
