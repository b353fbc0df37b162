#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/core/summary.h"

namespace kusari {

/// Reports of several forward computations that make one step: to be their means, or the last one's where values have
/// none.
class KUSARI_API ReportMeans {
 public:
  /// What is reported while the result lives goes to `observation`, if anybody takes reports at all.
  static std::optional<ReportScope> report_to(Observation& observation);

  void add(const Observation& observation);
  int64_t count() const noexcept { return count_; }
  /// Reports the means, if anybody takes reports.
  void report() const;

 private:
  DictSummary means_;
  Observation others_;
  int64_t count_ = 0;
};

}  // namespace kusari
